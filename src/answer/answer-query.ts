import type { ClientAddress, ClientRequest } from "../access/client.ts";
import { type View, type ViewReader, viewName } from "../access/view.ts";
import type { AnswerOrigin, OutsideAnswer } from "../forward/local.ts";
import type { Outside, OutsidePolicy } from "../forward/outside.ts";
import type { ForwardedAnswer, StubZones } from "../forward/stub-zones.ts";
import type { DohGateway } from "../gateway/scoped-gateway.ts";
import type { Answer } from "../resolve/answer.ts";
import { fitAnswer, notReady } from "../resolve/error-responses.ts";
import type { Transport } from "../resolve/message-writer.ts";
import type { QueryCounters } from "./query-counters.ts";

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
  /** The cluster whose view all queries have here; it overrides the client's credentials, because the endpoint is public. */
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
  /** Present if the client exceeded the limit on forwarding: seconds until it may retry; the answer is REFUSED. */
  readonly retryAfter?: number | undefined;
}

/** Why a query has no answer: its bytes are not a DNS query, or its bearer token is unknown. */
export type Unanswered = "no-query" | "unknown-token";

/**
 * Answers one query of a client that an access rule admits. Synchronous, unless a credential must be verified, another name
 * server be queried, or a segment come into memory.
 * @param query the caller may reuse its bytes after the call
 */
export type AnswerQuery = (
  request: ClientRequest,
  query: Uint8Array,
  endpoint: Endpoint,
) => Answered | Unanswered | Promise<Answered | Unanswered>;

const SHARED: AnswerSharing = { isPrivate: false, variesByCredential: false };

/**
 * The way of a query to its answer, the same for every transport:
 *
 * 1. the view: that of the access rule, of the endpoint, or of the client's credential;
 * 2. below a registered federation: its name servers;
 * 3. the gateway, in that view;
 * 4. out of zone: the endpoint's policy;
 * 5. the counters.
 *
 * The limits on clients and the access rule come before (`http/app.ts`, `hosts/node/listeners/`).
 */
export function createAnswerQuery(parts: QueryParts): AnswerQuery {
  const { gateway, rule, views, stubs, outside, clientAddress, counters, clock } = parts;
  const { sharing = SHARED } = parts;
  const variesByCredential = views.variesByCredential || sharing.variesByCredential;

  /** Ancestors of a registered federation exist and are never denied (RFC 8020). */
  const keepAncestors = (query: Uint8Array, answer: Answer) => stubs?.keepAncestor(query, answer) ?? answer;

  const answerIn = (
    request: ClientRequest,
    query: Uint8Array,
    view: View,
    endpoint: Endpoint,
    isFixed: boolean,
    /** The gateway's answer, where it came later. */
    late?: Answer,
  ): ReturnType<AnswerQuery> => {
    const { transport } = endpoint;
    const isInCluster = view.cluster !== undefined;
    const isPrivate = view.isPrivate || sharing.isPrivate;
    const varies = isFixed ? sharing.variesByCredential : variesByCredential;
    // An unknown cluster has no names here, and the names of the outside view would be wrong answers.
    const isUnknown = isFixed && !gateway.hasCluster(view.cluster!);

    if (late === undefined && stubs !== undefined && stubs.size > 0 && !isUnknown) {
      const forwarded = stubs.forward(query, view.cluster);
      if (forwarded !== undefined) {
        const own = query.slice();
        return forwarded.then(({ answer, outcome }: ForwardedAnswer) => {
          counters.forwarded(counters.typeOf(own), outcome, answer.outcome, isInCluster, transport.name);
          const fitting = fitAnswer(own, answer, transport);
          return { answer: fitting, view, isPrivate, variesByCredential: varies, isForwarded: true };
        });
      }
    }

    const started = performance.now();
    const now = clock();
    const given =
      late ??
      (isUnknown ? notReady(query, { transport }) : gateway.answer(query, viewName(view), now, transport));
    if (given instanceof Promise) {
      const own = query.slice();
      return given.then((answer) =>
        answer === undefined ? "no-query" : answerIn(request, own, view, endpoint, isFixed, answer),
      );
    }
    if (given === undefined) return "no-query";

    if (outside !== undefined && (given.outOfZone ?? given.cnameTarget) !== undefined) {
      const found = outside.answer(query, given, endpoint.outsideZones, clientAddress(request), rule);
      const conclude = (
        own: Uint8Array,
        { answer: relayed, origin, isContinued, retryAfter }: OutsideAnswer,
      ) => ({
        view,
        isPrivate,
        variesByCredential: varies,
        answer: fitAnswer(own, relayed, transport),
        origin,
        isForwarded: origin !== undefined && isContinued !== true,
        isByAddress: origin !== undefined && outside.isByAddress,
        retryAfter,
      });
      // Over HTTP a client over the limit gets a 429, which is counted as a rejected request.
      const isCounted = ({ retryAfter }: OutsideAnswer) =>
        retryAfter === undefined || transport.name !== "https";
      if (!(found instanceof Promise)) {
        const kept = { ...found, answer: keepAncestors(query, found.answer) };
        if (isCounted(kept))
          counters.answered(query, kept.answer.outcome, isInCluster, secondsSince(started), transport.name);
        return conclude(query, kept);
      }
      const own = query.slice();
      return found.then((relayed) => {
        const late = { ...relayed, answer: keepAncestors(own, relayed.answer) };
        if (isCounted(late))
          counters.relayed(counters.typeOf(own), late.answer.outcome, isInCluster, transport.name);
        return conclude(own, late);
      });
    }

    const answer = keepAncestors(query, given);
    counters.answered(query, answer.outcome, isInCluster, secondsSince(started), transport.name);
    return { answer, view, isPrivate, variesByCredential: varies, isForwarded: false };
  };

  return (request, query, endpoint) => {
    const cluster = parts.cluster ?? endpoint.cluster;
    if (cluster !== undefined) return answerIn(request, query, { cluster, isPrivate: false }, endpoint, true);
    const view = views.read(request, query);
    if (!(view instanceof Promise)) return answerIn(request, query, view, endpoint, false);
    const own = query.slice();
    return view.then((known) =>
      known === undefined ? "unknown-token" : answerIn(request, own, known, endpoint, false),
    );
  };
}

function secondsSince(started: number): number {
  return (performance.now() - started) / 1000;
}
