import type { View } from "../access/client.ts";
import { andThen, type MaybePromise } from "../access/url-tokens.ts";
import type { Answered, Endpoint } from "../answer/answer-query.ts";
import {
  EdnsOption,
  HEADER_BYTES,
  HeaderFlag,
  optionEnd,
  type RecordPlace,
  RecordType,
  readName,
  readRecord,
  readWord,
} from "../dns/name.ts";
import { formatNameAt, formatRdata, MessageError } from "../dns/presentation.ts";
import type { Written } from "../explain/schema.ts";
import type { AnswerOrigin } from "../forward/local.ts";
import type { DohGateway } from "../gateway/gateway-types.ts";
import { describeAges, describeStale } from "./cluster-state.ts";
import {
  cacheControl,
  type RuleAnswers,
  rejectMethod,
  rejectUnanswered,
  varyByCredential,
} from "./doh/rule-answers.ts";
import { readJsonQuestion } from "./json-question.ts";
import {
  acceptQuality,
  crossOriginHeaders,
  DNS_JSON,
  DNS_MESSAGE,
  type HttpRequest,
  type HttpResponse,
  JSON_TYPE,
  namesMediaType,
  originsOf,
  preflight,
} from "./messages/message.ts";
import type { JsonAnswer as AnswerSchema, JsonRecord as RecordSchema } from "./openapi/schemas.ts";

/** Answers one request with a query: by a DNS message (RFC 8484 section 4), JSON or an explanation. */
export type QueryRoute = (
  request: HttpRequest,
  answers: RuleAnswers,
  endpoint: Endpoint,
) => HttpResponse | Promise<HttpResponse>;

/** The methods of `/resolve` and `/explain`. */
export const READING_METHODS = "GET, HEAD, OPTIONS";

/** A route with these methods. */
export function readingRoute(route: QueryRoute): QueryRoute {
  return (request, answers, endpoint) => {
    const { method } = request;
    if (method === "GET" || method === "HEAD") return route(request, answers, endpoint);
    if (method === "OPTIONS") return preflight(request, READING_METHODS, answers.origins);
    return rejectMethod(request, answers, READING_METHODS);
  };
}

/** Answers a GET with `?name=`: JSON, or wire format if `ct` or Accept requests it. */
export const jsonRoute: QueryRoute = (request, answers, endpoint) => {
  const { reject } = answers;
  const accept = request.header("accept");
  const json = Math.max(acceptQuality(accept, JSON_TYPE), acceptQuality(accept, DNS_JSON));
  const question = readJsonQuestion(request.url);
  if ("error" in question) return reject(request, "INVALID_QUESTION", question.error);
  const wanted = question.contentType?.toLowerCase() === DNS_MESSAGE;
  if (!wanted && json === 0 && acceptQuality(accept, DNS_MESSAGE) === 0)
    return reject(
      request,
      "NOT_ACCEPTABLE",
      `this is ${JSON_TYPE}, ${DNS_JSON} or ${DNS_MESSAGE}; Accept excludes them all`,
    );
  const type = namesMediaType(accept, DNS_JSON) ? DNS_JSON : JSON_TEXT;
  return answerQuestion(request, answers, endpoint, question.query, (answered) => {
    const caching = cacheControl(answered);
    if (wanted || json === 0) return { type: DNS_MESSAGE, body: answered.answer.bytes, caching };
    const answer = readAnswered(answered, answers.gateway, answers.clock());
    return answer && { type, body: jsonBody(answer), caching };
  });
};

/** A JSON body in UTF-8. */
export const JSON_TEXT = `${JSON_TYPE}; charset=utf-8`;

/** A value as JSON, with a line end. */
export function jsonBody(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${JSON.stringify(value)}\n`);
}

/** What a response to a question has of its own. */
interface WrittenAnswer {
  readonly type: string;
  readonly body: Uint8Array<ArrayBuffer>;
  /** The Cache-Control field. */
  readonly caching: string;
}

/**
 * Answers a question as every path does.
 * @param write returns undefined for an unreadable answer of another name server
 */
export function answerQuestion(
  request: HttpRequest,
  { answerQuery, origins, reject }: RuleAnswers,
  endpoint: Endpoint,
  query: Uint8Array<ArrayBuffer>,
  write: (answered: Answered) => MaybePromise<WrittenAnswer | undefined>,
): MaybePromise<HttpResponse> {
  return andThen(answerQuery(request, query, endpoint), (answered) => {
    if (typeof answered === "string" || answered.retryAfter !== undefined)
      return rejectUnanswered(reject, request, answered);
    return andThen(write(answered), (written) => {
      if (written === undefined)
        return reject(request, "UNREADABLE_ANSWER", "the name server sent records that cannot be read");
      const { type, body, caching } = written;
      const crossOrigin = crossOriginHeaders(request, originsOf(origins, answered.isByAddress !== true));
      const vary = crossOrigin.vary === undefined ? "accept" : `accept, ${crossOrigin.vary}`;
      const headers = {
        ...crossOrigin,
        "cache-control": caching,
        "content-length": String(body.length),
        "content-type": type,
        "x-content-type-options": "nosniff",
        vary: answered.variesByCredential ? varyByCredential(vary) : vary,
      };
      return { status: 200, headers, body };
    });
  });
}

/** A record in JSON. */
export type JsonRecord = Written<typeof RecordSchema>;

/** An answer in the JSON form that Google's and Cloudflare's resolvers share. */
export type JsonAnswer = Written<typeof AnswerSchema>;

/** The names of Extended DNS Errors by code (IANA, Extended DNS Error Codes). */
const EXTENDED_ERRORS: readonly string[] =
  "Other Error,Unsupported DNSKEY Algorithm,Unsupported DS Digest Type,Stale Answer,Forged Answer,DNSSEC Indeterminate,DNSSEC Bogus,Signature Expired,Signature Not Yet Valid,DNSKEY Missing,RRSIGs Missing,No Zone Key Bit Set,NSEC Missing,Cached Error,Not Ready,Blocked,Censored,Filtered,Prohibited,Stale NXDOMAIN Answer,Not Authoritative,Not Supported,No Reachable Authority,Network Error,Invalid Data".split(
    ",",
  );

/** AD (RFC 4035 section 3.2.3). */
const AUTHENTIC = 0x0020;

/**
 * Reads an answer in wire format.
 * @param comment follows the Extended DNS Errors of the answer (RFC 8914)
 * @throws {MessageError} if the answer is malformed, which answers of other name servers can be
 */
export function readAnswer(answer: Uint8Array, comment: string): JsonAnswer {
  if (answer.length < HEADER_BYTES) throw new MessageError("a message has a header of 12 bytes");
  const flags = readWord(answer, 2);
  let at = HEADER_BYTES;
  const questions = Array.from({ length: readWord(answer, 4) }, () => {
    const start = at;
    const end = readName(answer, start);
    if (end < 0 || end + 4 > answer.length) throw new MessageError("the question is cut off");
    at = end + 4;
    return { name: formatNameAt(answer, start), type: readWord(answer, end) };
  });
  const records = [6, 8, 10].map((count) =>
    Array.from({ length: readWord(answer, count) }, () => {
      const place = readRecord(answer, at);
      if (place === undefined) throw new MessageError("a record is cut off");
      at = place.end;
      return place;
    }),
  );
  const [answers, authority, additional] = records.map((section) =>
    section.filter(({ type }) => type !== RecordType.OPT).map((place) => jsonRecord(answer, place)),
  ) as [JsonRecord[], JsonRecord[], JsonRecord[]];
  const opt = records[2]!.find(({ type }) => type === RecordType.OPT);
  const extendedErrors = opt === undefined ? [] : readExtendedErrors(answer, opt);
  return {
    Status: (flags & 0x0f) | (opt === undefined ? 0 : Math.floor(opt.ttl / 0x1000000) << 4),
    TC: (flags & HeaderFlag.TC) !== 0,
    RD: (flags & HeaderFlag.RD) !== 0,
    RA: (flags & HeaderFlag.RA) !== 0,
    AD: (flags & AUTHENTIC) !== 0,
    CD: (flags & HeaderFlag.CD) !== 0,
    Question: questions,
    ...(answers.length > 0 && { Answer: answers }),
    ...(authority.length > 0 && { Authority: authority }),
    ...(additional.length > 0 && { Additional: additional }),
    Comment: [...extendedErrors, comment].join("; "),
  };
}

function jsonRecord(message: Uint8Array, place: RecordPlace): JsonRecord {
  return {
    name: formatNameAt(message, place.start),
    type: place.type,
    TTL: place.ttl,
    data: formatRdata(message, place),
  };
}

/** The Extended DNS Errors of an OPT record (RFC 8914 section 2) in words. */
function readExtendedErrors(message: Uint8Array, { dataStart, end }: RecordPlace): string[] {
  const errors: string[] = [];
  for (let at = dataStart, next = at; at < end; at = next) {
    next = optionEnd(message, at, end);
    if (next < 0) break;
    if (readWord(message, at) !== EdnsOption.EXTENDED_ERROR || next - at < 6) continue;
    const code = readWord(message, at + 4);
    const name = EXTENDED_ERRORS[code];
    const text = new TextDecoder().decode(message.subarray(at + 6, next));
    errors.push(
      `Extended DNS Error ${code}${name === undefined ? "" : ` (${name})`}${text === "" ? "" : `: ${text}`}`,
    );
  }
  return errors;
}

/**
 * Reads an answer, with its view, its source and its age as the comment; undefined where another name server
 * sent an unreadable one.
 */
export function readAnswered(
  answered: Answered,
  gateway: Pick<DohGateway, "status">,
  now: number,
): JsonAnswer | undefined {
  try {
    return readAnswer(answered.answer.bytes, describeAnswered(answered, gateway, now));
  } catch (error) {
    if (!answered.isForwarded && answered.origin === undefined) throw error;
    return undefined;
  }
}

function describeAnswered(answered: Answered, gateway: Pick<DohGateway, "status">, now: number): string {
  const { origin, isForwarded } = answered;
  if (isForwarded) return origin === undefined ? describeForwarded(answered.view) : describeOrigin(origin);
  const status = gateway.status();
  const ours = [
    ...describeStale(status, now),
    describeView(answered.view),
    ...describeAges(status, now),
  ].join("; ");
  return origin === undefined ? ours : `${ours}; its CNAME target: ${describeOrigin(origin)}`;
}

/** The same for an answer from a stub zone, whose age only the name server knows. */
function describeForwarded(view: View): string {
  const said = "answered by a name server of the federation";
  return view.cluster === undefined ? said : `${describeView(view)}; ${said}`;
}

function describeView({ cluster = "outside", locality, isByLocation }: View): string {
  const near =
    locality === undefined ? "" : `, near ${[locality.zone, locality.region].filter(Boolean).join(" in ")}`;
  return `seen from ${cluster}${near}${isByLocation === true ? " (by location)" : ""}`;
}

/**
 * The same for a name out of zone: `forwarded to dns.example.net; cached 12 s ago`,
 * `forwarded, but no upstream answered`.
 */
function describeOrigin({ upstream, ageSeconds, isStale }: AnswerOrigin): string {
  if (upstream === undefined) return "forwarded, but no upstream answered";
  const cached = ageSeconds > 0 || isStale ? `; cached ${ageSeconds} s ago` : "";
  const stale = isStale ? "; stale: no newer answer was available" : "";
  return `forwarded to ${upstream}${cached}${stale}`;
}
