import type { Client } from "../access/client/client.ts";
import { andThen, type MaybePromise } from "../access/maybe-promise.ts";
import type { AccessRule } from "../access/rules/access-rule.ts";
import type { Admitted, NotAdmitted } from "../access/rules/admission.ts";
import type { AccessControl } from "../access/rules/admit.ts";
import { QueryCounters } from "../answer/query-counters.ts";
import type { ServingStatus } from "../gateway/gateway-types.ts";
import type { ClientRate } from "../limits/client-rate.ts";
import type { Load } from "../limits/load.ts";
import type { Background } from "../transfer/secondary.ts";
import { type AuditLog, auditTurnedAway } from "./audit/audit.ts";
import { createAdmittedPaths } from "./doh/admitted-paths.ts";
import { CLUSTER_PATHS, createDnsPaths } from "./doh/dns-paths.ts";
import { createDnsRoute, LONGEST_MESSAGE } from "./doh/dns-route.ts";
import { createEndpointAt, dnsPaths, type PathPolicies } from "./doh/endpoints.ts";
import { createRuleAnswers, type RuleAnswers, type RuleParts, type SharedParts } from "./doh/rule-answers.ts";
import { createExplainRoute } from "./explain.ts";
import { createHono, type OwnRoutes } from "./hono-routes.ts";
import { createJsonRoute, createResolveRoute } from "./json/json-route.ts";
import type { KnowsHost } from "./messages/fields.ts";
import { type AllowedOrigins, NO_ORIGIN, originsOf } from "./messages/fields.ts";
import type { Handler, HttpRequest, HttpResponse } from "./messages/message.ts";
import { FetchRequest, pathOf, toResponse } from "./messages/message.ts";
import { createReject, NOTHING_HERE } from "./messages/rejection.ts";
import { AccessCounters } from "./metrics/access-counters.ts";
import { createRequestGate } from "./request-gate.ts";

/** The parts of the application. */
export interface AppParts
  extends OwnRoutes,
    Omit<SharedParts, "counters" | "clientAddress" | "endpointAt" | "zones" | "allowedOrigins"> {
  readonly access: AccessControl;
  /** Makes the sources of answers for the clients of a rule; called once for each rule. */
  readonly within: (rule: AccessRule) => RuleParts;
  /** The gateway whose readiness is public. */
  readonly gateway: { status(): ServingStatus };
  /** The served zones, for the pages. */
  readonly zones: readonly string[];
  readonly counters?: QueryCounters;
  readonly accessCounters?: AccessCounters;
  /** The answers to names out of zone, by path. Default: REFUSED. */
  readonly policies?: PathPolicies;
  /** Default: none. */
  readonly allowedOrigins?: AllowedOrigins;
  /** The longest accepted DNS query in bytes. Default and maximum: 65,535. */
  readonly queryBytes?: number;
  /** The limit on requests of each client. Default: none. */
  readonly rate?: ClientRate | undefined;
  /** Requests for other hosts get 421. Default: none do. */
  readonly knowsHost?: KnowsHost | undefined;
  /** The load of the process, above which requests that can wait get 503. Default: none. */
  readonly load?: Load | undefined;
  /** Audits requests of APIs that are rejected before any route. */
  readonly audit?: AuditLog | undefined;
  /** Called for every error that became a 500. */
  readonly onError?: (error: Error) => void;
}

/** The HTTP application, the same on every host. */
export interface App {
  /** @param background runs work that continues after the response */
  fetch(request: Request, client?: Partial<Client>, background?: Background): MaybePromise<Response>;
  /** The handler of DNS or JSON at a path, for hosts without a Request object; undefined if only `fetch` answers. */
  handlerAt(path: string): Handler | undefined;
  /** Makes the response if a handler threw. */
  failed(request: HttpRequest, error: unknown): HttpResponse;
  /** All routes, in the form of Hono. */
  readonly routes: readonly { readonly method: string; readonly path: string }[];
}

/** Paths without an access rule: they have credentials of their own, or reveal nothing. */
const WITHOUT_RULE = /^\/(?:api\/|federations(?:\/|$)|healthz$)/;

/** The Retry-After field while the keys of a client's issuer are unavailable, in seconds. */
const RETRY_AFTER = 30;

const REFUSE_ALL: PathPolicies = { default: "refuse", byPath: new Map() };

/**
 * The DNS resource (RFC 8484), its JSON forms, the push API, health, metrics, the pages. Except for routes with credentials of
 * their own, an access rule admits each request, and answers have only what the rule's clients may see.
 */
export function createApp(parts: AppParts): App {
  const { access, policies = REFUSE_ALL, allowedOrigins = NO_ORIGIN, counters = new QueryCounters() } = parts;
  const { accessCounters = new AccessCounters(), clock } = parts;
  const { clientAddress } = access;
  const queryBytes = Math.min(parts.queryBytes ?? LONGEST_MESSAGE, LONGEST_MESSAGE);
  // A rejection before admission has the CORS fields of public answers.
  const openOrigins = originsOf(allowedOrigins, access.rules.public !== undefined);
  const reject = createReject(openOrigins, counters);
  const gate = createRequestGate({
    ...{ rate: parts.rate, load: parts.load, knowsHost: parts.knowsHost, clientAddress, reject },
    counters: counters.limits,
    dnsPaths: dnsPaths(policies),
    onRejection: auditTurnedAway({ audit: parts.audit, clientAddress }),
  });
  const endpointAt = createEndpointAt(policies);
  const shared: SharedParts = { ...parts, counters, clientAddress, endpointAt, allowedOrigins };
  const answersOf = new Map<AccessRule, RuleAnswers>(
    access.rules.all.map((rule) => [rule, createRuleAnswers(shared, rule, access.kinds, parts.within(rule))]),
  );

  const answerJson = createJsonRoute({ clock });
  const answerDns = createDnsRoute({ queryBytes, answerJson, limits: counters.limits });
  const resolveJson = createResolveRoute(answerJson);
  const explainJson = createExplainRoute({ clock });
  const dns = createDnsPaths({ endpointAt, policies, answerDns, resolveJson, explainJson });

  /** Paths without an access rule have credentials of their own, which pages of other origins must not use. */
  const rejectOwn = createReject(NO_ORIGIN, counters);
  const notFound = (request: HttpRequest, answers?: RuleAnswers) =>
    (answers?.reject ?? rejectOwn)(request, 404, "NOT_FOUND", NOTHING_HERE);
  const failed = (request: HttpRequest, error: unknown) => {
    parts.onError?.(error instanceof Error ? error : new Error(String(error)));
    return reject(request, 500, "INTERNAL", "the gateway failed to answer; its log has the reason");
  };

  /** Rejects a request; the response does not depend on its path, only on the rules and the credential. */
  const notAdmitted = (request: HttpRequest, rejection: NotAdmitted): HttpResponse => {
    const { outcome, status, code, message, challenge } = rejection;
    accessCounters.rejected(outcome);
    const headers = {
      ...(challenge !== undefined && { "www-authenticate": challenge }),
      ...(status === 503 && { "retry-after": String(RETRY_AFTER) }),
    };
    return reject(request, status, code, message, headers);
  };

  const answersFor = ({ rule }: Admitted): RuleAnswers => {
    accessCounters.admitted(rule.name);
    return answersOf.get(rule)!;
  };

  const handlerAt = createAdmittedPaths({
    ...{ dns, access, gate, notAdmitted, answersFor, notFound },
    origins: openOrigins,
  });

  const hono = createHono(parts, counters, {
    notFound,
    failed,
    notAllowed: (request, answers) =>
      (answers?.reject ?? rejectOwn)(
        request,
        405,
        "METHOD_NOT_ALLOWED",
        `${request.method} is not for this path: GET, HEAD`,
        { allow: "GET, HEAD" },
      ),
  });

  const fetchAdmitted = (
    request: Request,
    client: Partial<Client>,
    { path, isByHost }: Admitted,
    answers: RuleAnswers,
  ): MaybePromise<Response> => {
    if (path === undefined)
      return hono.fetch(request, { client, answers, ...(isByHost && { urlToken: { prefix: "" } }) });
    const { method, headers } = request;
    // Routes with a request body are handlers of their own, or have credentials of their own.
    return hono.fetch(new Request(path.url, { method, headers }), { client, answers, urlToken: path });
  };

  /** Details for clients who see everything; readiness for all. */
  const fetchReadiness = (
    asked: FetchRequest,
    request: Request,
    client: Partial<Client>,
    background: Background | undefined,
  ): MaybePromise<Response> =>
    andThen(access.admit(asked), (admission) => {
      const own = admission.rule && answersOf.get(admission.rule);
      const answers = own?.seesEverything === true ? own : undefined;
      const [first] = answersOf.values();
      return andThen((answers ?? first)?.prepare?.(background), () =>
        answers === undefined || admission.rule === undefined
          ? hono.fetch(request, { client })
          : fetchAdmitted(request, client, admission, answers),
      );
    });

  const route = (
    asked: FetchRequest,
    request: Request,
    client: Partial<Client>,
    background: Background | undefined,
  ): MaybePromise<Response> => {
    const path = pathOf(asked.url);
    const hasOwnCredentials = WITHOUT_RULE.test(path);
    const handler = hasOwnCredentials || path === "/readyz" ? undefined : handlerAt(path);
    if (handler !== undefined)
      return andThen(handler(asked, background), (response) =>
        toResponse(request.method === "HEAD" ? { ...response, body: null } : response),
      );
    const rejected = gate?.(asked);
    if (rejected !== undefined) return toResponse(rejected);
    if (hasOwnCredentials) return hono.fetch(request, { client });
    if (path === "/readyz") return fetchReadiness(asked, request, client, background);
    return andThen(access.admit(asked), (admission) => {
      if (admission.rule === undefined) return toResponse(notAdmitted(asked, admission));
      const answers = answersFor(admission);
      return andThen(answers.prepare?.(background), () => fetchAdmitted(request, client, admission, answers));
    });
  };

  return {
    handlerAt,
    failed,
    routes: [
      ...[...dns.plain.keys(), ...CLUSTER_PATHS].map((path) => ({ method: "ALL", path })),
      ...hono.routes,
    ],
    fetch(request, client = {}, background) {
      const asked = new FetchRequest(request, client);
      const fail = (error: unknown) => toResponse(failed(asked, error));
      try {
        const answered = route(asked, request, client, background);
        return answered instanceof Promise ? answered.catch(fail) : answered;
      } catch (error) {
        return fail(error);
      }
    },
  };
}
