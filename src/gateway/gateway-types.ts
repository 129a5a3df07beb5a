import type { ClusterMeta } from "../database/schema.ts";
import { type StoreError, storeFailure } from "../database/store-error.ts";
import type { KeyWorld } from "../names/key-world.ts";
import type { Transport } from "../resolve/message-writer.ts";
import type { Answer, Leases } from "../resolve/record-writer.ts";
import type { AnswerContext } from "../resolve/resolve.ts";
import type { Degradation } from "../snapshot/report.ts";
import { type Clock, unixTime } from "./clock.ts";
import type { Survey } from "./survey.ts";

/** What the gateway says of an accepted push or renewal. Times are Unix milliseconds. */
export interface Acknowledgement {
  readonly clusterId: string;
  readonly generation: number;
  readonly expiresAt: number;
}

/**
 * One cluster, live or with its lease run out, for status pages, metrics and the JSON API. Times are those of
 * the gateway's clock.
 */
export interface ClusterStatus extends Omit<ClusterMeta, "uptime" | "instance"> {
  readonly clusterId: string;
  /** Whether its lease runs, and what it pushed is in the answers. */
  readonly live: boolean;
  /** Undefined where they are not counted yet, or not on this host. */
  readonly exports?: number | undefined;
  readonly imports?: number | undefined;
}

/** What can be said of what is served, wherever it was compiled. */
export interface ServingStatus {
  /** True once a first snapshot is loaded and at least one cluster is live (or all left on purpose). */
  readonly ready: boolean;
  /** Hash of all rows of live clusters (hex); for clients that see everything alone. */
  readonly stateHash: string | undefined;
  /** Bytes of compiled keys in memory; for clients that see everything alone, 0 for others. */
  readonly compiledBytes: number;
  /** Undefined where they are not counted yet, or not on this host. */
  readonly services?: number | undefined;
  readonly clusters: readonly ClusterStatus[];
  /**
   * Clusters that may push, and of which nothing is known; absent where that is not known of any. Not part of
   * a transfer.
   */
  readonly neverSeen?: readonly string[];
  /**
   * Where answers say that they are stale: when what is answered from was last known to be what the primary
   * serves, in Unix milliseconds.
   */
  readonly staleSince?: number;
  /** The newest entry of the shared log that the generation has; absent where no log is shared. */
  readonly position?: number;
  /**
   * Why, and since when (Unix milliseconds), changes cannot be stored: what is in memory is served, and new
   * changes are refused.
   */
  readonly storeTrouble?: StoreTrouble;
  /**
   * Where answers say that they are stale: since when a change waits that the primary's answers should have,
   * in Unix milliseconds.
   */
  readonly behindSince?: number;
  /** Why a secondary could not take over the newest state of its primary: an older one is served, or none. */
  readonly transferError?: string;
}

/**
 * The clusters that may push, and of which nothing is known: a worker that was never started, or a wrong
 * cluster id, shows nowhere else.
 */
export function neverSeen(
  clusterIds: readonly string[],
  isKnown: (clusterId: string) => boolean,
): Pick<ServingStatus, "neverSeen"> {
  if (clusterIds.length === 0) return {};
  return { neverSeen: [...new Set(clusterIds)].sort().filter((id) => !isKnown(id)) };
}

/** The client of a full push, or of a leave: such a request replaces whatever generation there is. */
export interface Sender {
  /** Aborts when it goes. */
  readonly signal?: AbortSignal | undefined;
  /** The newest generation of its cluster that it knows; undefined if it does not say. */
  readonly after?: number | undefined;
  /** What it reads; undefined if it does not say. */
  readonly instance?: string | undefined;
}

/** The client of a full push, or of a leave, closed its request before the gateway took it. */
export class SenderGone extends Error {
  readonly code = "CLIENT_GONE";
}

/**
 * Rejects a request of a client which may have sent a newer one to another gateway since: this one would
 * bring back an older state. So it is called last, when it is decided what the request replaces. That the
 * client has gone may be learned late, or never; a generation that is newer than what it knew says it for
 * certain.
 * @param held the generation that is held; or, where that matters, the newest one that left
 * @throws {SenderGone} @throws {GenerationMismatch}
 */
export function refuseLate(
  { signal, after }: Sender,
  held: { readonly generation?: number | undefined; readonly left?: number | undefined },
): void {
  if (signal?.aborted) throw new SenderGone("the client has gone");
  if (after === undefined) return;
  const { generation, left } = held;
  if (generation !== undefined && generation > after)
    throw new GenerationMismatch(
      generation,
      `generation ${generation} is held, and the request came after a newer one`,
    );
  if (generation === undefined && left !== undefined && left > after)
    throw new GenerationMismatch(
      left,
      `the cluster left with generation ${left}, and the request came after that`,
    );
}

/** A push that names a generation that the gateway does not hold: the worker sends a full snapshot next. */
export class GenerationMismatch extends Error {
  readonly code = "GENERATION_MISMATCH";
  /**
   * The newest generation of the cluster: the one that is held, or with which it left, where that is why;
   * undefined for none.
   */
  readonly current: number | undefined;

  /** @param why default: another generation is held than the one that is named, or none */
  constructor(current: number | undefined, why = whatIsHeld(current)) {
    super(`${why}: send a full snapshot with PUT`);
    this.current = current;
  }
}

function whatIsHeld(generation: number | undefined): string {
  return generation === undefined
    ? "no snapshot of this cluster is held"
    : `generation ${generation} is held, not the one named`;
}

/** What the gateway tells logs and metrics. */
export type GatewayEvent =
  | {
      readonly event: "pushed";
      readonly clusterId: string;
      readonly generation: number;
      readonly kind: "snapshot" | "patch";
    }
  | { readonly event: "left"; readonly clusterId: string }
  /**
   * A cluster's worker reports something else that keeps it from reading all of the cluster than what was
   * logged last. @see ReportLog
   */
  | {
      readonly event: "worker-degraded";
      readonly clusterId: string;
      readonly degraded: readonly Omit<Degradation, "seconds">[];
    }
  | { readonly event: "worker-recovered"; readonly clusterId: string }
  /** A second worker pushes for a cluster: it is rejected while the first one holds the lease. */
  | {
      readonly event: "other-instance";
      readonly clusterId: string;
      readonly holder: string;
      readonly instance: string;
    }
  | { readonly event: "other-instance-gone"; readonly clusterId: string; readonly instance: string }
  | { readonly event: "lease-expired"; readonly clusterId: string; readonly expiredAt: number }
  /**
   * A row of a cluster is not what was written: the cluster leaves the answers until its worker pushes in
   * full.
   */
  | { readonly event: "rows-damaged"; readonly cluster: string; readonly key?: string | undefined }
  /** What is desired of a service could not be derived: streams that have it go on with what they have. */
  | { readonly event: "desired-failed"; readonly error: unknown }
  /** Nothing can be stored: changes are refused, what is in memory is answered. */
  | { readonly event: "store-failed"; readonly clusterId: string; readonly error: unknown }
  | { readonly event: "store-works-again" }
  /** The shared log cannot be read: what is held is answered, changes are refused. */
  | { readonly event: "log-not-followed"; readonly reason: string }
  | { readonly event: "log-followed-again" }
  /**
   * The shared log does not go on from what was applied: what it has now was taken over. @see
   * LogFollower.reload
   */
  | { readonly event: "log-reloaded"; readonly lost: boolean }
  /**
   * What the shared log has of a cluster is not valid: what is held of it stays, and its worker pushes in
   * full.
   */
  | { readonly event: "log-damaged"; readonly clusterId: string; readonly error: unknown };

/** Takes the gateway's events; must not throw. */
export type OnGatewayEvent = (event: GatewayEvent) => void;

const WARNINGS: ReadonlySet<GatewayEvent["event"]> = new Set([
  "worker-degraded",
  "other-instance",
  "lease-expired",
  "rows-damaged",
  "store-works-again",
  "log-not-followed",
  "log-followed-again",
  "log-reloaded",
]);

/** The level at which an event is logged. */
export function levelOf(event: GatewayEvent): "error" | "warn" | "info" {
  if ("error" in event) return "error";
  return WARNINGS.has(event.event) ? "warn" : "info";
}

/** Why what clusters push cannot be stored now. */
export interface StoreTrouble {
  /** What the system said, without paths. */
  readonly reason: string;
  /** Since when, in Unix milliseconds. */
  readonly since: number;
}

/**
 * Knows whether the store can be written. A full or failing disk makes changes impossible, and must not take
 * live clusters out of the answers: what is in memory needs no disk. Healthy again as soon as every cluster
 * whose write failed has written something, or has nothing left to write.
 */
export class StoreHealth {
  readonly #clock: Clock;
  readonly #onEvent: OnGatewayEvent;
  readonly #waits: (clusterId: string) => boolean;
  /** By the cluster whose last write failed. */
  readonly #failing = new Set<string>();
  #trouble: StoreTrouble | undefined;

  /**
   * @param waits whether a cluster whose write failed is going to write again: it is live, or to be removed
   */
  constructor(clock: Clock, onEvent: OnGatewayEvent, waits: (clusterId: string) => boolean) {
    this.#clock = clock;
    this.#onEvent = onEvent;
    this.#waits = waits;
  }

  /** Undefined while everything can be stored. */
  get trouble(): StoreTrouble | undefined {
    return this.#trouble;
  }

  /**
   * Writes something for a cluster.
   * @throws {StoreError} STORE_FULL, STORE_FAILED where the disk fails; other errors as they are
   */
  async must<Result>(clusterId: string, write: () => Promise<Result>): Promise<Result> {
    try {
      const result = await write();
      this.works(clusterId);
      return result;
    } catch (error) {
      throw this.#failed(clusterId, error) ?? error;
    }
  }

  /** Notes that something of a cluster was stored. */
  works(clusterId: string): void {
    if (this.#trouble === undefined) return;
    this.#failing.delete(clusterId);
    for (const other of this.#failing) if (!this.#waits(other)) this.#failing.delete(other);
    if (this.#failing.size > 0) return;
    this.#trouble = undefined;
    this.#onEvent({ event: "store-works-again" });
  }

  #failed(clusterId: string, error: unknown): StoreError | undefined {
    const failure = storeFailure(error);
    if (failure === undefined) return undefined;
    this.#failing.add(clusterId);
    if (this.#trouble === undefined) {
      this.#trouble = { reason: failure.message, since: unixTime(this.#clock, this.#clock.now()) };
      this.#onEvent({ event: "store-failed", clusterId, error });
    }
    return failure;
  }
}

/** What the DNS routes need of the gateway. */
export interface DohGateway {
  /**
   * Answers one DNS message. The bytes of `query` are only lent: they are overwritten by the next query.
   * @param view the cluster id of the client, or the view of a place (`localityView`); undefined for outside
   * @param now Unix milliseconds
   * @param transport how the answer travels; DNS over HTTPS unless given
   * @returns undefined where `query` is no DNS query at all; a promise where a part of what is answered from
   * has to come into memory first
   */
  answer(
    query: Uint8Array,
    view: string | undefined,
    now: number,
    transport?: Transport,
  ): Answer | undefined | Promise<Answer | undefined>;
  /**
   * Whether there is a view of that cluster: it has pushed and has not left. Called for every query by path.
   */
  hasCluster(clusterId: string): boolean;
  status(): ServingStatus;
}

/** The client of a query, and how the query came. */
export interface QueryContext {
  /** The cluster id of the client, or the view of a place (`localityView`); undefined for outside. */
  readonly view: string | undefined;
  /** How the answer travels. Default: over HTTPS. */
  readonly transport?: Transport | undefined;
}

/** Answers one DNS message, with the settings of the gateway. Undefined where it is no DNS query at all. */
export interface QueryStages {
  /** @throws {MissingPart} if a part of the world has to come into memory first */
  resolve(query: Uint8Array, context: AnswerContext): Answer | undefined;
  /** The answer while nothing is known: SERVFAIL. */
  notReady(query: Uint8Array, context?: QueryContext): Answer | undefined;
}

/** What is answered from in a scope. */
export interface ServedWorld {
  readonly world: KeyWorld;
  readonly leases: Leases;
}

/** What a survey found. */
export type Surveyed = Pick<Survey, "conflicts" | "findings" | "services">;

/**
 * A gateway as far as things exist in a scope: what it says of clusters, services and itself knows of nothing
 * else.
 */
export interface ScopedGateway extends DohGateway {
  /**
   * What is answered from at `now` (Unix milliseconds, default: now). Undefined while names cannot be denied:
   * nothing was pushed, or every lease expired.
   */
  current(now?: number): ServedWorld | undefined;
  /**
   * Calls a function with what `current` returns. If it needs a large key, that key is compiled in turns with
   * other work, and the function is called again.
   * @param use called with undefined, too, if too many calls wait for large keys
   */
  withNames<Result>(
    use: (served: ServedWorld | undefined, now: number) => Result,
    now?: number,
  ): Result | Promise<Result>;
  /**
   * Conflicts, findings and the number of services, as of now; or, where that takes more than 2 s, as of the
   * last time: undefined if there was none.
   */
  survey(): Promise<Surveyed | undefined>;
}
