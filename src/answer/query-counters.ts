import { HEADER_BYTES } from "../dns/name.ts";
import { readName } from "../dns/wire-reader.ts";
import type { ForwardOutcome } from "../forward/stub-zones.ts";
import { ConnectionErrors, LimitCounters } from "../limits/counters.ts";
import type { Outcome } from "../resolve/answer.ts";
import type { Transport } from "../resolve/message-writer.ts";

const OUTCOMES: readonly Outcome[] = [
  "answer",
  "nodata",
  "nxdomain",
  "refused",
  "formerr",
  "notimp",
  "badvers",
  "servfail",
];

/** Types that are counted by name; all others as "other", so that clients cannot add series. */
const TYPES: readonly (readonly [number, string])[] = [
  [1, "A"],
  [2, "NS"],
  [6, "SOA"],
  [12, "PTR"],
  [16, "TXT"],
  [28, "AAAA"],
  [33, "SRV"],
  [64, "SVCB"],
  [65, "HTTPS"],
  [255, "ANY"],
];
const OTHER = TYPES.length;
const TYPE_INDEX = new Uint8Array(256).fill(OTHER);
for (const [index, [code]] of TYPES.entries()) TYPE_INDEX[code] = index;

const VIEWS = ["outside", "cluster"] as const;
const TRANSPORTS: readonly Transport["name"][] = ["https", "udp", "tcp", "dot"];
const OUTCOME_INDEX = new Map(OUTCOMES.map((outcome, index) => [outcome, index]));

/** Upper bounds of the duration histogram in seconds. */
export const DURATION_BOUNDS: readonly number[] = [
  0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.005, 0.025,
];

/** One series of the query counter. */
interface QueryCount {
  readonly transport: Transport["name"];
  readonly view: string;
  readonly outcome: Outcome;
  readonly type: string;
  readonly count: number;
}

/** One series of the push counter. */
interface PushCount {
  readonly method: string;
  readonly status: number;
  readonly count: number;
}

/** The outcome of a UDP query over the rate limit of its client: no answer, or one with TC. */
type RateLimitAction = "dropped" | "truncated";

/** Counts queries as plain numbers; the metrics exporter reads them on demand. */
export class QueryCounters {
  /** The number of times that limits acted. */
  readonly limits = new LimitCounters();
  readonly errors: ConnectionErrors;
  /** Times that a damaged row of the database took its cluster out of the answers. */
  damagedRows = 0;
  readonly #counts = new Float64Array(
    TRANSPORTS.length * VIEWS.length * OUTCOMES.length * (TYPES.length + 1),
  );
  readonly #buckets = new Float64Array(DURATION_BOUNDS.length + 1);
  readonly #rejected = new Map<number, number>();
  readonly #pushed = new Map<string, PushCount>();
  readonly #forwarded = new Map<ForwardOutcome, number>();
  readonly #rateLimited = new Map<RateLimitAction, number>();
  readonly #malformed = new Map<Transport["name"], number>();
  #durationSum = 0;

  constructor(errors: ConnectionErrors = new ConnectionErrors()) {
    this.errors = errors;
  }

  /**
   * Counts one answered query.
   * @param since when the gateway began to answer, by `performance.now()`. Absent where an upstream answered: its duration is not the gateway's
   */
  answered(
    query: Uint8Array,
    outcome: Outcome,
    fromCluster: boolean,
    transport: Transport["name"],
    since?: number,
  ): void {
    const viewIndex = TRANSPORTS.indexOf(transport) * VIEWS.length + (fromCluster ? 1 : 0);
    const outcomeIndex = viewIndex * OUTCOMES.length + OUTCOME_INDEX.get(outcome)!;
    const index = outcomeIndex * (TYPES.length + 1) + TYPE_INDEX[questionType(query)]!;
    this.#counts[index] = this.#counts[index]! + 1;
    if (since === undefined) return;
    const seconds = (performance.now() - since) / 1000;
    let bucket = 0;
    while (bucket < DURATION_BOUNDS.length && seconds > DURATION_BOUNDS[bucket]!) bucket++;
    this.#buckets[bucket] = this.#buckets[bucket]! + 1;
    this.#durationSum += seconds;
  }

  /** Counts one query that was forwarded, in addition to its answer. */
  forwarded(outcome: ForwardOutcome): void {
    this.#forwarded.set(outcome, (this.#forwarded.get(outcome) ?? 0) + 1);
  }

  /** Counts one HTTP request that was rejected before it became a DNS query. */
  rejected(status: number): void {
    this.#rejected.set(status, (this.#rejected.get(status) ?? 0) + 1);
  }

  /** Counts one UDP query over the rate limit of its client. */
  rateLimited(action: RateLimitAction): void {
    this.#rateLimited.set(action, (this.#rateLimited.get(action) ?? 0) + 1);
  }

  /** UDP queries over the rate limit, by outcome. */
  rateLimits(): ReadonlyMap<RateLimitAction, number> {
    return this.#rateLimited;
  }

  /** Counts one message over plain DNS or TLS that is not a query and gets no answer. */
  malformed(transport: Transport["name"]): void {
    this.#malformed.set(transport, (this.#malformed.get(transport) ?? 0) + 1);
  }

  /** Messages without an answer, by transport. */
  malformedMessages(): ReadonlyMap<Transport["name"], number> {
    return this.#malformed;
  }

  /** Counts one request to the push API. */
  pushed(method: string, status: number): void {
    const key = `${method} ${status}`;
    this.#pushed.set(key, { method, status, count: (this.#pushed.get(key)?.count ?? 0) + 1 });
  }

  /** Requests to the push API by method and HTTP status. */
  pushes(): Iterable<PushCount> {
    return this.#pushed.values();
  }

  /** Forwarded queries, by outcome. */
  forwards(): ReadonlyMap<ForwardOutcome, number> {
    return this.#forwarded;
  }

  /** The series with at least one count. */
  *queries(): Iterable<QueryCount> {
    for (const [index, count] of this.#counts.entries()) {
      if (count === 0) continue;
      const typeIndex = index % (TYPES.length + 1);
      const outcomeIndex = (index - typeIndex) / (TYPES.length + 1);
      const viewIndex = Math.floor(outcomeIndex / OUTCOMES.length);
      yield {
        transport: TRANSPORTS[Math.floor(viewIndex / VIEWS.length)]!,
        view: VIEWS[viewIndex % VIEWS.length]!,
        outcome: OUTCOMES[outcomeIndex % OUTCOMES.length]!,
        type: TYPES[typeIndex]?.[1] ?? "other",
        count,
      };
    }
  }

  /** Rejected requests by HTTP status. */
  rejections(): ReadonlyMap<number, number> {
    return this.#rejected;
  }

  /** The histogram: counts per bucket (not cumulative, the last one unbounded), and the sum in seconds. */
  durations(): { readonly buckets: Float64Array; readonly sum: number } {
    return { buckets: this.#buckets, sum: this.#durationSum };
  }
}

/** The type of the first question if it is below 256, else 0. */
function questionType(query: Uint8Array): number {
  const nameEnd = readName(query, HEADER_BYTES);
  return nameEnd >= 0 && query[nameEnd] === 0 ? (query[nameEnd + 1] ?? 0) : 0;
}

/** Whether a request was admitted; if not, whether it has no credential or an unknown one. */
type AccessOutcome = "admitted" | "missing" | "unknown";

/** One series of the counter of admissions. */
interface AccessCount {
  /** The rule that admitted the client; empty if none did. */
  readonly rule: string;
  readonly outcome: AccessOutcome;
  readonly count: number;
}

/** Counts admissions by rule. Rules are configured, so clients cannot add series. */
export class AccessCounters {
  readonly #counts = new Map<string, { rule: string; outcome: AccessOutcome; count: number }>();

  admitted(rule: string): void {
    this.#count(rule, rule, "admitted");
  }

  rejected(outcome: "missing" | "unknown"): void {
    // No rule's name starts like this.
    this.#count(` ${outcome}`, "", outcome);
  }

  /** The series with at least one count. */
  counts(): Iterable<AccessCount> {
    return this.#counts.values();
  }

  #count(key: string, rule: string, outcome: AccessOutcome): void {
    const counted = this.#counts.get(key);
    if (counted === undefined) this.#counts.set(key, { rule, outcome, count: 1 });
    else counted.count++;
  }
}
