import type { SnapshotDelta } from "../../snapshot/entry-changes.ts";
import { type HeldState, NOTHING_HELD } from "../../snapshot/lines/held-state.ts";
import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import type { ClusterMeta } from "../../store/store.ts";
import { isDiskFailure } from "../../store/store-error.ts";
import { unixTime } from "../clock.ts";
import { type Acknowledgement, GenerationMismatch } from "../gateway-types.ts";
import { KeyedQueue } from "../keeping/keyed-queue.ts";
import { StoreHealth, type StoreTrouble } from "../keeping/store-health.ts";
import { HeldCluster, type MeasuredChange } from "../leases/held-cluster.ts";
import { type LeaseTerms, leasedAt, type RequestedTerms, renewed } from "../leases/lease-terms.ts";
import { toStored } from "../leases/stored-lease.ts";
import type { ServedGeneration } from "../stages.ts";
import { Departures } from "./departures.ts";
import { KeptChanges, type TakenChange } from "./kept-changes.ts";
import {
  checkBounds,
  checkCharacters,
  type GatewayLimits,
  leaseMilliseconds,
  PushRefused,
} from "./limits.ts";
import type { PushParts } from "./push-parts.ts";
import { NO_TOTALS, type SnapshotTotals } from "./snapshot-bounds.ts";
import type { WholeState } from "./whole-state.ts";

/** Changes that were validated against the held state. */
export interface ValidChanges {
  readonly delta: SnapshotDelta;
  /** The lines that they come from. */
  readonly lines: Iterable<PatchLine>;
}

const NO_CHANGE: SnapshotDelta = { entries: [], singles: {} };

/** Takes what clusters push: keeps it, has it served, and then acknowledges it. The methods are those of `Gateway`. */
export class Pushes<Generation extends ServedGeneration> {
  readonly #parts: PushParts<Generation>;
  readonly #queue = new KeyedQueue();
  readonly #health: StoreHealth;
  readonly #departures: Departures<Generation>;
  readonly #keptChanges: KeptChanges<Generation>;
  /** New clusters whose first push is being kept: they count against the bound already. */
  readonly #arriving = new Set<string>();

  constructor(parts: PushParts<Generation>) {
    this.#parts = parts;
    const { clock, onEvent, serving } = parts;
    const isLive = (clusterId: string) => serving.clusters.live.has(clusterId);
    this.#health = new StoreHealth(clock, onEvent, (id) => isLive(id) || this.#departures.owes(id));
    this.#departures = new Departures(parts, this.#queue, this.#health);
    this.#keptChanges = new KeptChanges(parts, this.#health);
  }

  /** Why nothing can be stored; undefined while it can. */
  get storeTrouble(): StoreTrouble | undefined {
    return this.#health.trouble;
  }

  /** See `Gateway.replace`. */
  async replace(clusterId: string, whole: WholeState, requested: RequestedTerms): Promise<Acknowledgement> {
    const { limits, precedence, store, serving, clock, turns } = this.#parts;
    const terms = termsOf(limits, requested);
    return this.#change(clusterId, terms, async (now) => {
      const known = serving.clusters.live.get(clusterId);
      const cluster = known ?? HeldCluster.empty(clusterId, store.entries?.(clusterId));
      const measured = await turns.run(measure(cluster, whole));
      checkBounds(limits, measured.totals);
      this.#admit(clusterId);
      try {
        const meta = this.#nextMeta(clusterId, now, terms);
        await precedence.introduce(clusterId, unixTime(clock, now));
        const lines = whole.lines();
        const stored = { kind: "snapshot", lines, meta: toStored(meta, clock) } as const;
        return await this.#keptChanges.take({ cluster, measured, meta, live: known !== undefined }, stored);
      } finally {
        this.#arriving.delete(clusterId);
      }
    });
  }

  /** See `Gateway.change`. */
  async change(
    clusterId: string,
    baseGeneration: number,
    { delta, lines }: ValidChanges,
    requested: RequestedTerms,
  ): Promise<Acknowledgement> {
    const { limits, clock, turns } = this.#parts;
    const terms = termsOf(limits, requested);
    return this.#change(clusterId, terms, async (now) => {
      const cluster = this.#heldAt(clusterId, baseGeneration);
      const measured = await turns.run(cluster.measure(delta));
      checkBounds(limits, measured.totals);
      checkCharacters(limits, cluster.shell(delta), measured.totals);
      const meta = this.#nextMeta(clusterId, now, terms);
      const stored = { kind: "patch", lines, meta: toStored(meta, clock) } as const;
      return this.#keptChanges.takeSmall({ cluster, measured, meta, live: true }, delta, stored);
    });
  }

  /** See `Gateway.held`. */
  held(clusterId: string, generation?: number): HeldState {
    if (generation !== undefined) this.#heldAt(clusterId, generation);
    // A change that is served while it is stored may be taken back: what was read of it would not be of this generation.
    const now = () =>
      generation === undefined
        ? (this.#parts.serving.clusters.live.get(clusterId)?.state ?? NOTHING_HELD)
        : this.#heldAt(clusterId, generation).state;
    return {
      entry: (collection, key) => now().entry(collection, key),
      packed: (collection, key) => now().packed(collection, key),
      has: (collection, key) => now().has(collection, key),
      keys: (collection) => now().keys(collection),
      single: (name) => now().single(name),
    };
  }

  /** See `Gateway.count`. */
  *count(clusterId: string): Generator<void, SnapshotTotals> {
    const held = this.#parts.serving.clusters.live.get(clusterId);
    return held === undefined ? NO_TOTALS : yield* held.count();
  }

  /** See `Gateway.renew`. */
  async renew(clusterId: string, generation: number, requested: RequestedTerms): Promise<Acknowledgement> {
    const { limits, precedence, store, serving, clock, turns } = this.#parts;
    const terms = termsOf(limits, requested);
    return this.#queue.run(clusterId, async () => {
      const now = serving.expireNow();
      const held = this.#heldAt(clusterId, generation);
      const meta = renewed(held.meta, now, terms);
      await this.#health.attempt(clusterId, () =>
        store.keep(clusterId, { kind: "lease", meta: toStored(meta, clock) }),
      );
      // Its lease may have run out while the renewal was being kept.
      if (serving.clusters.live.get(clusterId) !== held) throw new GenerationMismatch(undefined);
      this.#keptChanges.setMeta(held, meta);
      serving.renew();
      const seen = { now: unixTime(clock, now), live: true, generation };
      serving.reconsider(clusterId, await turns.run(precedence.see(held, seen, NO_CHANGE)));
      await precedence.save(clusterId);
      return held.acknowledgement(clock);
    });
  }

  leave(clusterId: string): Promise<boolean> {
    return this.#departures.leave(clusterId);
  }

  /** Forgets clusters whose lease expired. */
  forget(expired: readonly HeldCluster[]): void {
    this.#departures.forget(expired);
  }

  /** Takes no more. Resolves when no push is left. */
  close(): Promise<void> {
    this.#departures.close();
    return this.#queue.idle();
  }

  async #change(
    clusterId: string,
    terms: LeaseTerms,
    change: (now: number) => Promise<TakenChange>,
  ): Promise<Acknowledgement> {
    const { serving } = this.#parts;
    const { acknowledgement, compiled } = await this.#queue.run(clusterId, async () => {
      const now = serving.expireNow();
      return change(now).catch((error) => {
        if (isDiskFailure(error)) this.#prolong(clusterId, now, terms);
        throw error;
      });
    });
    await (compiled ?? serving.compile());
    return acknowledgement;
  }

  /** The store refused a change. Its cluster lives all the same: what is held of it goes on being answered. */
  #prolong(clusterId: string, now: number, terms: LeaseTerms): void {
    const { serving } = this.#parts;
    const held = serving.clusters.live.get(clusterId);
    if (held === undefined) return;
    this.#keptChanges.setMeta(held, renewed(held.meta, now, terms));
    serving.renew();
  }

  #heldAt(clusterId: string, generation: number): HeldCluster {
    const held = this.#parts.serving.clusters.live.get(clusterId);
    if (held?.meta.generation !== generation) throw new GenerationMismatch(held?.meta.generation);
    return held;
  }

  // Never below the clock: a gateway that lost its state must not take a delta for another state. Nor
  // below the generation before, should the clock have been set back since.
  #nextMeta(clusterId: string, now: number, terms: LeaseTerms): ClusterMeta {
    const last = this.#parts.serving.clusters.generationOf(clusterId);
    const generation = Math.max(last + 1, unixTime(this.#parts.clock, now));
    return { generation, pushedAt: now, ...leasedAt(now, terms) };
  }

  #admit(clusterId: string): void {
    const { limits, serving } = this.#parts;
    const { live } = serving.clusters;
    if (live.has(clusterId)) return;
    if (live.size + this.#arriving.size >= limits.clusters)
      throw new PushRefused(
        "TOO_MANY_CLUSTERS",
        `the gateway holds its most of ${limits.clusters} clusters already`,
      );
    this.#arriving.add(clusterId);
  }
}

/** @throws {PushRefused} LEASE_OUT_OF_RANGE */
function termsOf(limits: GatewayLimits, { leaseSeconds, degraded = [] }: RequestedTerms): LeaseTerms {
  return { lease: leaseMilliseconds(limits, leaseSeconds), degraded };
}

/** Compares all that a cluster has with what is held, and counts it. */
function* measure(cluster: HeldCluster, whole: WholeState): Generator<void, MeasuredChange> {
  return yield* cluster.measure(yield* whole.changes(cluster));
}
