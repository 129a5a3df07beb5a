import { HEADER_BYTES, RecordType } from "../dns/name.ts";
import { readName } from "../dns/wire-reader.ts";
import type { ForwardOutcome } from "../forward/stub-zones.ts";
import { ConnectionErrors, LimitCounters, Tally } from "../limits/counters.ts";
import { OUTCOMES, type Outcome } from "../resolve/answer.ts";
import type { Transport } from "../resolve/message-writer.ts";

/** Types that are counted by name; all others as "other", so that clients cannot add series. */
const TYPES = ["A", "NS", "SOA", "PTR", "TXT", "AAAA", "SRV", "SVCB", "HTTPS", "ANY"] as const;
const TYPE_INDEX = new Uint8Array(256).fill(TYPES.length);
for (const [index, name] of TYPES.entries()) TYPE_INDEX[RecordType[name]] = index;

const TRANSPORTS: readonly Transport["name"][] = ["https", "udp", "tcp", "dot"];

/** Upper bounds of the duration histogram in seconds. */
export const DURATION_BOUNDS: readonly number[] = [
  0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.005, 0.025,
];

/** One series of the query counter. */
interface QueryCount {
  readonly transport: Transport["name"];
  readonly view: "outside" | "cluster";
  readonly outcome: Outcome;
  readonly type: string;
  count: number;
}

/** Counts queries as plain numbers; the metrics exporter reads them on demand. */
export class QueryCounters {
  /** The number of times that limits acted. */
  readonly limits = new LimitCounters();
  readonly errors: ConnectionErrors;
  /** HTTP requests that were rejected before they became DNS queries, by status. */
  readonly rejected = new Tally<number>();
  /** Requests to the push API, by method and status. */
  readonly pushed = new Tally<string>();
  /** Forwarded queries, in addition to their answers. */
  readonly forwarded = new Tally<ForwardOutcome>();
  /** UDP queries over the rate limit of their client: no answer, or one with TC. */
  readonly rateLimited = new Tally<"dropped" | "truncated">();
  /** Messages over plain DNS or TLS that are not queries and get no answer. */
  readonly malformed = new Tally<Transport["name"]>();
  /** Times that a damaged row of the database took its cluster out of the answers. */
  damagedRows = 0;
  /** The histogram: counts per bucket (not cumulative, the last one unbounded), and the sum in seconds. */
  readonly durations = { buckets: new Float64Array(DURATION_BOUNDS.length + 1), sum: 0 };
  readonly #queries = new Map<number, QueryCount>();

  constructor(errors: ConnectionErrors = new ConnectionErrors()) {
    this.errors = errors;
  }

  /**
   * Counts one answered query.
   * @param since when the gateway began to answer, by `performance.now()`. Absent where an upstream answered:
   * its duration is not the gateway's
   */
  answered(
    query: Uint8Array,
    outcome: Outcome,
    fromCluster: boolean,
    transport: Transport["name"],
    since?: number,
  ): void {
    const type = TYPE_INDEX[questionType(query)]!;
    const where = TRANSPORTS.indexOf(transport) * 2 + Number(fromCluster);
    const key = (where * OUTCOMES.length + OUTCOMES.indexOf(outcome)) * 16 + type;
    let counted = this.#queries.get(key);
    if (counted === undefined) {
      const view = fromCluster ? "cluster" : "outside";
      counted = { transport, view, outcome, type: TYPES[type] ?? "other", count: 0 };
      this.#queries.set(key, counted);
    }
    counted.count++;
    if (since === undefined) return;
    const seconds = (performance.now() - since) / 1000;
    let bucket = 0;
    while (bucket < DURATION_BOUNDS.length && seconds > DURATION_BOUNDS[bucket]!) bucket++;
    this.durations.buckets[bucket] = this.durations.buckets[bucket]! + 1;
    this.durations.sum += seconds;
  }

  /** The series with at least one count. */
  queries(): Iterable<QueryCount> {
    return this.#queries.values();
  }
}

/** The type of the first question if it is below 256, else 0. */
function questionType(query: Uint8Array): number {
  const nameEnd = readName(query, HEADER_BYTES);
  return nameEnd >= 0 && query[nameEnd] === 0 ? (query[nameEnd + 1] ?? 0) : 0;
}

/** Counts requests by access rule. Rules are configured, so clients cannot add series. */
export class AccessCounters {
  /** By the rule that admitted them. */
  readonly admitted = new Tally<string>();
  /** Without a credential, or with an unknown one. */
  readonly rejected = new Tally<"missing" | "unknown">();
}
