import type { RememberedStore } from "../../store/remembered/remembered-store.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";
import type { Turns } from "../turns.ts";
import { FOUNDING_RECORD, Founding } from "./founding.ts";
import { SeenCluster } from "./seen-cluster.ts";

/** What the gateway remembers of clusters and of its first day, with the records that keep it. Times are Unix milliseconds. */
export class Sights {
  readonly onEvent: OnGatewayEvent;
  readonly #store: RememberedStore;
  readonly #turns: Pick<Turns, "run">;
  readonly #clusters = new Map<string, SeenCluster>();
  /** Names of records that are not kept yet. */
  readonly #unkept = new Set<string>();
  /** Those among them that were reported: a full disk is one report for a record, not one for every renewal. */
  readonly #reported = new Set<string>();
  #founding = Founding.begin();
  #latest = Number.NEGATIVE_INFINITY;

  constructor(store: RememberedStore, turns: Pick<Turns, "run">, onEvent: OnGatewayEvent) {
    this.#store = store;
    this.#turns = turns;
    this.onEvent = onEvent;
  }

  get founding(): Founding {
    return this.#founding;
  }

  /** Whether nothing is remembered of any cluster. */
  get isEmpty(): boolean {
    return this.#clusters.size === 0;
  }

  /** The time of a sight: no earlier than what is remembered, so that the order of sights does not depend on the clock. */
  instant(now: number): number {
    return now > this.#latest ? now : this.#latest + 1;
  }

  /** Remembers that something was seen at a time. */
  reach(time: number): void {
    this.#latest = Math.max(this.#latest, time);
  }

  get(clusterId: string): SeenCluster | undefined {
    return this.#clusters.get(clusterId);
  }

  /** Takes over what is kept already. */
  load(clusterId: string, cluster: SeenCluster): void {
    this.#clusters.set(clusterId, cluster);
    this.reach(cluster.latest);
  }

  set(clusterId: string, cluster: SeenCluster): void {
    this.#clusters.set(clusterId, cluster);
    this.#unkept.add(SeenCluster.recordName(clusterId));
  }

  /** Replaces what is remembered of the first day. */
  found(founding: Founding, isKept: boolean): void {
    this.#founding = founding;
    if (!isKept) this.#unkept.add(FOUNDING_RECORD);
  }

  /** Lets the first day begin, or end. */
  pass(now: number): void {
    if (this.#founding.pass(now, this.#latest)) this.#unkept.add(FOUNDING_RECORD);
  }

  /** Keeps what changed of the first day and of a cluster. What cannot be kept is reported, and kept with the next change. */
  async keep(clusterId: string): Promise<void> {
    await this.#keep(FOUNDING_RECORD, this.#founding);
    const cluster = this.#clusters.get(clusterId);
    if (cluster !== undefined) await this.#keep(SeenCluster.recordName(clusterId), cluster);
  }

  /** Keeps all that is not kept yet. */
  async keepAll(): Promise<void> {
    await this.#keep(FOUNDING_RECORD, this.#founding);
    for (const clusterId of this.#clusters.keys()) await this.keep(clusterId);
  }

  async #keep(name: string, kept: Founding | SeenCluster): Promise<void> {
    if (!this.#unkept.delete(name)) return;
    try {
      const value = kept instanceof Founding ? kept.toRecord() : await this.#turns.run(kept.toText());
      await this.#store.keep(name, value);
      this.#reported.delete(name);
    } catch (error) {
      this.#unkept.add(name);
      if (this.#reported.has(name)) return;
      this.#reported.add(name);
      this.onEvent({ event: "memory-not-kept", record: name, error });
    }
  }
}
