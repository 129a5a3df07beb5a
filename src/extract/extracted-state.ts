import { COLLECTIONS, type Collection } from "../snapshot/parse.ts";
import { type ClusterSnapshot, type ClusterZone, SNAPSHOT_FORMAT_VERSION } from "../snapshot/schema.ts";
import { compareText } from "./fields.ts";

/** The name of a table of entries, or of the one value that changes. */
export type ChangingPart = Collection | "topology";

/**
 * Is called after each change of an entry. Both values are undefined where there is no entry.
 * @param key of the entry; "" for the topology
 */
export type ChangeFollower = (part: ChangingPart, key: string, before: unknown, after: unknown) => void;

type Topology = ClusterSnapshot["topology"];

/** What a cluster's objects yield. It changes in place, entry by entry; entries themselves never change. */
export class ExtractedState {
  #clusterId: string | undefined;
  readonly #clusterZone: ClusterZone | undefined;
  readonly #tables = Object.fromEntries(COLLECTIONS.map((name) => [name, new Map()])) as Record<
    Collection,
    Map<string, unknown>
  >;
  #topology: Topology;
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

  /** An entry of a table, or the topology, whose key is "". */
  entry(part: ChangingPart, key: string): unknown {
    return part === "topology" ? this.#topology : this.#tables[part].get(key);
  }

  /** Sets an entry; undefined removes it. */
  set<Name extends Collection>(
    collection: Name,
    key: string,
    entry: ClusterSnapshot[Name][string] | undefined,
  ): void {
    const table = this.#tables[collection];
    const before = table.get(key);
    if (before === entry) return;
    if (entry === undefined) table.delete(key);
    else table.set(key, entry);
    this.#changed(collection, key, before, entry);
  }

  setTopology(topology: Topology): void {
    const before = this.#topology;
    this.#topology = topology;
    this.#changed("topology", "", before, topology);
  }

  /** All of it, with sorted keys. @throws {RangeError} while there is no cluster id */
  toSnapshot(): ClusterSnapshot {
    const clusterId = this.#clusterId;
    if (clusterId === undefined) throw new RangeError("the state has no cluster id yet");
    const tables = COLLECTIONS.map((name) => {
      const sorted = [...this.#tables[name]].sort(([left], [right]) => compareText(left, right));
      return [name, Object.fromEntries(sorted)] as const;
    });
    return {
      formatVersion: SNAPSHOT_FORMAT_VERSION,
      clusterId,
      ...(this.#topology === undefined ? {} : { topology: this.#topology }),
      ...(this.#clusterZone === undefined ? {} : { clusterZone: this.#clusterZone }),
      ...(Object.fromEntries(tables) as Pick<ClusterSnapshot, Collection>),
    };
  }

  #changed(part: ChangingPart, key: string, before: unknown, after: unknown): void {
    this.#version++;
    for (const follower of this.#followers) follower(part, key, before, after);
  }
}
