import type { SnapshotDelta } from "../../snapshot/entry-changes.ts";
import type { FollowingState } from "../../snapshot/held/held-tables.ts";
import { type HeldState, NOTHING_HELD } from "../../snapshot/lines/held-state.ts";
import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import type { ClusterMeta } from "../../store/store.ts";
import { unixTime } from "../clock.ts";
import { type Acknowledgement, GenerationMismatch, refuseLate, type Sender } from "../gateway-types.ts";
import type { KeyedQueue } from "../keeping/keyed-queue.ts";
import type { StoreTrouble } from "../keeping/store-health.ts";
import { HeldCluster, type MeasuredChange } from "../leases/held-cluster.ts";
import { type LeaseTerms, leasedAt, type RequestedTerms, renewed } from "../leases/lease-terms.ts";
import { refuseOtherInstance } from "../leases/other-instance.ts";
import { toStored } from "../leases/stored-lease.ts";
import type { ServedGeneration } from "../stages.ts";
import type { ChangeKeeper, TakenChange } from "./change-keeper.ts";
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
  /** The lines that they come from, from the first on with each call. */
  lines(): Iterable<PatchLine>;
}

/** Takes what clusters push: keeps it, has it served, and then acknowledges it. The methods are those of `Gateway`. */
export class Pushes<Generation extends ServedGeneration> {
  readonly #parts: PushParts<Generation>;
  readonly #queue: KeyedQueue;
  readonly #keeper: ChangeKeeper;
  readonly #stateOf: (clusterId: string) => FollowingState | undefined;
  /** New clusters whose first push is being kept: they count against the bound already. */
  readonly #arriving = new Set<string>();

  /** @param queue what the keeper takes turns in, too, by cluster id @param stateOf where the state of a new cluster is held */
  constructor(
    parts: PushParts<Generation>,
    keeper: ChangeKeeper,
    queue: KeyedQueue,
    stateOf: (clusterId: string) => FollowingState | undefined = () => undefined,
  ) {
    this.#parts = parts;
    this.#keeper = keeper;
    this.#queue = queue;
    this.#stateOf = stateOf;
  }

  /** Why nothing can be stored; undefined while it can. */
  get storeTrouble(): StoreTrouble | undefined {
    return this.#keeper.trouble;
  }

  /** See `Gateway.replace`. */
  async replace(
    clusterId: string,
    whole: WholeState,
    requested: RequestedTerms,
    sender: Sender,
  ): Promise<Acknowledgement> {
    const { limits, serving, clock, turns } = this.#parts;
    const terms = termsOf(limits, requested);
    return this.#change(clusterId, terms, async (now) => {
      const base = this.#keeper.baseOf(clusterId, false);
      const known = serving.clusters.live.get(clusterId);
      refuseOtherInstance(known, terms.instance, this.#parts);
      const cluster = known ?? HeldCluster.empty(clusterId, this.#stateOf(clusterId));
      const measured = await turns.run(measure(cluster, whole));
      checkBounds(limits, measured.totals);
      this.#admit(clusterId);
      try {
        const meta = this.#nextMeta(clusterId, now, terms);
        const stored = { kind: "snapshot", lines: whole.lines(), meta: toStored(meta, clock) } as const;
        const live = known !== undefined;
        refuseLate(sender, { generation: known?.meta.generation, left: base?.left });
        return await this.#keeper.take({ cluster, measured, meta, live, base }, stored);
      } finally {
        this.#arriving.delete(clusterId);
      }
    });
  }

  /** See `Gateway.change`. */
  async change(
    clusterId: string,
    baseGeneration: number,
    changes: ValidChanges,
    requested: RequestedTerms,
  ): Promise<Acknowledgement> {
    const { limits, clock, turns } = this.#parts;
    const terms = termsOf(limits, requested);
    return this.#change(clusterId, terms, async (now) => {
      const { delta } = changes;
      this.refuseOther(clusterId, terms.instance);
      const cluster = this.#heldAt(clusterId, baseGeneration);
      const base = this.#keeper.baseOf(clusterId, true);
      const measured = await turns.run(cluster.measure(delta));
      checkBounds(limits, measured.totals);
      checkCharacters(limits, cluster.shell(delta), measured.totals);
      const meta = this.#nextMeta(clusterId, now, terms);
      const stored = { kind: "patch", lines: changes.lines(), meta: toStored(meta, clock) } as const;
      return this.#keeper.takeSmall({ cluster, measured, meta, live: true, base }, delta, stored);
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
    const { limits, serving, clock } = this.#parts;
    const terms = termsOf(limits, requested);
    return this.#inTurn(clusterId, async () => {
      const now = serving.expireNow();
      this.refuseOther(clusterId, terms.instance);
      const held = this.#heldAt(clusterId, generation);
      const base = this.#keeper.baseOf(clusterId, true);
      await this.#keeper.renew(held, renewed(held.meta, now, terms), base);
      return held.acknowledgement(clock);
    });
  }

  /** See `Gateway.refuseOther`. */
  refuseOther(clusterId: string, instance: string | undefined): void {
    refuseOtherInstance(this.#parts.serving.clusters.live.get(clusterId), instance, this.#parts);
  }

  leave(clusterId: string, sender: Sender): Promise<boolean> {
    return this.#keeper.leave(clusterId, sender);
  }

  /** Forgets clusters whose lease expired. */
  forget(expired: readonly HeldCluster[]): void {
    this.#keeper.forget(expired);
  }

  /** Takes no more. Resolves when no push is left. */
  close(): Promise<void> {
    this.#keeper.close();
    return this.#queue.idle();
  }

  async #change(
    clusterId: string,
    terms: LeaseTerms,
    change: (now: number) => Promise<TakenChange>,
  ): Promise<Acknowledgement> {
    const { serving } = this.#parts;
    const { acknowledgement, compiled } = await this.#inTurn(clusterId, async () => {
      const now = serving.expireNow();
      return change(now).catch((error) => {
        this.#keeper.refused(clusterId, error, ({ meta }) => renewed(meta, now, terms));
        throw error;
      });
    });
    await (compiled ?? serving.compile());
    return acknowledgement;
  }

  #inTurn<Result>(clusterId: string, task: () => Promise<Result>): Promise<Result> {
    return this.#queue.run(clusterId, () => this.#keeper.run(clusterId, task));
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
    const holder = this.#parts.serving.clusters.live.get(clusterId)?.meta.instance;
    return { generation, pushedAt: now, ...leasedAt(now, terms, holder) };
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
function termsOf(
  limits: GatewayLimits,
  { leaseSeconds, degraded = [], instance }: RequestedTerms,
): LeaseTerms {
  return { lease: leaseMilliseconds(limits, leaseSeconds), degraded, instance };
}

/** Compares all that a cluster has with what is held, and counts it. */
function* measure(cluster: HeldCluster, whole: WholeState): Generator<void, MeasuredChange> {
  return yield* cluster.measure(yield* whole.changes(cluster));
}
