import {
  type ClientAddress,
  type ClientRequest,
  type View,
  type ViewReader,
  viewName,
} from "../access/client.ts";
import type { MaybePromise } from "../access/url-tokens.ts";
import { HEADER_BYTES, RecordType, readName } from "../dns/name.ts";
import type { AnswerOrigin } from "../forward/local.ts";
import type { Outside, OutsidePolicy } from "../forward/outside.ts";
import type { ForwardOutcome, StubZones } from "../forward/stub-zones.ts";
import type { DohGateway } from "../gateway/gateway-types.ts";
import { ConnectionErrors, LimitCounters, Tally } from "../limits/counters.ts";
import type { Transport } from "../resolve/message-writer.ts";
import { type Answer, OUTCOMES, type Outcome } from "../resolve/record-writer.ts";
import { fitAnswer, notReady } from "../resolve/resolve.ts";

/** The sources of answers for the clients of an access rule. */
export interface QueryParts {
  /** The gateway with the objects that those clients may see. */
  readonly gateway: Pick<DohGateway, "answer" | "hasCluster">;
  /** The name of the rule: its clients share a cache of forwarded answers. */
  readonly rule: string;
  /** The cluster whose view they all have. */
  readonly cluster?: string | undefined;
  readonly views: ViewReader;
  /** Default: answers do not depend on the client. */
  readonly sharing?: AnswerSharing | undefined;
  /** Forwards queries below registered federations to their name servers. Default: no federations. */
  readonly stubs?: Pick<StubZones, "size" | "forward" | "keepAncestor"> | undefined;
  /** Answers names out of zone. Default: as the gateway does. */
  readonly outside?: Pick<Outside, "answer" | "isByAddress"> | undefined;
  /** The client's real address, for the limit on forwarding. */
  readonly clientAddress: ClientAddress;
  readonly counters: QueryCounters;
  /** Unix milliseconds. */
  readonly clock: () => number;
}

/** Which other clients get the same answers, in addition to the view. */
interface AnswerSharing {
  /** Whether another client may get another answer to the same request: shared caches must not keep it. */
  readonly isPrivate: boolean;
  /** Whether a request with another Authorization field may get another answer. */
  readonly variesByCredential: boolean;
}

/** The endpoint of a query: a path of DNS over HTTPS, or a listener. */
export interface Endpoint {
  readonly transport: Transport;
  /**
   * The cluster whose view all queries have here; it overrides the client's credentials, because the endpoint
   * is public.
   */
  readonly cluster?: string | undefined;
  /** The policy for names out of zone. */
  readonly outsideZones: OutsidePolicy;
}

/** An answer with its view and its source. */
export interface Answered extends AnswerSharing {
  readonly answer: Answer;
  readonly view: View;
  /** Whether it is from another name server. */
  readonly isForwarded: boolean;
  /** For names out of zone: the source of the answer, or of the records of a CNAME target. */
  readonly origin?: AnswerOrigin | undefined;
  /** Whether an upstream answered because the client has the right address. */
  readonly isByAddress?: boolean;
  /**
   * Present if the client exceeded the limit on forwarding: seconds until it may retry; the answer is
   * REFUSED.
   */
  readonly retryAfter?: number | undefined;
}

/** Why a query has no answer: its bytes are not a DNS query, or its bearer token is unknown. */
export type Unanswered = "no-query" | "unknown-token";

/**
 * Answers one query of a client that an access rule admits. Synchronous, unless a credential must be
 * verified, another name server be queried, or a segment come into memory.
 * @param query the caller may reuse its bytes after the call
 */
export type AnswerQuery = (
  request: ClientRequest,
  query: Uint8Array,
  endpoint: Endpoint,
) => MaybePromise<Answered | Unanswered>;

const SHARED: AnswerSharing = { isPrivate: false, variesByCredential: false };

/**
 * The way of a query to its answer, the same for every transport. The limits on clients and the access rule
 * come before (`http/app.ts`, `hosts/node/listeners/`).
 */
export function createAnswerQuery(parts: QueryParts): AnswerQuery {
  const { gateway, rule, views, stubs, outside, clientAddress, counters, clock, sharing = SHARED } = parts;
  /** Ancestors of a registered federation exist and are never denied (RFC 8020). */
  const keepAncestors = (query: Uint8Array, answer: Answer) => stubs?.keepAncestor(query, answer) ?? answer;

  return (request, lent, { transport, outsideZones, cluster }) => {
    // The view: that of the access rule, of the endpoint, or of the client's credential.
    const fixed = parts.cluster ?? cluster;
    const read = fixed === undefined ? views.read(request, lent) : { cluster: fixed, isPrivate: false };
    return whenThere(lent, read, (query, view) => {
      if (view === undefined) return "unknown-token";
      const isPrivate = view.isPrivate || sharing.isPrivate;
      const variesByCredential =
        sharing.variesByCredential || (fixed === undefined && views.variesByCredential);
      const count = (message: Uint8Array, { outcome }: Answer, since?: number) =>
        counters.answered(message, outcome, view.cluster !== undefined, transport.name, since);
      // An unknown cluster has no names here, and the names of the outside view would be wrong answers.
      const isUnknown = fixed !== undefined && !gateway.hasCluster(fixed);

      // Below a registered federation: its name servers.
      if (stubs !== undefined && stubs.size > 0 && !isUnknown) {
        const forwarded = stubs.forward(query, view.cluster, transport);
        if (forwarded !== undefined)
          return whenThere(query, forwarded, (message, { answer, outcome }) => {
            counters.forwarded.hit(outcome);
            count(message, answer);
            const fitting = fitAnswer(message, answer, transport);
            return { answer: fitting, view, isPrivate, variesByCredential, isForwarded: true };
          });
      }

      // The gateway, in that view.
      const started = performance.now();
      const given = isUnknown
        ? notReady(query, { transport })
        : gateway.answer(query, viewName(view), clock(), transport);
      return whenThere(query, given, (message, own) => {
        if (own === undefined) return "no-query";
        if (outside === undefined || (own.outOfZone ?? own.cnameTarget) === undefined) {
          const answer = keepAncestors(message, own);
          count(message, answer, started);
          return { answer, view, isPrivate, variesByCredential, isForwarded: false };
        }

        // Out of zone: the endpoint's policy.
        const policy = outside.answer(message, own, outsideZones, clientAddress(request), rule, transport);
        return whenThere(message, policy, (late, { answer: found, origin, isContinued, retryAfter }) => {
          const answer = keepAncestors(late, found);
          // Over HTTP a client over the limit gets a 429, which is counted as a rejected request.
          if (retryAfter === undefined || transport.name !== "https")
            count(late, answer, policy instanceof Promise ? undefined : started);
          const isForwarded = origin !== undefined && isContinued !== true;
          const isByAddress = origin !== undefined && outside.isByAddress;
          const fitting = fitAnswer(late, answer, transport);
          // A shared cache does not know addresses.
          const kept = { answer: fitting, view, isPrivate: isPrivate || isByAddress, variesByCredential };
          return { ...kept, origin, isForwarded, isByAddress, retryAfter };
        });
      });
    });
  };
}

/**
 * Goes on with a value: in the same turn if it is there, else with a copy of the query, whose bytes are lent
 * for this turn only.
 */
function whenThere<Value, Next>(
  query: Uint8Array,
  value: MaybePromise<Value>,
  next: (query: Uint8Array, value: Value) => MaybePromise<Next>,
): MaybePromise<Next> {
  if (!(value instanceof Promise)) return next(query, value);
  const own = query.slice();
  return value.then((late) => next(own, late));
}

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
