import type { Outside, OutsidePolicy } from "../forward/outside.ts";
import type { AnswerOrigin, OutsideAnswer } from "../forward/outside-answer.ts";
import type { StubZones } from "../forward/stub-zones.ts";
import type { DohGateway } from "../gateway/doh-gateway.ts";
import type { Answer } from "../resolve/answer.ts";
import { placeView } from "../zone/client-place.ts";
import type { Asker, AskerReader } from "./client/asker.ts";
import type { ClientAddress } from "./client/client-address.ts";
import type { HttpRequest, HttpResponse } from "./exchange.ts";
import type { QueryCounters } from "./metrics/query-counters.ts";
import type { Refuse } from "./refusal.ts";

/** What answering queries works with. */
export interface QueryAnswererParts {
  readonly gateway: DohGateway;
  /** Unix milliseconds. */
  readonly clock: () => number;
  readonly counters: QueryCounters;
  readonly refuse: Refuse;
  readonly asker: AskerReader;
  readonly sharing?: AnswerSharing | undefined;
  readonly stubs: Pick<StubZones, "size" | "forward"> | undefined;
  /** Answers names outside the zones. Undefined: as the gateway does. */
  readonly outside: Pick<Outside, "answer"> | undefined;
  /** The client's real address, for limits. */
  readonly clientAddress: ClientAddress;
  /** What such names get here. */
  readonly policy: OutsidePolicy;
}

/** Who else gets the same answers, beside what says which cluster asks. Default: whoever asks the same. */
export interface AnswerSharing {
  /** Whether somebody else may get another answer to the same request: no shared cache may keep it. */
  readonly isPrivate: boolean;
  /** Whether somebody with another Authorization field may. */
  readonly variesByCredential: boolean;
}

/** An answer, and for whom it is. */
export interface Answered extends Asker {
  /** Whether another Authorization field may get another answer. */
  readonly variesByCredential: boolean;
  readonly answer: Answer;
  /** Whether another name server gave it. */
  readonly isForwarded: boolean;
  /** Where it came from, or what an alias of ours leads to: for names outside the zones. */
  readonly origin?: AnswerOrigin | undefined;
}

/**
 * Answers one query: from the gateway, or through a stub zone. A view of the path wins over everything else that
 * says who asks, because anybody may ask for it. Without an Authorization field and a stub zone the response is made at once.
 * The octets of `query` are only lent.
 */
export type QueryAnswerer = (
  request: HttpRequest,
  query: Uint8Array,
  view: string | undefined,
  respond: Respond,
) => HttpResponse | Promise<HttpResponse>;

/** Makes the response of an answer. */
export type Respond = (request: HttpRequest, answered: Answered) => HttpResponse;

const SHARED: AnswerSharing = { isPrivate: false, variesByCredential: false };

const TOO_MANY =
  "this client asks too much of the names that are forwarded; those of the gateway's own zones are answered";

export function createQueryAnswerer(parts: QueryAnswererParts): QueryAnswerer {
  const { gateway, clock, counters, refuse, asker: reader, stubs, outside, policy, clientAddress } = parts;
  const { sharing = SHARED } = parts;

  const answerOutside = (
    names: Pick<Outside, "answer">,
    request: HttpRequest,
    query: Uint8Array,
    given: Answer,
    asked: Asker & Pick<Answered, "variesByCredential">,
    respond: Respond,
  ): HttpResponse | Promise<HttpResponse> => {
    const started = performance.now();
    const conclude = ({ answer, origin, isContinued, retryAfter }: OutsideAnswer) =>
      retryAfter === undefined
        ? respond(request, {
            ...{ ...asked, answer, origin },
            isForwarded: origin !== undefined && isContinued !== true,
          })
        : refuse(request, 429, TOO_MANY, { "retry-after": String(retryAfter) });
    const found = names.answer(query, given, policy, clientAddress(request));
    const fromCluster = asked.view !== undefined;
    if (!(found instanceof Promise)) {
      if (found.retryAfter === undefined) {
        const seconds = (performance.now() - started) / 1000;
        counters.answered(query, found.answer.outcome, fromCluster, seconds);
      }
      return conclude(found);
    }
    const type = counters.typeOf(query);
    return found.then((late) => {
      counters.relayed(type, late.answer.outcome, fromCluster);
      return conclude(late);
    });
  };

  const answerAs = (
    request: HttpRequest,
    query: Uint8Array,
    given: Asker,
    variesByCredential: boolean,
    respond: Respond,
  ): HttpResponse | Promise<HttpResponse> => {
    const asker = sharing.isPrivate ? { ...given, isPrivate: true } : given;
    const { view, isPrivate, place, byLocation } = asker;
    if (stubs !== undefined && stubs.size > 0) {
      const forwarded = stubs.forward(query, view);
      if (forwarded !== undefined) {
        const type = counters.typeOf(query);
        return forwarded.then(({ answer, outcome }) => {
          counters.forwarded(type, outcome, answer.outcome, view !== undefined);
          return respond(request, { ...asker, answer, variesByCredential, isForwarded: true });
        });
      }
    }
    const started = performance.now();
    const answer = gateway.answer(query, place === undefined ? view : placeView(place), clock());
    if (answer === undefined)
      return refuse(request, 400, "this is no DNS query: it needs a header of 12 octets with QR 0");
    if (outside !== undefined && (answer.beyond ?? answer.leadsTo) !== undefined) {
      const asked = { ...asker, variesByCredential };
      return answerOutside(outside, request, query, answer, asked, respond);
    }
    counters.answered(query, answer.outcome, view !== undefined, (performance.now() - started) / 1000);
    return respond(request, {
      answer,
      view,
      isPrivate,
      place,
      byLocation,
      variesByCredential,
      isForwarded: false,
    });
  };

  return (request, query, view, respond) => {
    if (view !== undefined)
      return answerAs(request, query, { view, isPrivate: false }, sharing.variesByCredential, respond);
    const variesByCredential = reader.variesByCredential || sharing.variesByCredential;
    const found = reader.read(request, query);
    if (!(found instanceof Promise)) return answerAs(request, query, found, variesByCredential, respond);
    const own = query.slice();
    return found.then((one) =>
      one === undefined
        ? refuse(request, 401, "the bearer token is not known here", {
            "www-authenticate": 'Bearer realm="clusterset-doh", error="invalid_token"',
          })
        : answerAs(request, own, one, variesByCredential, respond),
    );
  };
}

/** The Cache-Control field of an answer, `isPrivate` ones for the client alone (RFC 9111 section 5.2.2.7). */
export function cacheControl({ answer, isPrivate }: Answered): string {
  if (answer.freshness <= 0) return "no-store";
  return isPrivate ? `private, max-age=${answer.freshness}` : `max-age=${answer.freshness}`;
}

/** The Vary field of an answer that depends on the Authorization field, beside what it depends on anyway. */
export function varyByCredential(vary: string | undefined): string {
  return vary === undefined ? "authorization" : `authorization, ${vary}`;
}
