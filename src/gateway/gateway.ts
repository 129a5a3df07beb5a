import type { Answer } from "../resolve/answer.ts";
import type { Transport } from "../resolve/transport.ts";
import { applyPatch, type SnapshotPatch } from "../snapshot/patch.ts";
import type { ClusterSnapshot } from "../snapshot/schema.ts";
import { createMemoryPrecedenceStore, type PrecedenceStore } from "../store/precedence-store.ts";
import type { ClusterMeta, SnapshotStore } from "../store/store.ts";
import type { Clock } from "./clock.ts";
import { CompileSchedule } from "./compile-schedule.ts";
import type { OnGatewayEvent } from "./gateway-events.ts";
import { type Acknowledgement, type GatewayStatus, GenerationMismatch } from "./gateway-types.ts";
import { HeldCluster } from "./held-cluster.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { LeaseTimer, type LeaseWatch } from "./lease-timer.ts";
import {
  charactersAfter,
  checkNamespaces,
  DEFAULT_GATEWAY_LIMITS,
  type GatewayLimits,
  leaseMilliseconds,
} from "./limits.ts";
import { LiveClusters } from "./live-clusters.ts";
import { Precedence } from "./precedence.ts";
import { PushRefused } from "./push-refused.ts";
import { type ServedZone, ZoneCompiler } from "./served-zone.ts";
import type { GatewayStages, ServedImage } from "./stages.ts";

/** What a gateway is put together from. */
export interface GatewayDependencies<Image extends ServedImage> {
  readonly store: SnapshotStore;
  /** Remembers when exports were heard of first. Default: as long as the process lives. */
  readonly precedence?: PrecedenceStore;
  readonly stages: GatewayStages<Image>;
  readonly clock: Clock;
  readonly onEvent: OnGatewayEvent;
  readonly limits?: Partial<GatewayLimits>;
  /** What calls `onDue` when the next lease runs out. Default: a timer of the clock. */
  readonly watchLeases?: (onDue: () => void) => LeaseWatch;
}

/**
 * Joins the stages: takes what clusters push, keeps it, compiles it and answers from the newest image.
 * A cluster whose lease is over leaves the answers, alone.
 */
export class Gateway<Image extends ServedImage> {
  readonly #store: SnapshotStore;
  readonly #stages: GatewayStages<Image>;
  readonly #clock: Clock;
  readonly #onEvent: OnGatewayEvent;
  readonly #limits: GatewayLimits;
  readonly #clusters: LiveClusters;
  readonly #compiler: ZoneCompiler<Image>;
  readonly #schedule: CompileSchedule;
  readonly #leases: LeaseWatch;
  readonly #queue = new KeyedQueue();
  /** New clusters whose first push is being kept: they count against the bound already. */
  readonly #arriving = new Set<string>();
  /** Whether the served image knows every cluster that denying a name needs. */
  #ready = false;
  #closed = false;

  readonly #precedence: Precedence;

  private constructor(dependencies: GatewayDependencies<Image>, precedence: Precedence) {
    const { store, stages, clock, onEvent, limits } = dependencies;
    this.#store = store;
    this.#precedence = precedence;
    this.#stages = stages;
    this.#clock = clock;
    this.#onEvent = onEvent;
    this.#limits = { ...DEFAULT_GATEWAY_LIMITS, ...limits };
    this.#clusters = new LiveClusters(this.#limits.mostClusters);
    this.#compiler = new ZoneCompiler(stages, clock, onEvent);
    this.#schedule = new CompileSchedule(clock, () => this.#compile());
    const onDue = () => {
      this.#expireNow();
      this.#watchLeases();
    };
    this.#leases = dependencies.watchLeases?.(onDue) ?? new LeaseTimer(clock, onDue);
  }

  /** Loads the store and serves what is live in it at once. */
  static async open<Image extends ServedImage>(
    dependencies: GatewayDependencies<Image>,
  ): Promise<Gateway<Image>> {
    const { store, precedence: remembered = createMemoryPrecedenceStore(), clock } = dependencies;
    const now = clock.now();
    const precedence = await Precedence.open(remembered, now);
    const gateway = new Gateway(dependencies, precedence);
    const expired = await gateway.#clusters.load(store, now);
    for (const { snapshot, meta } of [...expired, ...gateway.#clusters.live.values()]) {
      if (!precedence.knows(snapshot.clusterId)) await precedence.look(snapshot, meta.renewedAt);
      precedence.heard(snapshot.clusterId, meta.renewedAt);
    }
    gateway.#remove(expired);
    if (gateway.#clusters.live.size > 0) gateway.#schedule.runNow();
    gateway.#watchLeases();
    return gateway;
  }

  /**
   * Replaces all that is known of a cluster. Resolves when the snapshot is kept and answered from.
   * @throws {PushRefused} for a snapshot of another cluster, or beyond the limits.
   */
  async replace(
    clusterId: string,
    snapshot: ClusterSnapshot,
    leaseSeconds?: number,
  ): Promise<Acknowledgement> {
    const lease = leaseMilliseconds(this.#limits, leaseSeconds);
    if (snapshot.clusterId !== clusterId)
      throw new PushRefused(
        "CLUSTER_ID_MISMATCH",
        `the snapshot is of cluster "${snapshot.clusterId}", not of "${clusterId}"`,
      );
    checkNamespaces(this.#limits, snapshot);
    return this.#change(clusterId, async (now) => {
      this.#admit(clusterId);
      try {
        const cluster = new HeldCluster(snapshot, this.#nextMeta(clusterId, now, lease));
        await this.#precedence.look(snapshot, now);
        await this.#store.keep(clusterId, { kind: "snapshot", snapshot, meta: cluster.meta });
        this.#hold(clusterId, cluster, "snapshot");
        return cluster;
      } finally {
        this.#arriving.delete(clusterId);
      }
    });
  }

  /**
   * Applies a delta to the generation that it builds on. Resolves when it is kept and answered from.
   * @throws {GenerationMismatch} when that generation is not held.
   * @throws {SnapshotError} naming each field that is wrong. @throws {PushRefused} beyond the limits.
   */
  async patch(
    clusterId: string,
    baseGeneration: number,
    patch: SnapshotPatch,
    leaseSeconds?: number,
  ): Promise<Acknowledgement> {
    const lease = leaseMilliseconds(this.#limits, leaseSeconds);
    return this.#change(clusterId, async (now) => {
      const held = this.#heldAt(clusterId, baseGeneration);
      const snapshot = applyPatch(held.snapshot, patch);
      checkNamespaces(this.#limits, snapshot);
      const characters = charactersAfter(this.#limits, held, patch, snapshot);
      const cluster = new HeldCluster(snapshot, this.#nextMeta(clusterId, now, lease), characters);
      await this.#precedence.look(snapshot, now);
      await this.#store.keep(clusterId, { kind: "patch", patch, snapshot, meta: cluster.meta });
      this.#hold(clusterId, cluster, "patch");
      return cluster;
    });
  }

  /**
   * Renews a cluster's lease; nothing is compiled.
   * @throws {GenerationMismatch} when that generation is not held, or the lease ran out already.
   */
  async renew(clusterId: string, generation: number, leaseSeconds?: number): Promise<Acknowledgement> {
    const lease = leaseMilliseconds(this.#limits, leaseSeconds);
    return this.#queue.run(clusterId, async () => {
      const now = this.#expireNow();
      const held = this.#heldAt(clusterId, generation);
      const meta = { ...held.meta, renewedAt: now, expiresAt: now + lease };
      await this.#store.keep(clusterId, { kind: "lease", meta });
      // Its lease may have run out while the renewal was being kept.
      if (this.#clusters.live.get(clusterId) !== held) throw new GenerationMismatch(undefined);
      held.meta = meta;
      this.#precedence.heard(clusterId, now);
      this.#clusters.leasesChanged();
      this.#compiler.renew(this.#clusters.live);
      this.#watchLeases();
      return held.acknowledgement();
    });
  }

  /** Forgets a cluster on its own wish; false where it was not known. */
  async leave(clusterId: string): Promise<boolean> {
    const known = await this.#queue.run(clusterId, async () => {
      await this.#precedence.parted(clusterId);
      await this.#store.remove(clusterId);
      return this.#clusters.leave(clusterId);
    });
    if (!known) return false;
    this.#onEvent({ event: "left", clusterId });
    this.#watchLeases();
    await this.#schedule.request();
    return true;
  }

  /**
   * What is answered from at `now` (Unix milliseconds): without clusters whose lease is over by then.
   * Undefined while names cannot be denied: nothing is loaded, or every cluster died.
   */
  current(now: number): ServedZone<Image> | undefined {
    if (now >= this.#clusters.nextExpiry) this.#expire(now);
    return this.#ready && !this.#clusters.unknown ? this.#compiler.served : undefined;
  }

  /**
   * Answers one DNS message.
   * @param view the cluster id of the asker, or the view of a place (`placeView`); undefined for outside
   * @param now Unix milliseconds
   * @param transport how the answer travels; DNS over HTTPS unless told
   * @returns undefined where `query` is no DNS query at all
   */
  answer(
    query: Uint8Array,
    view: string | undefined,
    now: number,
    transport?: Transport,
  ): Answer | undefined {
    const served = this.current(now);
    if (served === undefined) return this.#stages.notReady(query, { view, transport });
    const { image, leaseExpiry } = served;
    return this.#stages.resolve(query, { image, leaseExpiry, view, now, transport, stale: false });
  }

  /** Whether a cluster has pushed and has not left. */
  hasCluster(clusterId: string): boolean {
    return this.#clusters.has(clusterId);
  }

  status(): GatewayStatus {
    const current = this.current(this.#clock.now());
    const { served, error } = this.#compiler;
    return {
      ready: current !== undefined,
      imageHash: served?.image.contentHash,
      imageBytes: served?.image.bytes.length ?? 0,
      services: served?.services ?? 0,
      clusters: this.#clusters.statuses(),
      conflicts: served?.conflicts ?? [],
      findings: served?.findings ?? [],
      ...(error === undefined ? {} : { compileError: error }),
    };
  }

  /** Lets pushes in progress end, then closes the store. What is served goes on being served. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#leases.stop();
    await this.#queue.idle();
    await this.#store.close();
  }

  async #change(clusterId: string, change: (now: number) => Promise<HeldCluster>): Promise<Acknowledgement> {
    const cluster = await this.#queue.run(clusterId, () => change(this.#expireNow()));
    const acknowledgement = cluster.acknowledgement();
    await this.#schedule.request();
    return acknowledgement;
  }

  #hold(clusterId: string, cluster: HeldCluster, kind: "snapshot" | "patch"): void {
    this.#clusters.set(clusterId, cluster);
    this.#watchLeases();
    this.#onEvent({ event: "pushed", clusterId, generation: cluster.meta.generation, kind });
  }

  #heldAt(clusterId: string, generation: number): HeldCluster {
    const held = this.#clusters.live.get(clusterId);
    if (held?.meta.generation !== generation) throw new GenerationMismatch(held?.meta.generation);
    return held;
  }

  // Never below the clock: a gateway that lost its state must not take a delta for another state.
  #nextMeta(clusterId: string, now: number, lease: number): ClusterMeta {
    const generation = Math.max(this.#clusters.generationOf(clusterId) + 1, now);
    return { generation, pushedAt: now, renewedAt: now, expiresAt: now + lease };
  }

  #admit(clusterId: string): void {
    const { mostClusters } = this.#limits;
    if (this.#clusters.live.has(clusterId)) return;
    if (this.#clusters.live.size + this.#arriving.size >= mostClusters)
      throw new PushRefused(
        "TOO_MANY_CLUSTERS",
        `the gateway holds its most of ${mostClusters} clusters already`,
      );
    this.#arriving.add(clusterId);
  }

  #compile(): void {
    this.#compiler.compile(this.#clusters.live, this.#precedence);
    if (this.#clusters.unknown) this.#ready = false;
    else if (this.#compiler.error === undefined) this.#ready = true;
  }

  /** Drops clusters whose lease is over. @returns the time now */
  #expireNow(): number {
    const now = this.#clock.now();
    if (now >= this.#clusters.nextExpiry) this.#expire(now);
    return now;
  }

  #expire(now: number): void {
    this.#remove(this.#clusters.takeExpired(now));
    this.#schedule.runNow();
    this.#watchLeases();
  }

  #remove(expired: readonly HeldCluster[]): void {
    for (const { snapshot, meta } of expired) {
      const { clusterId } = snapshot;
      this.#onEvent({ event: "lease-ran-out", clusterId, expiredAt: meta.expiresAt });
      this.#queue
        .run(clusterId, async () => {
          // It may have pushed again before its turn.
          if (this.#clusters.live.has(clusterId)) return;
          await this.#precedence.parted(clusterId);
          await this.#store.remove(clusterId);
        })
        .catch((error) => this.#onEvent({ event: "removal-failed", clusterId, error }));
    }
  }

  #watchLeases(): void {
    if (!this.#closed) this.#leases.watch(this.#clusters.nextExpiry);
  }
}
