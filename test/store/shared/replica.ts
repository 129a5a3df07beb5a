import type { ClusterMeta } from "../../../src/store/cluster-meta.ts";
import { fieldOf, lineOf } from "../../../src/store/redis/fields.ts";
import type {
  FoundingDay,
  LogEntry,
  LogFollower,
  SharedCluster,
  SharedFacts,
  SharedLog,
} from "../../../src/store/shared/shared-log.ts";
import { HeldState } from "./held-state.ts";

/** What a replica has, as plain values. */
export interface ReplicaState {
  readonly clusters: Record<string, { meta: ClusterMeta | undefined; values: object; sight: unknown }>;
  readonly founding: FoundingDay | undefined;
  readonly orders: object;
}

/** A gateway that does nothing but follow the log, and applies it as the interface says. */
export class Replica implements LogFollower {
  readonly log: SharedLog;
  /** Every entry that was applied. */
  readonly entries: LogEntry[] = [];
  /** `isLost` of each reload. */
  readonly reloads: boolean[] = [];
  /** The first reason of each outage, and `undefined` at its end. */
  readonly connections: (string | undefined)[] = [];
  position = 0;
  #state = new HeldState();
  readonly #waiting = new Set<() => void>();

  private constructor(log: SharedLog) {
    this.log = log;
  }

  /** Loads what the log has, and follows it. */
  static async start(log: SharedLog): Promise<Replica> {
    const replica = new Replica(log);
    const { facts, clusters } = await log.load();
    await replica.#load(clusters, facts);
    log.follow(facts.position, replica);
    return replica;
  }

  async apply(entry: LogEntry): Promise<void> {
    if (entry.position !== this.position + 1) throw new Error(`${entry.position} after ${this.position}`);
    if (entry.kind === "orders") this.#state.take({ ...entry, id: "", at: 0 });
    else if (entry.position > (this.#state.clusters.get(entry.clusterId)?.position ?? 0)) {
      const { clusterId, position, id, kind, generation, meta, lines, sight, founding } = entry;
      if (lines === undefined && (kind === "snapshot" || kind === "patch")) {
        await this.#read((await this.log.stateOf(clusterId))!);
        this.#state.founding = founding ?? this.#state.founding;
      } else {
        const draft = {
          base: undefined,
          ...{ clusterId, kind, generation, meta },
          lines: lines ?? [],
          sight,
          founding,
        };
        this.#state.take({ position, id, at: 0, draft });
      }
    } else this.#state.founding = entry.founding ?? this.#state.founding;
    this.position = entry.position;
    this.entries.push(entry);
    this.#wake();
  }

  async reload(clusters: AsyncIterable<SharedCluster>, facts: SharedFacts, isLost: boolean): Promise<void> {
    this.#state = new HeldState();
    await this.#load(clusters, facts);
    this.reloads.push(isLost);
    this.#wake();
  }

  connection(reason: string | undefined): void {
    // An outage may have one reason after the other.
    if (reason === undefined || this.connections.at(-1) === undefined) this.connections.push(reason);
    this.#wake();
  }

  /** The id of the newest entry of a cluster that was applied. */
  idOf(clusterId: string): string | undefined {
    return this.#state.clusters.get(clusterId)?.id;
  }

  /** Resolves when something holds of this replica. */
  async until(holds: (replica: this) => boolean): Promise<this> {
    while (!holds(this)) await new Promise<void>((resolve) => this.#waiting.add(resolve));
    return this;
  }

  get state(): ReplicaState {
    const clusters = [...this.#state.clusters].map(([clusterId, { meta, values, sight }]) => {
      const parsed = [...values].map(([field, text]) => [field, JSON.parse(text)] as const);
      return [clusterId, { meta, values: Object.fromEntries(parsed.sort()), sight }] as const;
    });
    const { founding, orders } = this.#state;
    return { clusters: Object.fromEntries(clusters), founding, orders: Object.fromEntries(orders) };
  }

  async #load(clusters: AsyncIterable<SharedCluster>, { founding, orders, position }: SharedFacts) {
    this.#state.founding = founding;
    this.#state.take({ position, id: "", at: 0, orders });
    for await (const cluster of clusters) await this.#read(cluster);
    this.position = position;
  }

  async #read(cluster: SharedCluster): Promise<void> {
    const values = new Map<string, string>();
    for await (const line of cluster.lines) {
      const field = fieldOf(line);
      if (line.at(-1) === null) values.delete(field);
      else values.set(field, JSON.stringify(line.at(-1)));
    }
    // From now on they are those of the state that the lines make.
    const { clusterId, position, id, meta, gone, sight } = cluster;
    this.#state.clusters.set(clusterId, { position, id, meta, gone, sight, values, renewedAt: 0 });
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** The lines of values by field. */
export function linesOfValues(values: Readonly<Record<string, unknown>>) {
  return Object.entries(values).map(([field, value]) => lineOf(field, value));
}
