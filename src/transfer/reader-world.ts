import { claimBucket, hexOf, podsKey } from "../database/places.ts";
import type { FoldedName } from "../dns/name.ts";
import type { AddressClaim } from "../names/entries.ts";
import { clusterOfKind, type Mark, podAddress } from "../names/key-changes.ts";
import { unitKind, ZoneWorld } from "../names/zone-world.ts";
import { type Location, MissingPart, type Zone } from "../zone/world.ts";
import type { PlannedTree } from "../zone/zone-context.ts";
import type { PartCache } from "./part-cache.ts";
import {
  candidatesIn,
  claimsIn,
  type ListKind,
  type Loaded,
  type LoadedKey,
  type LoadedReverse,
  type PartKind,
  type PartName,
  readBelow,
  readClaims,
  readKey,
  readList,
  readReverse,
  type SentWorld,
} from "./part-forms.ts";
import { ANY_NAME } from "./primary.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A part that has to be fetched. */
export interface WantedPart {
  /** Its name in the cache. */
  readonly hash: string;
  readonly name: PartName;
  /** At which version. */
  readonly version: Mark;
  /** @throws {Error} for bytes that are not well-formed */
  readonly load: (bytes: Bytes) => Loaded<object>;
}

/** A newer state than that of the world has to be fetched. */
const NEWER_STATE = { hash: "state" } as const;

/** What has to be fetched, in place of what is wanted. */
interface Missing {
  readonly missing: WantedPart | typeof NEWER_STATE;
}

/** Thrown where a query needs something that has to be fetched. */
export class ToFetch extends MissingPart {
  readonly part: Missing["missing"];

  constructor(part: Missing["missing"]) {
    super(`${part.hash} is not in memory`);
    this.part = part;
  }
}

/** @throws {ToFetch} where it is missing */
function present<Found>(found: Found | Missing): Found {
  if (typeof found === "object" && found !== null && "missing" in found) throw new ToFetch(found.missing);
  return found as Found;
}

const NO_KEY: LoadedKey = { key: undefined, clusters: [] };
const NO_CLAIMS: readonly AddressClaim[] = [];
/** Namespaces that count as existing before the list of them is there: a first query need not wait for it. */
const MOST_GUESSES = 4;

/**
 * Answers from parts that are fetched when a query first needs them. A name that does not exist is denied
 * from lists of what does.
 */
export class ReaderWorld extends ZoneWorld<LoadedKey> {
  /** Whether parts count that are known to be old. */
  acceptsOld = false;
  readonly #parts: PartCache;
  readonly #guesses: Set<string>;
  /** By namespace: the key that is fetched before the list of its keys. */
  readonly #begun: Map<string, string>;

  /**
   * @param before the world that this one replaces
   * @throws {Error} where the primary's settings are none
   */
  constructor({ options, clusters, lapsed }: SentWorld, parts: PartCache, before?: ReaderWorld) {
    super(clusters, { ...options, serial: 0 }, lapsed);
    this.#parts = parts;
    this.#guesses = before === undefined ? new Set() : before.#guesses;
    this.#begun = before === undefined ? new Map() : before.#begun;
  }

  locate(zone: Zone, tree: number, name: FoldedName, view: number): Location | undefined {
    return this.search(zone, tree, name, view, []);
  }

  protected namesOf(planned: PlannedTree, namespace: string, label: string): LoadedKey {
    const zone = unitKind(planned);
    const found = this.#unitPart<LoadedKey>("key", zone, namespace, label, readKey);
    if (!("missing" in found)) return found;
    const { missing } = found;
    if (!this.#parts.has(missing.hash) && !present(this.#mayExist(planned, namespace, label))) return NO_KEY;
    throw new ToFetch(missing);
  }

  protected reverseOf(planned: PlannedTree, namespace: string, label: string, address: Uint8Array) {
    const found = present(
      this.#unitPart<LoadedReverse>("reverse", unitKind(planned), namespace, label, readReverse),
    );
    // A tree may be gone with its cluster.
    const isThere = found.sources.every(({ tree }) => this.context.treeByKey.has(tree));
    const candidates = isThere ? candidatesIn(found, address) : [];
    return { ...found, reverse: candidates.map((one) => [address, one] as const) };
  }

  protected hasNamespace(clusterId: string, namespace: string): boolean {
    if (!present(this.#mayHaveNamespace(namespace))) return false;
    const clusters = this.#clustersOf("names", { list: "labels", of: namespace, prefix: "" });
    const changed = this.#parts.changes.ofNamespace(namespace, clusters);
    const list = present(this.#list("labels", namespace, "", changed));
    return this.clusters.has(clusterId) && list.clusters.has(clusterId);
  }

  protected hasServiceNames(planned: PlannedTree, namespace: string): boolean {
    const { changes } = this.#parts;
    if (!present(this.#mayHaveNamespace(namespace))) return false;
    const inKeys = changes.inNamespace(namespace);
    const changed = inKeys.position > changes.ofClusters.position ? inKeys : changes.ofClusters;
    return present(this.#part("below", { tree: planned.key, namespace }, changed, readBelow)).has;
  }

  protected claimsOn(address: Uint8Array): readonly AddressClaim[] {
    const hex = hexOf(address);
    const bucket = claimBucket(hex);
    const known = this.#parts.peek<ReturnType<typeof readClaims>["value"]>(idOf("claims", { bucket }));
    const changed = this.#parts.changes.ofClaims(bucket, known);
    const claims = this.#part("claims", { bucket }, changed, readClaims);
    if ("missing" in claims && !present(this.#isListed("buckets", "", bucket, changed))) return NO_CLAIMS;
    const text = present(claims).claims.get(hex);
    if (text === undefined) return NO_CLAIMS;
    return claimsIn(text).filter(({ clusterId }) => this.clusters.has(clusterId));
  }

  /**
   * Whether a key may have names, as far as lists say; what to fetch first, where they have to be fetched.
   */
  #mayExist(planned: PlannedTree, namespace: string, label: string): boolean | Missing {
    const { changes } = this.#parts;
    if (this.context.hosts.has(`${namespace}/${label}`)) return true;
    const known = this.#mayHaveNamespace(namespace);
    if (known !== true) return known;
    const isLabel = this.#isListed("labels", namespace, label, changes.of(`${namespace}/${label}`));
    if (isLabel === true) return true;
    if (typeof isLabel !== "boolean") {
      const first = this.#begun.get(namespace) ?? label;
      this.#begun.set(namespace, first);
      return first === label || isLabel;
    }
    const cluster = clusterOfKind(unitKind(planned));
    const { plan } = planned;
    if (cluster === undefined || plan.kind !== "cluster-local") return false;
    const address = plan.cluster.zone.pods === "verified" ? podAddress(label) : undefined;
    if (address === undefined) return false;
    const bucket = podsKey(`${namespace}/${address}`);
    const changed = changes.ofPods(cluster, bucket);
    return this.#isListed("pods", `${cluster} ${bucket}`, `${namespace}/${address}`, changed);
  }

  /** Whether a namespace may exist; before their list is there, some count as existing. */
  #mayHaveNamespace(namespace: string): boolean | Missing {
    const isListed = this.#isListed("namespaces", "", namespace, this.#parts.changes.inNamespace(namespace));
    if (typeof isListed === "boolean") return isListed;
    if (this.#guesses.size < MOST_GUESSES) this.#guesses.add(namespace);
    return this.#guesses.has(namespace) || isListed;
  }

  /** Whether a list has a name, or had no time to: it changed since. */
  #isListed(list: ListKind, of: string, name: string, changed: Mark): boolean | Missing {
    const { changes } = this.#parts;
    for (let prefix = ""; ; ) {
      // A bucket of pods is listed anew when it changed: that concerns each of its names.
      const found = this.#list(list, of, prefix, list === "pods" ? changed : changes.everything);
      if ("missing" in found) return found;
      const { names, common } = found;
      if (names.has(name) || names.has(ANY_NAME)) return true;
      if (!this.#parts.isRight(idOf("names", { list, of, prefix }), changed)) return true;
      if (common === undefined || !name.startsWith(common) || name.length <= common.length) return false;
      if (common.length < prefix.length) return true;
      prefix = name.slice(0, common.length + 1);
    }
  }

  #list(list: ListKind, of: string, prefix: string, changed: Mark) {
    return this.#part("names", { list, of, prefix }, changed, readList);
  }

  #unitPart<Value extends Pick<LoadedKey, "clusters">>(
    kind: "key" | "reverse",
    zone: string,
    namespace: string,
    label: string,
    load: (bytes: Bytes) => Loaded<Value>,
  ): Value | Missing {
    const of = { zone, namespace, label };
    const id = idOf(kind, of);
    const changed = this.#parts.changes.ofUnit(zone, namespace, label, this.#clustersOf(kind, of));
    const found = this.#part<Value>(kind, of, changed, load);
    if ("missing" in found || this.acceptsOld || !this.#parts.isAhead(id)) return found;
    // No lease is known of a cluster that came after the newest state: its records have a TTL of 0.
    return found.clusters.every((one) => this.clusters.has(one)) ? found : { missing: NEWER_STATE };
  }

  /**
   * The clusters that have something in the part that was fetched last: one that leaves names no key of what
   * it had.
   */
  #clustersOf(kind: PartKind, of: PartName["of"]): Iterable<string> | undefined {
    return this.#parts.peek<{ readonly clusters: Iterable<string> }>(idOf(kind, of))?.clusters;
  }

  #part<Value extends object>(
    kind: PartKind,
    of: PartName["of"],
    changed: Mark,
    load: (bytes: Bytes) => Loaded<Value>,
  ): Value | Missing {
    const id = idOf(kind, of);
    const value = this.#parts.peek<Value>(id);
    if (value !== undefined) {
      if (this.#parts.isRight(id, changed)) {
        // A list is right for each of its names until that changes.
        if (kind !== "names") this.#parts.keep(id);
        return value;
      }
      if (this.acceptsOld) return value;
    }
    return { missing: wanted(kind, of, this.#parts.version(changed), load) };
  }
}

/** The names of a key. */
export function wantedKey(zone: string, namespace: string, label: string, version: Mark): WantedPart {
  return wanted("key", { zone, namespace, label }, version, readKey);
}

function wanted(
  kind: PartKind,
  of: PartName["of"],
  { position, generation }: Mark,
  load: WantedPart["load"],
): WantedPart {
  return {
    hash: idOf(kind, of),
    name: { kind, of },
    version: { position, generation },
    load,
  };
}

function idOf(kind: PartKind, of: PartName["of"]): string {
  return `${kind} ${Object.values(of).join(" ")}`;
}
