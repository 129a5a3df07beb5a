import { LRUCache } from "lru-cache";
import type { AddressRange } from "../dns/address.ts";
import { ExtendedError, ResponseCode } from "../dns/name.ts";
import { type ClientBuckets, ClientRate, type Rate } from "../limits/client-rate.ts";
import type { Count } from "../limits/counters.ts";
import type { Query } from "../resolve/query.ts";
import { answerWith } from "../resolve/resolve.ts";
import { CachedAnswer, type TtlBounds, withRecursion } from "./cached-answer.ts";
import { ForwardCounters, type ForwardResult } from "./counters.ts";
import type { OutsideAnswer } from "./local.ts";
import type { PrivateAddresses } from "./private-addresses.ts";
import { type ScrubRules, scrubAnswer } from "./scrub.ts";
import { ExchangePlaces, SharedExchanges } from "./shared-exchanges.ts";
import { cacheKey, type Upstream, upstreamQuery } from "./upstream.ts";
import {
  type OnUpstreamChange,
  UpstreamGroup,
  type UpstreamLimits,
  type UpstreamReply,
} from "./upstream-group.ts";

/**
 * A waiting client gets a stale answer after this time, in milliseconds (RFC 8767 section 5, client response
 * timer).
 */
const CLIENT_RESPONSE_MILLISECONDS = 1800;
/**
 * The pause after a failed attempt to refresh a stale answer, in milliseconds (RFC 8767 section 5, failure
 * recheck timer).
 */
const RECHECK_MILLISECONDS = 30_000;

/** Answers from fresh cached answers of upstreams, else queries the upstreams. */
export class Forwarder {
  readonly counters: ForwardCounters;
  readonly #parts: ForwarderDependencies;
  readonly #upstreams: UpstreamGroup;
  readonly #clients: ClientRate;
  readonly #caches = new Map<string, LRUCache<string, CachedAnswer>>();
  readonly #exchanges: SharedExchanges<CachedAnswer>;

  constructor(parts: ForwarderDependencies) {
    const { settings, shared, counters = new ForwardCounters() } = parts;
    this.counters = counters;
    this.#parts = parts;
    const { queriesPerSecond: perSecond, burst, exempt } = settings.clients;
    // A client is an IPv4 address, or a /64, since a host chooses its addresses in one (RFC 4291 section
    // 2.5.4).
    const rate = { perSecond, burst, exempt, ipv4PrefixBits: 32, ipv6PrefixBits: 64, mostClients: 20_000 };
    this.#clients = new ClientRate(rate, undefined, shared?.buckets);
    this.#exchanges = new SharedExchanges(
      new ExchangePlaces(settings.limits.queriesInFlight, shared?.queries),
    );
    this.#upstreams = new UpstreamGroup(parts.upstreams, settings.limits, parts.onUpstreamChange, counters);
  }

  /** The number of cached answers, and their approximate size. */
  get cached(): { readonly answers: number; readonly bytes: number } {
    let [answers, bytes] = [0, 0];
    for (const cache of this.#caches.values()) {
      answers += cache.size;
      bytes += cache.calculatedSize;
    }
    return { answers, bytes };
  }

  /** The upstreams by name, and whether they are set aside after failures. */
  states(): ReturnType<UpstreamGroup["states"]> {
    return this.#upstreams.states();
  }

  /**
   * Answers a query. The caller may reuse the bytes of `message` after the call.
   * @param client the client's address
   * @param rule the name of the client's access rule: its clients share a cache
   * @param isOwnTarget whether the name is the target of one of the gateway's CNAME records, which may have
   * private addresses
   */
  answer(
    message: Uint8Array,
    query: Query,
    client: string | undefined,
    rule: string,
    isOwnTarget = false,
  ): OutsideAnswer | Promise<OutsideAnswer> {
    const key = isOwnTarget ? `${cacheKey(query)}target` : cacheKey(query);
    const cache = this.#cacheOf(rule);
    const now = performance.now();
    const kept = cache.get(key);
    if (kept?.isFreshAt(now)) return this.#give(message, query, kept, "hit");
    const stale = kept?.isStaleAt(now, this.#parts.settings.cache.staleSeconds * 1000) ? kept : undefined;
    if (stale !== undefined && this.#hasJustFailed(stale, now))
      return this.#give(message, query, stale, "stale");
    const exchangeKey = this.#parts.coalesce === false ? undefined : `${rule}\n${key}`;
    const retryAfter = this.#clients.take(client);
    const exchange =
      retryAfter > 0
        ? undefined
        : this.#exchanges.joinOrStart(exchangeKey, (signal) =>
            this.#ask(query, isOwnTarget, cache, key, signal),
          );
    if (exchange === undefined)
      return stale === undefined
        ? this.#refuse(message, query, retryAfter)
        : this.#give(message, query, stale, "stale");
    const { answer: fetched, signal, isJoined } = exchange;
    if (!isJoined) this.#parts.background?.(fetched);
    const own = message.slice();
    const result = () => (signal.aborted ? "overloaded" : isJoined ? "coalesced" : "miss");
    if (stale === undefined) return fetched.then((answer) => this.#give(own, query, answer, result()));
    return this.#orStale(fetched, stale).then((answer) =>
      this.#give(own, query, answer, answer === stale ? "stale" : result()),
    );
  }

  /**
   * The cached answers for the clients of one access rule. From an age, a TTL that counts down, a cached
   * error or a fast answer the clients of one rule could learn what others have queried. All caches have the
   * same share of the bytes, so the clients of one rule cannot fill the cache of another.
   */
  #cacheOf(rule: string): LRUCache<string, CachedAnswer> {
    let cache = this.#caches.get(rule);
    if (cache === undefined) {
      const { bytes, rules = 1 } = this.#parts.settings.cache;
      cache = new LRUCache({
        maxSize: Math.max(1, Math.floor(bytes / Math.max(1, rules))),
        sizeCalculation: ({ size }, key) => size + 2 * key.length,
      });
      this.#caches.set(rule, cache);
    }
    return cache;
  }

  #give(message: Uint8Array, query: Query, kept: CachedAnswer, result: ForwardResult): OutsideAnswer {
    this.counters.results.hit(result);
    const now = performance.now();
    const isStale = result === "stale";
    const answer = kept.answer(message, query, now, isStale);
    const { upstream } = kept;
    return {
      answer,
      origin: { upstream, ageSeconds: result === "hit" || isStale ? kept.ageAt(now) : 0, isStale },
    };
  }

  /**
   * The answer to a query that may not wait for upstreams.
   * @param retryAfter seconds until its client may send one again; 0 if there is no place
   */
  #refuse(message: Uint8Array, query: Query, retryAfter: number): OutsideAnswer {
    const isLimited = retryAfter > 0;
    this.counters.results.hit(isLimited ? "limited" : "overloaded");
    const answer = isLimited
      ? answerWith(message, query, ResponseCode.REFUSED, ExtendedError.PROHIBITED)
      : answerWith(message, query, ResponseCode.SERVFAIL, ExtendedError.OTHER);
    return {
      answer: { ...answer, bytes: withRecursion(answer.bytes) },
      ...(isLimited && { retryAfter }),
    };
  }

  async #ask(
    query: Query,
    isOwnTarget: boolean,
    cache: LRUCache<string, CachedAnswer>,
    key: string,
    signal: AbortSignal,
  ): Promise<CachedAnswer> {
    const found = await this.#fetch(query, isOwnTarget, signal);
    const given = found ?? new CachedAnswer(undefined, this.#parts.settings.cache, performance.now());
    if (!signal.aborted) this.#keep(cache, key, given, found === undefined);
    return given;
  }

  /**
   * The answer of an upstream; undefined if none answered, or if its answer cannot be used. Never rejects.
   */
  async #fetch(query: Query, isOwnTarget: boolean, signal: AbortSignal): Promise<CachedAnswer | undefined> {
    try {
      const given = await this.#upstreams.ask(upstreamQuery(query), signal);
      const reply = given && this.#scrub(given, isOwnTarget);
      return reply && new CachedAnswer(reply, this.#parts.settings.cache, performance.now());
    } catch (error) {
      this.#parts.onError?.(error);
      return undefined;
    }
  }

  /**
   * The answer without the records that an upstream has no authority for; undefined if it does not fit into a
   * message.
   */
  #scrub({ answer, upstream }: UpstreamReply, isOwnTarget: boolean): UpstreamReply | undefined {
    const { isOurs, privateAddresses, trustedUpstreams } = this.#parts.scrubbing;
    const isPrivate =
      isOwnTarget || trustedUpstreams.has(upstream)
        ? () => false
        : (address: Uint8Array) => privateAddresses.isPrivate(address);
    const isTrusted = (name: string) => privateAddresses.isTrusted(name);
    const scrubbed = scrubAnswer(answer, { isOurs, isPrivate, isTrusted });
    for (const [reason, count] of scrubbed?.dropped ?? []) this.counters.droppedRecords.hit(reason, count);
    return scrubbed && { answer: scrubbed.answer, upstream };
  }

  /**
   * Whether it is too early for another attempt. If the upstream has answered other queries since, it is not.
   */
  #hasJustFailed({ failedCheck }: CachedAnswer, now: number): boolean {
    if (failedCheck === undefined || now >= failedCheck.at + RECHECK_MILLISECONDS) return false;
    return !failedCheck.isSilence || this.#upstreams.answeredAt <= failedCheck.at;
  }

  #keep(cache: LRUCache<string, CachedAnswer>, key: string, answer: CachedAnswer, isSilence: boolean): void {
    const now = performance.now();
    const before = cache.peek(key);
    if (answer.isFailure && before?.isStaleAt(now, this.#parts.settings.cache.staleSeconds * 1000))
      before.failedCheck = { at: now, isSilence };
    else if (answer.isCacheable) cache.set(key, answer);
    else cache.delete(key);
  }

  /**
   * The new answer, or the stale one if that takes too long or fails. A late new answer still goes into the
   * cache.
   */
  #orStale(fetched: Promise<CachedAnswer>, stale: CachedAnswer): Promise<CachedAnswer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve(stale), CLIENT_RESPONSE_MILLISECONDS);
      fetched.then((answer) => {
        clearTimeout(timer);
        resolve(answer.isFailure ? stale : answer);
      }, reject);
    });
  }
}

/** The settings of the cache. */
interface CacheSettings extends TtlBounds {
  /** The approximate size of all answers together. */
  readonly bytes: number;
  /** The number of access rules, which have a cache each. Default: 1. */
  readonly rules?: number;
  /** How long an expired answer may be used if no newer one is available (RFC 8767); 0 for never. */
  readonly staleSeconds: number;
}

/** The limit on the queries of one client to upstreams. */
interface ClientLimits {
  /** Questions that are not in the cache; 0 for any number. */
  readonly queriesPerSecond: number;
  /** Such questions in one burst. */
  readonly burst: number;
  /** Addresses without a limit, such as a proxy's. */
  readonly exempt: readonly AddressRange[];
}

/** Settings and limits of forwarding. */
export interface ForwarderSettings {
  readonly limits: UpstreamLimits & {
    /** Pending questions. */
    readonly queriesInFlight: number;
  };
  readonly cache: CacheSettings;
  readonly clients: ClientLimits;
}

/** The settings of scrubbing. */
export interface ScrubSettings extends Pick<ScrubRules, "isOurs"> {
  readonly privateAddresses: PrivateAddresses;
  /** Names of upstreams that may give any name a private address. */
  readonly trustedUpstreams: ReadonlySet<string>;
}

/** The limits that forwarders in several threads have together. */
interface ForwardShare {
  readonly buckets: (rate: Rate) => ClientBuckets;
  /** Pending questions. */
  readonly queries: Count;
}

/** The parts of a forwarder. */
export interface ForwarderDependencies {
  /** In the order of preference. */
  readonly upstreams: readonly Upstream[];
  /** Decides which records of an answer are removed. */
  readonly scrubbing: ScrubSettings;
  readonly settings: ForwarderSettings;
  readonly counters?: ForwardCounters;
  /** Called when an upstream stops answering (with the error), and when it answers again. */
  readonly onUpstreamChange?: OnUpstreamChange;
  /**
   * Called with an error of this program while it read an answer: the query gets SERVFAIL, or a stale answer.
   */
  readonly onError?: (error: unknown) => void;
  /**
   * Whether a query may wait for the exchange of another query. In a Worker it may not, since a request
   * cannot wait for the work of another one. Default: true.
   */
  readonly coalesce?: boolean;
  /** Runs work that continues after its query was answered. Default: nothing is needed, as in a process. */
  readonly background?: (work: Promise<unknown>) => void;
  /** The limits of all threads of a process. Default: this forwarder alone has them. */
  readonly shared?: ForwardShare;
}
