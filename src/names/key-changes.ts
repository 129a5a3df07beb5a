import { claimsKey, namespaceKey, podsKey } from "../database/places.ts";
import type { LogRow } from "../database/reader.ts";
import { formatAddress, readPodLabel } from "../dns/address.ts";

/**
 * A change in the log. A database that was set back has another change at a position: its generation differs.
 */
export type Mark = Pick<LogRow, "position" | "generation">;

/** Before the first change. */
const NO_MARK: Mark = { position: 0, generation: 0 };
/** Keys of which it is known when they changed last. */
const MOST_KEYS = 16_384;

/** Knows from the log when that changed last of which units are made. */
export class KeyChanges {
  /** Changes up to here are not known by their keys any more. */
  forgotten: Mark;
  #newest: Mark;
  /** A change that may concern anything. */
  #everything = NO_MARK;
  /**
   * By key, in the order of the last change: keys as the log has them, after a cluster and a space where they
   * are of one cluster.
   */
  readonly #keys = new Map<string, Mark>();
  readonly #clusters = new Map<string, Mark>();
  /** The newest of `#clusters`. */
  #anyCluster = NO_MARK;

  /** @param from changes are taken from there on */
  constructor(from: Mark) {
    this.forgotten = from;
    this.#newest = from;
  }

  /** The newest change that was taken. */
  get newest(): Mark {
    return this.#newest;
  }

  /** Takes the next change. */
  take({ position, generation, cluster, kind, keys }: LogRow): void {
    const mark = { position, generation };
    this.#newest = mark;
    const isPush = kind === "changes" || kind === "whole" || kind === "return";
    if (kind !== "changes" && kind !== "whole") this.#clusterChanged(cluster, mark);
    // A cluster that leaves takes its part from units of which it is known that they have it.
    if (keys === undefined && isPush) this.#everything = mark;
    for (const key of keys ?? [])
      if (key === "") this.#clusterChanged(cluster, mark);
      else if (key.startsWith("#")) this.#set(`${cluster} ${key}`, mark);
      else if (!key.startsWith("!")) {
        this.#set(key, mark);
        const slash = key.indexOf("/");
        if (slash > 0) this.#set(anyKey(key.slice(0, slash)), mark);
      }
  }

  /**
   * The last change of a unit, as far as it is known.
   * @param clusters that have a part in it, where they are known
   */
  ofUnit(kind: string, namespace: string, label: string, clusters: Iterable<string> = []): Mark {
    let last = later(this.#everything, this.of(namespaceKey(namespace)), this.of(`${namespace}/${label}`));
    if (kind === "federation") return later(last, this.#anyCluster);
    last = later(last, this.#ofClusters(clusters));
    const cluster = clusterOfKind(kind);
    if (cluster === undefined) return last;
    const address = podAddress(label);
    if (address !== undefined) last = later(last, this.ofPods(cluster, podsKey(`${namespace}/${address}`)));
    return later(last, this.#clusters.get(cluster));
  }

  /** The last change that may concern anything. */
  get everything(): Mark {
    return this.#everything;
  }

  /** The last change of the rows with a key. */
  of(key: string): Mark {
    return later(this.#everything, this.#keys.get(key));
  }

  /** The last change of a bucket of pods of a cluster. @param key of `podsKey` */
  ofPods(cluster: string, key: string): Mark {
    return this.of(`${cluster} ${key}`);
  }

  /**
   * The last change of a bucket of claims.
   * @param known clusters that had some: one that leaves names no bucket; and namespaces with services whose
   * exports some claims depend on
   */
  ofClaims(bucket: string, known?: { clusters: Iterable<string>; namespaces: readonly string[] }): Mark {
    const { clusters = [], namespaces = [] } = known ?? {};
    const last = later(this.of(claimsKey(bucket)), this.#ofClusters(clusters));
    if (namespaces.length === 0) return last;
    return later(last, this.#anyCluster, ...namespaces.map((one) => this.inNamespace(one)));
  }

  /**
   * The last change of who has a namespace.
   * @param clusters that had it: one that leaves names no namespace
   */
  ofNamespace(namespace: string, clusters: Iterable<string> = []): Mark {
    return later(this.of(namespaceKey(namespace)), this.#ofClusters(clusters));
  }

  /** The last change of any key of a namespace. */
  inNamespace(namespace: string): Mark {
    return this.of(anyKey(namespace));
  }

  /** The last change of the clusters that there are. */
  get ofClusters(): Mark {
    return later(this.#everything, this.#anyCluster);
  }

  #ofClusters(clusters: Iterable<string>): Mark {
    let last = NO_MARK;
    for (const cluster of clusters) last = later(last, this.#clusters.get(cluster));
    return last;
  }

  #clusterChanged(cluster: string, mark: Mark): void {
    this.#clusters.set(cluster, mark);
    this.#anyCluster = mark;
  }

  #set(key: string, mark: Mark): void {
    this.#keys.delete(key);
    this.#keys.set(key, mark);
    if (this.#keys.size <= MOST_KEYS) return;
    const [oldest, forgotten] = this.#keys.entries().next().value!;
    this.#keys.delete(oldest);
    this.forgotten = later(this.forgotten, forgotten);
  }
}

/** The later one of some changes. */
export function later(first: Mark, ...others: readonly (Mark | undefined)[]): Mark {
  let last = first;
  for (const one of others) if (one !== undefined && one.position > last.position) last = one;
  return last;
}

/** The cluster whose own zone a kind of units is of; undefined for others. */
export function clusterOfKind(kind: string): string | undefined {
  return kind.startsWith("local:") ? kind.slice("local:".length) : undefined;
}

/** The address that a label spells, if it may be that of a pod. */
export function podAddress(label: string): string | undefined {
  const bytes = readPodLabel(Uint8Array.of(label.length, ...Array.from(label, (one) => one.charCodeAt(0))));
  return bytes && formatAddress(bytes);
}

/** Stands for all keys of a namespace. */
function anyKey(namespace: string): string {
  return `${namespace}/*`;
}
