import type { Answered, Endpoint, Unanswered } from "../../answer/answer-query.ts";
import type { LimitCounters } from "../../limits/counters.ts";
import { explainRoute } from "../explain.ts";
import { jsonRoute, type QueryRoute, READING_METHODS, readingRoute } from "../json.ts";
import { OTHER_STATUS } from "../messages/codes.ts";
import {
  ANY_ORIGIN,
  acceptQuality,
  base64urlLength,
  crossOriginHeaders,
  DNS_MESSAGE,
  decodeBase64url,
  essence,
  type HttpRequest,
  type HttpResponse,
  originsOf,
  preflight,
  rawParameter,
} from "../messages/message.ts";
import { dnsPaths, type EndpointAt, formOf, type PathPolicies } from "../route-table.ts";
import {
  cacheControl,
  type RuleAnswers,
  rejectMethod,
  rejectUnanswered,
  type SharedParts,
  varyByCredential,
} from "./rule-answers.ts";

/** The methods of a DNS resource. */
const DNS_METHODS = "GET, HEAD, POST, OPTIONS";

/**
 * The DNS resource. This is the hot path: a GET needs no promise (except for credentials and stub zones) and
 * no parsed URL. It has no ETag, which costs more than it saves (RFC 8484 section 5.3).
 */
function createDnsRoute(queryBytes: number, limits: LimitCounters): QueryRoute {
  const longestParameter = base64urlLength(queryBytes) + 2;
  const decoded = new Uint8Array(queryBytes + 3);
  const fieldsOf = keptFields();

  const respond = (
    request: HttpRequest,
    answered: Answered | Unanswered,
    { origins, reject }: RuleAnswers,
  ): HttpResponse => {
    if (typeof answered === "string" || answered.retryAfter !== undefined)
      return rejectUnanswered(reject, request, answered);
    const { bytes } = answered.answer;
    // If the client's address decides whether names are forwarded, `*` does not count for forwarded answers.
    const allowed = originsOf(origins, answered.isByAddress !== true);
    const kept = fieldsOf(answered, allowed === "*");
    if (allowed === "*" || allowed.length === 0) return { status: 200, headers: kept, body: bytes };
    const headers: Record<string, string> = { ...kept, ...crossOriginHeaders(request, allowed) };
    if (answered.variesByCredential) headers.vary = varyByCredential(headers.vary);
    return { status: 200, headers, body: bytes };
  };

  const answer = (
    request: HttpRequest,
    query: Uint8Array,
    answers: RuleAnswers,
    endpoint: Endpoint,
  ): ReturnType<QueryRoute> => {
    const answered = answers.answerQuery(request, query, endpoint);
    return answered instanceof Promise
      ? answered.then((late) => respond(request, late, answers))
      : respond(request, answered, answers);
  };

  const rejectAccept = (request: HttpRequest, { reject }: RuleAnswers): HttpResponse | undefined =>
    acceptQuality(request.header("accept"), DNS_MESSAGE) > 0
      ? undefined
      : reject(request, "NOT_ACCEPTABLE", `an answer is ${DNS_MESSAGE}, which Accept excludes`);

  const get: QueryRoute = (request, answers, endpoint) => {
    const { url } = request;
    const { reject } = answers;
    let text = rawParameter(url, "dns");
    if (text === undefined) {
      return rawParameter(url, "name") === undefined
        ? reject(
            request,
            "QUERY_MISSING",
            "the parameter dns is missing: ?dns=<DNS query in base64url> (RFC 8484), or ?name=<name>&type=<type> for JSON",
          )
        : jsonRoute(request, answers, endpoint);
    }
    const refused = rejectAccept(request, answers);
    if (refused !== undefined) return refused;
    // Some clients encode the padding; RFC 3986 section 6.2.2.2 allows that for every character.
    if (text.includes("%")) {
      const plain = percentDecoded(text);
      if (plain === undefined)
        return reject(
          request,
          "INVALID_QUERY",
          "the parameter dns has malformed percent-encoding (RFC 3986 section 2.1)",
        );
      text = plain;
    }
    const size = text.length > longestParameter ? longestParameter : decodeBase64url(text, decoded);
    if (size > queryBytes) {
      limits.hit("limits.queryBytes");
      return reject(
        request,
        "QUERY_TOO_LONG",
        `the parameter dns is longer than a query of ${queryBytes} bytes`,
        {},
        OTHER_STATUS.QUERY_TOO_LONG,
      );
    }
    if (size < 0)
      return reject(
        request,
        "INVALID_QUERY",
        "the parameter dns is not base64url (RFC 4648 section 5: A-Z a-z 0-9 - _)",
      );
    return answer(request, decoded.subarray(0, size), answers, endpoint);
  };

  const post: QueryRoute = (request, answers, endpoint) => {
    const { reject } = answers;
    const contentType = request.header("content-type");
    if (contentType !== DNS_MESSAGE && (contentType === null || essence(contentType) !== DNS_MESSAGE))
      return reject(request, "UNSUPPORTED_MEDIA_TYPE", `the body of a POST must be ${DNS_MESSAGE}`, {
        "accept-post": DNS_MESSAGE,
      });
    const coding = request.header("content-encoding")?.toLowerCase() ?? "";
    if (coding !== "" && coding !== "identity")
      return reject(
        request,
        "UNSUPPORTED_MEDIA_TYPE",
        "the body of a POST must not have a Content-Encoding",
        {
          "accept-encoding": "identity",
        },
      );
    const refused = rejectAccept(request, answers);
    if (refused !== undefined) return refused;
    const answerBody = (query: Uint8Array | undefined) => {
      if (query !== undefined) return answer(request, query, answers, endpoint);
      limits.hit("limits.queryBytes");
      return reject(request, "QUERY_TOO_LONG", `the body is longer than ${queryBytes} bytes`);
    };
    const rejectCutOff = () => reject(request, "UNREADABLE_BODY", "the body ended before it was complete");
    let body: ReturnType<HttpRequest["body"]>;
    try {
      body = request.body(queryBytes);
    } catch {
      return rejectCutOff();
    }
    return body instanceof Promise ? body.then(answerBody, rejectCutOff) : answerBody(body);
  };

  return (request, answers, endpoint) => {
    switch (request.method) {
      case "GET":
      case "HEAD":
        return get(request, answers, endpoint);
      case "POST":
        return post(request, answers, endpoint);
      case "OPTIONS":
        return preflight(request, DNS_METHODS, answers.origins);
      default:
        return rejectMethod(request, answers, DNS_METHODS);
    }
  };
}

/** Undefined if the percent-encoding is malformed. */
function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The number of cached header objects: the answers of a zone have few lengths and lifetimes. */
const MOST_KEPT = 4096;

/**
 * The header fields of answers that any origin may read, or none. Most answers have the same few lengths and
 * lifetimes. A new object for each answer would be most of the cost of header fields, so the objects are
 * cached. Callers must not change them.
 */
export function keptFields() {
  const kept = new Map<number, Readonly<Record<string, string>>>();
  return (
    answered: Pick<Answered, "answer" | "isPrivate" | "variesByCredential">,
    anyOrigin: boolean,
  ): Readonly<Record<string, string>> => {
    const { answer, isPrivate, variesByCredential } = answered;
    const { length } = answer.bytes;
    const flags = Number(isPrivate) | (Number(variesByCredential) << 1) | (Number(anyOrigin) << 2);
    const key = (answer.freshness * 8 + flags) * 0x10000 + length;
    const known = kept.get(key);
    if (known !== undefined) return known;
    if (kept.size >= MOST_KEPT) kept.clear();
    const fields = Object.freeze({
      "content-length": String(length),
      "content-type": DNS_MESSAGE,
      "cache-control": cacheControl(answered),
      ...(anyOrigin && ANY_ORIGIN),
      ...(variesByCredential && { vary: varyByCredential(undefined) }),
    });
    kept.set(key, fields);
    return fields;
  };
}

/** The DNS resource or JSON form of a path. */
export interface DnsPath {
  /** The Allow field. */
  readonly methods: string;
  answer(request: HttpRequest, answers: RuleAnswers): HttpResponse | Promise<HttpResponse>;
}

/** The parts of the paths. */
export interface DnsPathsParts extends Pick<SharedParts, "counters"> {
  /** The answers to names out of zone, by path. */
  readonly policies: PathPolicies;
  /** The longest accepted query in bytes; a DNS message has 65,535 at most (RFC 8484 section 6). */
  readonly queryBytes: number;
}

/** The DNS resources with their JSON forms, for clients in general and in the view of one cluster. */
export function createDnsPaths({ policies, queryBytes, counters }: DnsPathsParts, endpointAt: EndpointAt) {
  const forms = {
    "dns-query": { methods: DNS_METHODS, route: createDnsRoute(queryBytes, counters.limits) },
    resolve: { methods: READING_METHODS, route: readingRoute(jsonRoute) },
    explain: { methods: READING_METHODS, route: readingRoute(explainRoute) },
  };
  const pathOf = ({ methods, route }: { methods: string; route: QueryRoute }, place: string): DnsPath => {
    const endpoint = endpointAt(place);
    return { methods, answer: (request, answers) => route(request, answers, endpoint) };
  };
  /** By path, without those of clusters. */
  const plain = new Map([
    ...dnsPaths(policies).map((path) => [path, pathOf(forms["dns-query"], path)] as const),
    ["/resolve", pathOf(forms.resolve, "/resolve")],
    ["/explain", pathOf(forms.explain, "/resolve")],
  ]);
  const ofCluster = (path: string): DnsPath | undefined => {
    const { form, cluster } = formOf(path) ?? {};
    if (form === undefined || cluster === undefined) return undefined;
    const { methods, route } = forms[form];
    return {
      methods,
      answer: (request, answers) =>
        answers.gateway.hasCluster(cluster)
          ? route(request, answers, endpointAt("/clusters", cluster))
          : answers.reject(
              request,
              "NOT_FOUND",
              "no cluster with this id has pushed to this gateway; /dns-query answers for clients outside the clusters",
            ),
    };
  };
  return {
    plain,
    /** Undefined for other paths. */
    at: (path: string) => plain.get(path) ?? ofCluster(path),
  };
}
