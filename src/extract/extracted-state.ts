import { equalJson } from "../snapshot/json-value.ts";
import { COLLECTIONS, type Collection } from "../snapshot/parse.ts";
import { type ClusterSnapshot, type ClusterZone, SNAPSHOT_FORMAT_VERSION } from "../snapshot/schema.ts";
import { compareText, setOrDelete } from "./fields.ts";

/** The name of a table of entries, or of the one value that changes. */
export type ChangingPart = Collection | "topology";

/**
 * Is called after each change of an entry. Both values are undefined where there is no entry.
 * @param key of the entry; "" for the topology
 */
export type ChangeFollower = (part: ChangingPart, key: string, before: unknown, after: unknown) => void;

type Entry<Part extends ChangingPart> = Part extends Collection
  ? ClusterSnapshot[Part][string]
  : ClusterSnapshot["topology"];

interface Leftover {
  readonly part: ChangingPart;
  readonly key: string;
  readonly entry: unknown;
}

/** Tables whose keys begin with a namespace. */
const NAMESPACED: ReadonlySet<ChangingPart> = new Set(["exports", "imports", "services", "pods"]);

/**
 * What a cluster's objects yield. It changes in place, entry by entry; entries themselves never change. Those
 * of a namespace that does not exist are leftovers: they count once it exists.
 */
export class ExtractedState {
  #clusterId: string | undefined;
  readonly #clusterZone: ClusterZone | undefined;
  readonly #tables = Object.fromEntries(
    [...COLLECTIONS, "topology"].map((part) => [part, new Map()]),
  ) as Readonly<Record<ChangingPart, Map<string, unknown>>>;
  /** By namespace, then by part and key. */
  readonly #leftovers = new Map<string, Map<string, Leftover>>();
  #version = 0;
  readonly #followers: ChangeFollower[] = [];

  constructor(clusterZone?: ClusterZone) {
    this.#clusterZone = clusterZone;
  }

  /** Undefined until the cluster has one. */
  get clusterId(): string | undefined {
    return this.#clusterId;
  }

  /** Grows with each change. */
  get version(): number {
    return this.#version;
  }

  identify(clusterId: string): void {
    if (clusterId === this.#clusterId) return;
    this.#clusterId = clusterId;
    this.#version++;
  }

  /** Calls `follower` after each change from now on. */
  follow(follower: ChangeFollower): void {
    this.#followers.push(follower);
  }

  hasNamespace(name: string): boolean {
    return this.#tables.namespaces.has(name);
  }

  /** An entry of a table, or the topology, whose key is "". */
  entry(part: ChangingPart, key: string): unknown {
    return this.#tables[part].get(key);
  }

  /** Sets an entry; undefined removes it. One that is equal to the one before changes nothing. */
  set<Part extends ChangingPart>(part: Part, key: string, entry: Entry<Part> | undefined): void {
    this.#place({ part, key, entry });
    if (part === "namespaces") this.#placeEntriesOf(key);
  }

  /** All of it, with sorted keys. @throws {RangeError} while there is no cluster id */
  toSnapshot(): ClusterSnapshot {
    const clusterId = this.#clusterId;
    if (clusterId === undefined) throw new RangeError("the state has no cluster id yet");
    const tables = COLLECTIONS.map((name) => {
      const sorted = [...this.#tables[name]].sort(([left], [right]) => compareText(left, right));
      return [name, Object.fromEntries(sorted)] as const;
    });
    const topology = this.entry("topology", "") as ClusterSnapshot["topology"];
    return {
      formatVersion: SNAPSHOT_FORMAT_VERSION,
      clusterId,
      ...(topology && { topology }),
      ...(this.#clusterZone && { clusterZone: this.#clusterZone }),
      ...(Object.fromEntries(tables) as Pick<ClusterSnapshot, Collection>),
    };
  }

  #place({ part, key, entry }: Leftover): void {
    const namespace = NAMESPACED.has(part) ? key.slice(0, key.indexOf("/")) : undefined;
    const isLeftover = namespace !== undefined && !this.hasNamespace(namespace);
    if (isLeftover) {
      const left = this.#leftovers.get(namespace) ?? new Map<string, Leftover>();
      setOrDelete(left, `${part} ${key}`, entry === undefined ? undefined : { part, key, entry });
      setOrDelete(this.#leftovers, namespace, left.size === 0 ? undefined : left);
    }
    const before = this.entry(part, key);
    const after = isLeftover ? undefined : entry;
    if (equalJson(before, after)) return;
    setOrDelete(this.#tables[part], key, after);
    this.#version++;
    for (const follower of this.#followers) follower(part, key, before, after);
  }

  /** A namespace was created or deleted. */
  #placeEntriesOf(namespace: string): void {
    const entries = [...(this.#leftovers.get(namespace)?.values() ?? [])];
    const prefix = `${namespace}/`;
    this.#leftovers.delete(namespace);
    if (!this.hasNamespace(namespace))
      for (const part of NAMESPACED)
        for (const [key, entry] of this.#tables[part])
          if (key.startsWith(prefix)) entries.push({ part, key, entry });
    for (const entry of entries) this.#place(entry);
  }
}
