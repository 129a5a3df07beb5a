import type { KeyWorld } from "../names/key-world.ts";
import type { Answer } from "../resolve/answer.ts";
import type { Transport } from "../resolve/message-writer.ts";
import type { Leases } from "../resolve/record-writer.ts";
import type { World } from "../zone/world.ts";
import type { ServingStatus } from "./gateway-types.ts";
import type { Survey } from "./survey.ts";

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

/** What a query is answered from. */
export interface AnswerContext extends QueryContext {
  readonly world: World;
  readonly leases: Leases;
  /** Unix milliseconds. */
  readonly now: number;
  /** Whether the answer has to say that something newer may exist that could not be had. */
  readonly stale: boolean;
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
