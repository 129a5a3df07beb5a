import type { LogRow } from "../database/reader.ts";
import { type Clock, waitingClock } from "../gateway/clock.ts";
import {
  type DohGateway,
  neverSeen,
  type QueryContext,
  type QueryStages,
  type ServingStatus,
} from "../gateway/gateway-types.ts";
import { EVERYTHING, type Visibility, visibilityKey } from "../merge/visibility.ts";
import type { Mark } from "../names/key-changes.ts";
import type { ServiceSearch } from "../names/services.ts";
import type { Transport } from "../resolve/message-writer.ts";
import { type Answer, LeaseTables, withoutShortcut } from "../resolve/record-writer.ts";
import { sleep, within } from "./http-source.ts";
import { PartCache, type PartMemory } from "./part-cache.ts";
import { PartFetcher } from "./part-fetcher.ts";
import {
  changesAfter,
  markText,
  readChanges,
  readServices,
  readWorld,
  type SentServices,
  type SentWorld,
} from "./part-forms.ts";
import { ReaderWorld, ToFetch, wantedKey } from "./reader-world.ts";
import {
  type Attempt,
  DEFAULT_REFRESH_POLICY,
  type RefreshPolicy,
  RefreshSchedule,
} from "./refresh-schedule.ts";
import type { OnTransferEvent, TransferSource, TransferState } from "./transfer-state.ts";

/** Keeps work going whose result is not awaited, as `waitUntil` of a Worker does. The work never rejects. */
export type Background = (work: Promise<void>) => void;

/** What a secondary is put together from. */
export interface SecondaryOptions {
  readonly source: TransferSource;
  readonly stages: QueryStages;
  /** Holds the parts that queries needed; several secondaries may share it. */
  readonly memory: PartMemory;
  /** The scope that the source gives; its view is that of the client. Default: everything. */
  readonly scope?: Visibility;
  /**
   * The clusters that may push: a status names those of which the primary knows nothing. Default: none is
   * named.
   */
  readonly clusterIds?: readonly string[] | undefined;
  /** Default: `DEFAULT_REFRESH_POLICY`. */
  readonly policy?: RefreshPolicy;
  readonly onEvent?: OnTransferEvent;
  /** Default: the host's, whose timers keep the process alive: each of them ends when what it bounds does. */
  readonly clock?: Clock;
  /** At least 0, below 1. */
  readonly random?: () => number;
}

/** What is answered from. */
interface Served {
  readonly state: TransferState;
  /** When the primary reported it, in Unix milliseconds. */
  readonly asOf: number;
  /** Undefined where the primary is not ready. */
  readonly world: ReaderWorld | undefined;
  readonly leases: LeaseTables;
  readonly clusters: ReadonlySet<string>;
}

/** Pauses of a query that waits for what another one requested, in milliseconds: they double. */
const FIRST_PAUSE = 5;
const LONGEST_PAUSE = 80;
/** Parts that one query may wait for: those of a CNAME chain, and lists. */
const MOST_PARTS = 24;
/** Milliseconds until it is said again that parts cannot be had. */
const SAID_AGAIN = 1000;
/** How often a query finds that the primary does not have a part any more. */
const MOST_GONE = 3;

/**
 * Answers from what a primary compiles, without a database: a part is fetched when a query first needs it,
 * and kept until the primary's log names it. What it answers without saying that it is stale was served by
 * the primary at most `limit` ago (`RefreshPolicy` has the arithmetic).
 *
 *     const fresh = secondary.freshen(Date.now(), (work) => context.waitUntil(work));
 *     if (fresh !== undefined) await fresh;
 *     const answer = await secondary.answer(query, view, Date.now());
 */
export class Secondary implements DohGateway {
  readonly #source: TransferSource;
  readonly #stages: QueryStages;
  readonly #view: string | undefined;
  readonly #clusterIds: readonly string[];
  readonly #policy: RefreshPolicy;
  readonly #onEvent: OnTransferEvent;
  readonly #clock: Clock;
  readonly #schedule: RefreshSchedule;
  readonly #fetcher: PartFetcher;
  readonly #log: FollowedLog;
  #served: Served | undefined;
  #saidUnavailable = Number.NEGATIVE_INFINITY;
  #error: string | undefined;
  #saidStale = false;
  /** When the primary acknowledged a change that what is here may lack. */
  #changedAt: number | undefined;

  constructor(options: SecondaryOptions) {
    const { source, stages, memory, clock = waitingClock, random = Math.random } = options;
    const { scope = EVERYTHING, onEvent = () => {} } = options;
    this.#source = source;
    this.#stages = stages;
    this.#view = scope.view;
    this.#clusterIds = options.clusterIds ?? [];
    this.#policy = options.policy ?? DEFAULT_REFRESH_POLICY;
    this.#onEvent = onEvent;
    this.#clock = clock;
    this.#schedule = new RefreshSchedule(this.#policy, random);
    const timeout = this.#policy.partTimeout;
    this.#fetcher = new PartFetcher({ source, scope: visibilityKey(scope), clock, timeout, onEvent });
    this.#log = new FollowedLog(this.#fetcher, memory);
  }

  /**
   * To be called before each query is answered; it is cheap. Starts a refresh where one is due.
   * @param now Unix milliseconds
   * @param background takes work that outlives this query; belongs to the request that the query came with.
   * Default: work just goes on, as it does in a process that lives
   * @returns a promise to await before answering, where what is here is too old. It never rejects.
   */
  freshen(now: number, background: Background = () => {}): Promise<void> | undefined {
    const schedule = this.#schedule;
    if (schedule.isYoung(now) && this.#changedAt === undefined) return undefined;
    if (this.#isWanting(now)) {
      if (schedule.isBackingOff(now)) return undefined;
      const wait = this.#served === undefined ? this.#policy.firstWait : this.#policy.wait;
      return this.#untilFresh(this.#clock.now() + wait, background);
    }
    if (schedule.mayAsk(now, false)) background(this.#refresh());
    return undefined;
  }

  /**
   * To be called after a change that the primary acknowledged: the next query waits for a state that has it.
   * @param now Unix milliseconds
   */
  expire(now: number): void {
    this.#changedAt = now;
  }

  answer(
    query: Uint8Array,
    given: string | undefined,
    now: number,
    transport?: Transport,
  ): Answer | undefined | Promise<Answer | undefined> {
    const client = { view: this.#view ?? given, transport };
    const answer = this.#tryAnswer(query, client, now);
    return answer instanceof ToFetch ? this.#answerLater(query.slice(), client, answer) : answer;
  }

  /** @param acceptsOld whether parts count that are known to be old: the answer says that it is stale */
  #tryAnswer(
    query: Uint8Array,
    client: QueryContext,
    now: number,
    acceptsOld = false,
  ): Answer | ToFetch | undefined {
    const served = this.#served;
    if (served?.world === undefined) return this.#stages.notReady(query, client);
    const stale = this.#schedule.isStale(now);
    if (stale !== this.#saidStale) this.#sayStale(stale);
    const { world, leases } = served;
    const isOld = acceptsOld || served.state.status.behindSince !== undefined;
    const context = {
      ...client,
      world,
      leases: isOld ? withoutShortcut(leases, world.frame) : leases,
      now,
      stale: stale || isOld,
    };
    world.acceptsOld = acceptsOld;
    try {
      return this.#stages.resolve(query, context);
    } catch (error) {
      if (error instanceof ToFetch) return error;
      throw error;
    } finally {
      world.acceptsOld = false;
    }
  }

  /**
   * Answers a query once what it needs is in memory. Where that cannot be had, from what is there, or with
   * SERVFAIL.
   */
  async #answerLater(query: Uint8Array, client: QueryContext, first: ToFetch): Promise<Answer | undefined> {
    const fromOld = () => {
      const old = this.#tryAnswer(query, client, this.#clock.now(), true);
      return old instanceof ToFetch ? undefined : old;
    };
    const old = this.#schedule.isBackingOff(this.#clock.now()) ? fromOld() : undefined;
    if (old !== undefined) return old;
    let { part } = first;
    let gone = 0;
    const begun = this.#clock.now();
    try {
      for (let parts = 0; parts < MOST_PARTS; parts++) {
        const isThere = "load" in part && (await this.#fetcher.bring(part, this.#log.cache!));
        if (!isThere) {
          if (++gone === MOST_GONE) throw new Error("the primary does not have the part any more");
          await this.#replaced();
        }
        const answer = this.#tryAnswer(query, client, this.#clock.now());
        if (!(answer instanceof ToFetch)) return answer;
        // It changed again meanwhile.
        const late = this.#clock.now() - begun > this.#policy.wait ? fromOld() : undefined;
        if (late !== undefined) return late;
        part = answer.part;
      }
      throw new Error(`a query needs more than ${MOST_PARTS} parts`);
    } catch (error) {
      this.#sayUnavailable(part.hash, error);
      return fromOld() ?? this.#stages.notReady(query, client);
    }
  }

  /** A primary that is down would be a line in the log for each query. */
  #sayUnavailable(part: string, error: unknown): void {
    const now = this.#clock.now();
    if (Math.abs(now - this.#saidUnavailable) < SAID_AGAIN) return;
    this.#saidUnavailable = now;
    this.#onEvent({ event: "part-unavailable", part, error });
  }

  /** Waits for a newer state. */
  async #replaced(): Promise<void> {
    const now = this.#clock.now();
    this.expire(now);
    await this.freshen(now);
  }

  hasCluster(clusterId: string): boolean {
    if ((this.#view ?? clusterId) !== clusterId) return false;
    // As long as nothing is known, nothing is denied: the answer is SERVFAIL.
    return this.#served?.clusters.has(clusterId) ?? true;
  }

  /** What is answered from, while there is something. */
  get world(): ReaderWorld | undefined {
    return this.#served?.world;
  }

  /** A part of the list of services, as the primary has it; undefined where it cannot be had. */
  async services({ words, view, offset, most }: ServiceSearch): Promise<SentServices | undefined> {
    const { cache } = this.#log;
    if (cache === undefined) return undefined;
    const of = {
      words: words.join(" "),
      view: this.#view ?? view ?? "",
      offset: String(offset),
      most: String(most),
    };
    const version = markText(cache.changes.newest);
    try {
      return (await this.#fetcher.fetch({ kind: "services", of }, version, cache.epoch, readServices))?.value;
    } catch (error) {
      this.#onEvent({ event: "part-unavailable", part: "services", error });
      return undefined;
    }
  }

  status(): ServingStatus {
    const error = this.#error === undefined ? {} : { transferError: this.#error };
    const served = this.#served;
    if (served === undefined)
      return { ready: false, stateHash: undefined, compiledBytes: 0, services: 0, clusters: [], ...error };
    const stale = this.#schedule.isStale(this.#clock.now()) ? { staleSince: served.asOf } : {};
    const { stateHash, ...status } = served.state.status;
    const unseen =
      stateHash === undefined ? {} : neverSeen(this.#clusterIds, (id) => served.clusters.has(id));
    return { ...status, stateHash, ...unseen, ...stale, ...error } as ServingStatus;
  }

  /**
   * Whether a query does better to wait for the newest state: what is here is too old, is older than a change
   * that somebody here knows of, or leaves nothing to answer.
   */
  #isWanting(now: number): boolean {
    const schedule = this.#schedule;
    if (schedule.isStale(now) || this.#changedAt !== undefined) return true;
    return this.#served?.world === undefined && !schedule.isYoung(now);
  }

  /** Refreshes, or waits for a refresh that is in flight. */
  async #untilFresh(deadline: number, background: Background): Promise<void> {
    const schedule = this.#schedule;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, pause * 2)) {
      const now = this.#clock.now();
      const left = deadline - now;
      if (left <= 0 || !this.#isWanting(now) || schedule.isBackingOff(now)) return;
      if (schedule.mayAsk(now, true)) {
        const refresh = this.#refresh();
        background(refresh);
        return sleep(this.#clock, left, refresh);
      }
      await sleep(this.#clock, Math.min(pause, left));
    }
  }

  async #refresh(): Promise<void> {
    const begun = this.#clock.now();
    const attempt = this.#schedule.begin(begun);
    // What several secondaries share has to be newer than what is here.
    const changedAt = this.#changedAt;
    const newerThan = changedAt ?? this.#schedule.asOf;
    const maximumAge = Math.min(this.#policy.refresh, Math.abs(begun - newerThan) - 1);
    try {
      const requestedAt = this.#clock.now();
      const state = await this.#requestState(attempt, Math.max(0, maximumAge));
      // No later than it was requested, should clocks differ a little.
      const asOf = Math.min(requestedAt, state.at);
      const now = this.#clock.now();
      if (!this.#schedule.isNews(asOf, now)) return this.#schedule.end(attempt);
      // Another gateway with the same log is behind; or the log was set back: that counts once this is stale.
      if (this.#log.isAhead(state) && !this.#schedule.isStale(now))
        return this.#schedule.postpone(attempt, now);
      attempt.since = this.#clock.now();
      attempt.timeout = this.#policy.partTimeout;
      const news = state.status.ready ? await this.#log.fetch(state) : undefined;
      if (!this.#schedule.isNews(asOf, this.#clock.now())) return this.#schedule.end(attempt);
      if (news?.isOther && this.#log.cache !== undefined) this.#onEvent({ event: "log-replaced" });
      this.#take(state, asOf, news && this.#log.take(news));
      this.#schedule.succeeded(attempt, asOf);
      if (this.#changedAt === changedAt) this.#changedAt = undefined;
    } catch (error) {
      const retryIn = this.#schedule.failed(attempt, this.#clock.now());
      // Without one, the next attempt is already running.
      if (retryIn !== undefined) this.#failed(error, retryIn);
    }
  }

  #requestState(attempt: Attempt, maximumAge: number): Promise<TransferState> {
    const { stateTimeout, firstWait } = this.#policy;
    attempt.since = this.#clock.now();
    // Nothing is gained by giving up on a primary that starts, say, while there is nothing to answer from.
    const most = this.#log.cache === undefined ? Math.max(stateTimeout, firstWait) : stateTimeout;
    return within(this.#clock, most, "the primary did not send its state", (signal) =>
      this.#source.state(maximumAge, signal),
    );
  }

  #take(state: TransferState, asOf: number, world: ReaderWorld | undefined): void {
    const expiresAt = new Map(state.status.clusters.map((cluster) => [cluster.clusterId, cluster.expiresAt]));
    this.#served = {
      state,
      asOf,
      world,
      leases: new LeaseTables((clusterId) => expiresAt.get(clusterId)),
      clusters: new Set(expiresAt.keys()),
    };
    this.#error = undefined;
  }

  #failed(error: unknown, retryIn: number): void {
    this.#error = error instanceof Error ? error.message : String(error);
    this.#onEvent({ event: "transfer-failed", error, retryIn });
  }

  #sayStale(stale: boolean): void {
    this.#saidStale = stale;
    this.#onEvent(stale ? { event: "stale", since: this.#schedule.asOf } : { event: "fresh-again" });
  }
}

/**
 * Keys in use that changed and are fetched before a state is answered from; more of them wait for queries.
 */
const MOST_FOLLOWED = 64;
/**
 * How long each may take, in milliseconds: one cluster's large services never hold back the changes of
 * others.
 */
const FOLLOW_TIMEOUT = 300;

/** What a state says that is not known yet. */
interface News {
  readonly state: TransferState;
  /** Changes after those that are known; with `isOther` those since the base. */
  readonly rows: readonly LogRow[];
  /** Whether this is another log than the one before, or too much of it is not known. */
  readonly isOther: boolean;
  /** Undefined where it is the one before. */
  readonly world: SentWorld | undefined;
}

/** A primary's log in one scope, as far as a reader follows it, with what is answered from. */
export class FollowedLog {
  readonly #fetcher: PartFetcher;
  readonly #memory: PartMemory;
  #cache: PartCache | undefined;
  #world: { readonly hash: string; readonly world: ReaderWorld } | undefined;
  /** `recent` of the state before. */
  #recent: Mark | undefined;

  constructor(fetcher: PartFetcher, memory: PartMemory) {
    this.#fetcher = fetcher;
    this.#memory = memory;
  }

  /** Undefined before the first state. */
  get cache(): PartCache | undefined {
    return this.#cache;
  }

  /** Whether more of the log is known than a state has. */
  isAhead({ epoch, recent, changes }: TransferState): boolean {
    const cache = this.#cache;
    return cache?.epoch === epoch && recent.position + changes.length < cache.changes.newest.position;
  }

  /**
   * Fetches what a state names and is not here.
   * @throws {Error} where it cannot be had, or is not well-formed
   */
  async fetch(state: TransferState): Promise<News> {
    if (state.world === undefined) throw new Error("the primary is ready, but names no world");
    const rows = await this.#rowsAfterKnown(state);
    const isOther = rows === undefined;
    let world: SentWorld | undefined;
    if (isOther || this.#world?.hash !== state.world) {
      const name = { kind: "world", of: {} } as const;
      world = (await this.#fetcher.fetch(name, state.world, state.epoch, readWorld))?.value;
      if (world === undefined) throw new Error("the primary's world changed with each request");
    }
    const news = { state, rows: rows ?? (await this.#rowsAfter(state.base, state)), isOther, world };
    if (!isOther) await this.#follow(news.rows);
    return news;
  }

  /** Takes over what was fetched. @throws {Error} where the primary's settings are none */
  take({ state, rows, isOther, world }: News): ReaderWorld {
    // Another attempt may have taken over some of it.
    if (isOther || this.#cache === undefined)
      this.#cache = new PartCache(this.#memory, state.epoch, state.base);
    const cache = this.#cache;
    for (const row of rows) if (row.position === cache.changes.newest.position + 1) cache.changes.take(row);
    cache.base = state.base;
    this.#recent = state.recent;
    if (world !== undefined)
      this.#world = {
        hash: state.world!,
        world: new ReaderWorld(world, cache, isOther ? undefined : this.#world?.world),
      };
    const own = this.#world!.world;
    own.serial = state.serial ?? own.serial;
    return own;
  }

  /** The changes after the newest known one; undefined where what is known is of no use. */
  async #rowsAfterKnown(state: TransferState): Promise<readonly LogRow[] | undefined> {
    const cache = this.#cache;
    if (cache === undefined || cache.epoch !== state.epoch) return undefined;
    const { newest } = cache.changes;
    const from = newest.position >= state.recent.position ? state.recent : this.#recent!;
    let rows: readonly LogRow[];
    try {
      rows = await this.#rowsAfter(from, state);
    } catch (error) {
      if (error instanceof OtherLog) return undefined;
      throw error;
    }
    const known = newest.position === from.position ? from : rows[newest.position - from.position - 1];
    if (known?.generation !== newest.generation) return undefined;
    return rows.slice(newest.position - from.position);
  }

  /** The changes after a mark, up to a state. @throws {OtherLog} where the primary does not have them */
  async #rowsAfter(from: Mark, { recent, changes, epoch }: TransferState): Promise<readonly LogRow[]> {
    const newest = changesAfter(recent, changes);
    if (from.position >= recent.position) return newest.slice(from.position - recent.position);
    const name = { kind: "changes", of: { from: markText(from) } } as const;
    const before = await this.#fetcher.fetch(name, markText(recent), epoch, readChanges);
    if (before === undefined) throw new OtherLog("the primary's log has other changes by now");
    const rows = [...changesAfter(from, before.value), ...newest];
    if (before.value.length !== recent.position - from.position)
      throw new Error("the primary did not send all changes");
    return rows;
  }

  /** Fetches keys in use that changed, so that queries after the change do not wait. */
  async #follow(rows: readonly LogRow[]): Promise<void> {
    const cache = this.#cache!;
    const wanted = new Map(
      rows.flatMap((row) =>
        (row.keys ?? []).flatMap((key) =>
          ["clusterset", "federation", `local:${row.cluster}`].flatMap((zone) => {
            const slash = key.indexOf("/");
            if (slash < 1 || slash === key.length - 1) return [];
            const part = wantedKey(zone, key.slice(0, slash), key.slice(slash + 1), row);
            return cache.has(part.hash) ? [[part.hash, part] as const] : [];
          }),
        ),
      ),
    );
    const first = [...wanted.values()].slice(-MOST_FOLLOWED);
    // One that cannot be had is fetched when a query needs it.
    await Promise.allSettled(first.map((part) => this.#fetcher.load(part, cache, FOLLOW_TIMEOUT)));
  }
}

/** The primary does not have the changes that are needed. */
class OtherLog extends Error {}
