import type { KnownKinds } from "../../access/admission.ts";
import { createViewReader, type ViewSettings } from "../../access/client.ts";
import { type AccessRule, hidesAnything, seesEverything } from "../../access/rule.ts";
import {
  type Answered,
  type AnswerQuery,
  createAnswerQuery,
  type QueryParts,
  type Unanswered,
} from "../../answer/answer-query.ts";
import type { DohGateway } from "../../gateway/gateway-types.ts";
import type { Background } from "../../transfer/secondary.ts";
import { createReject, type Reject } from "../messages/errors.ts";
import { type AllowedOrigins, type HttpRequest, type HttpResponse, originsOf } from "../messages/message.ts";
import type { MetricsSource } from "../metrics/metric.ts";
import type { Listed, PageSettings } from "../pages/directory.ts";
import type { EndpointAt } from "../route-table.ts";

/** Prepares what an answer needs; undefined if it is there. */
type Prepare = (background?: Background) => Promise<void> | undefined;

/** The sources of all answers to the clients of an access rule. */
export interface RuleAnswers {
  readonly gateway: DohGateway;
  readonly answerQuery: AnswerQuery;
  readonly prepare: Prepare | undefined;
  /** The web origins whose scripts may read these answers. */
  readonly origins: AllowedOrigins;
  /** Errors after admission. */
  readonly reject: Reject;
  /** Whether the rule admits all clients. */
  readonly isPublic: boolean;
  /** Whether they may see counts over everything. */
  readonly seesEverything: boolean;
  /** Undefined for clients who may not see them. */
  readonly metrics: MetricsSource | undefined;
  /** What is served now, for explanations; undefined while there is none. */
  readonly listed: () => Listed | undefined;
  readonly endpointAt: EndpointAt;
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** The pages show names in the first one. */
  readonly zones: readonly string[];
  readonly version: string;
  /** Undefined without pages. */
  readonly pages: PageSettings | undefined;
}

/** The parts of the pages. */
export type PageParts = RuleAnswers & PageSettings;

/** The parts that a host makes for each rule. */
export interface RuleParts {
  /** The gateway with the objects that the rule's clients may see. */
  readonly gateway: DohGateway;
  /** The lists of the pages. Default: no pages. */
  readonly pages?: PageSettings | undefined;
  /** What is served now. Default: answers are not explained. */
  readonly listed?: () => Listed | undefined;
  readonly prepare?: Prepare | undefined;
  /** The counters of the rule, if each rule has its own. */
  readonly metrics?: MetricsSource;
}

/** The parts that all rules share. */
export interface SharedParts
  extends Pick<QueryParts, "counters" | "clock" | "outside" | "stubs" | "clientAddress">,
    Pick<RuleAnswers, "zones" | "version" | "endpointAt"> {
  /** The configured web origins; `*` counts for the rule `public` only. */
  readonly allowedOrigins: AllowedOrigins;
  /** The settings that decide the view of queries, beside the path. Default: none. */
  readonly views?: ViewSettings | undefined;
  readonly metrics?: MetricsSource | undefined;
}

/** @param kinds the credentials of the other rules' clients */
export function createRuleAnswers(
  shared: SharedParts,
  rule: AccessRule,
  kinds: KnownKinds,
  { gateway, pages, prepare, listed = () => undefined, metrics = shared.metrics }: RuleParts,
): RuleAnswers {
  const { counters, clock, stubs, zones, version, endpointAt } = shared;
  const { credentials, ...views } = shared.views ?? {};
  const answerQuery = createAnswerQuery({
    ...shared,
    gateway,
    rule: rule.name,
    cluster: rule.visibility.view,
    views: createViewReader({ ...views, ...(rule.isPublic && { credentials }) }, (id) =>
      gateway.hasCluster(id),
    ),
    sharing: {
      isPrivate: !rule.isPublic || kinds.unseen,
      variesByCredential: kinds.bearer || kinds.basic,
    },
    // The gateway cannot know which records of other name servers it would have to hide.
    stubs: hidesAnything(rule) ? undefined : stubs,
  });
  const origins = originsOf(shared.allowedOrigins, rule.isPublic);
  return {
    gateway,
    answerQuery,
    prepare,
    origins,
    listed,
    reject: createReject(origins, counters),
    isPublic: rule.isPublic,
    seesEverything: seesEverything(rule),
    metrics: seesEverything(rule) ? metrics : undefined,
    clock,
    version,
    endpointAt,
    zones: aliasesFirst(zones),
    pages,
  };
}

/**
 * Browsers and Apple's systems reserve `.local` for multicast DNS (RFC 6762), so other zones are better
 * examples.
 */
function aliasesFirst(zones: readonly string[]): readonly string[] {
  const names = zones.map((zone) => zone.replace(/\.$/, "").toLowerCase());
  const isLocal = (zone: string) => /(?:^|\.)local$/.test(zone);
  return [...names.filter((zone) => !isLocal(zone)), ...names.filter(isLocal)];
}

/**
 * The error instead of an answer: the bytes are not a query, the token is unknown, or the client exceeded its
 * limit.
 */
export function rejectUnanswered(
  reject: Reject,
  request: HttpRequest,
  answered: Unanswered | Pick<Answered, "retryAfter">,
): HttpResponse {
  const message = describeUnanswered(answered);
  if (answered === "no-query") return reject(request, "INVALID_QUERY", message);
  if (answered === "unknown-token")
    return reject(request, "UNKNOWN_TOKEN", message, {
      "www-authenticate": 'Bearer realm="clusterset-doh", error="invalid_token"',
    });
  return reject(request, "TOO_MANY_REQUESTS", message, { "retry-after": String(answered.retryAfter) });
}

/** The error for a method that a resource does not have. @param allow those that it has */
export function rejectMethod(
  request: HttpRequest,
  { reject }: { readonly reject: Reject },
  allow: string,
): HttpResponse {
  return reject(request, "METHOD_NOT_ALLOWED", `${request.method} is not for this path: ${allow}`, {
    allow,
  });
}

/** The error as text. */
export function describeUnanswered(answered: Unanswered | Pick<Answered, "retryAfter">): string {
  if (answered === "no-query") return "this is not a DNS query: it needs a header of 12 bytes with QR 0";
  return answered === "unknown-token" ? "the gateway does not know this bearer token" : TOO_MANY;
}

/**
 * The Cache-Control field of an answer; `isPrivate` ones are for the client only (RFC 9111 section 5.2.2.7).
 */
export function cacheControl({ answer, isPrivate }: Pick<Answered, "answer" | "isPrivate">): string {
  if (answer.freshness <= 0) return "no-store";
  return isPrivate ? `private, max-age=${answer.freshness}` : `max-age=${answer.freshness}`;
}

/** The Vary field of an answer that also depends on the Authorization field. */
export function varyByCredential(vary: string | undefined): string {
  return vary === undefined ? "authorization" : `authorization, ${vary}`;
}

const TOO_MANY =
  "this client queries too many forwarded names; names of the gateway's own zones are answered";
