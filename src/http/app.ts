import { Hono } from "hono";
import type { Client } from "../access/client/client.ts";
import { type ClientAddress, socketAddress } from "../access/client/client-address.ts";
import { andThen, type MaybePromise } from "../access/maybe-promise.ts";
import type { AccessRule } from "../access/rules/access-rule.ts";
import type { Admission, Admitted, NotAdmitted } from "../access/rules/admission.ts";
import type { AccessControl } from "../access/rules/admit.ts";
import { readPathToken } from "../access/rules/path-token.ts";
import { QueryCounters } from "../answer/query-counters.ts";
import type { ServingStatus } from "../gateway/gateway-types.ts";
import type { ClientRate } from "../limits/client-rate.ts";
import type { Load } from "../limits/load.ts";
import type { Background } from "../transfer/secondary.ts";
import { type AuditLog, auditTurnedAway } from "./audit/audit.ts";
import { CLUSTER_PATHS, createDnsPaths, type DnsPath } from "./doh/dns-paths.ts";
import { createDnsRoute, LONGEST_MESSAGE } from "./doh/dns-route.ts";
import { createEndpointAt, dnsPaths, type PathPolicies } from "./doh/endpoints.ts";
import { type AllowedOrigins, NO_ORIGIN, originsOf, preflight } from "./exchange/cross-origin.ts";
import type { AppEnvironment } from "./exchange/environment.ts";
import type { Exchange, HttpRequest, HttpResponse } from "./exchange/exchange.ts";
import { FetchRequest, toResponse } from "./exchange/fetch-exchange.ts";
import { prefersHtml } from "./exchange/media-type.ts";
import { createRefuse, NOTHING_HERE } from "./exchange/refusal.ts";
import { pathOf, ReroutedRequest } from "./exchange/request-path.ts";
import { mountHealthRoutes } from "./health-routes.ts";
import { createJsonRoute, createResolveRoute } from "./json/json-route.ts";
import type { KnowsHost } from "./known-hosts.ts";
import { AccessCounters } from "./metrics/access-counters.ts";
import { notFoundPage } from "./pages/not-found-page.ts";
import { pageResponse } from "./pages/page.ts";
import { createPages } from "./pages/routes.ts";
import { createRequestGate } from "./request-gate.ts";
import { createRuleAnswers, type RuleAnswers, type RuleParts, type SharedParts } from "./rule-answers.ts";

/** Routes with credentials of their own. */
export interface OwnRoutes {
  /** The push API, mounted at `/api/v1/clusters`. */
  readonly pushRoutes?: Hono<AppEnvironment>;
  /** The transfer of images to secondaries, mounted at `/api/v1/transfer`. */
  readonly transferRoutes?: Hono<AppEnvironment>;
  /** The registration of stub zones, mounted at `/federations`. */
  readonly stubRoutes?: Hono<AppEnvironment>;
}

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
  /** Finds the client's real address, for the limit on forwarding. Default: the socket's. */
  readonly clientAddress?: ClientAddress;
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
  exchangeAt(path: string): Exchange | undefined;
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
  const { accessCounters = new AccessCounters(), clientAddress = socketAddress } = parts;
  const { clock } = parts;
  const queryBytes = Math.min(parts.queryBytes ?? LONGEST_MESSAGE, LONGEST_MESSAGE);
  // A rejection before admission has the CORS fields of public answers.
  const openOrigins = originsOf(allowedOrigins, access.rules.public !== undefined);
  const refuse = createRefuse(openOrigins, counters);
  const gate = createRequestGate({
    ...{ rate: parts.rate, load: parts.load, knowsHost: parts.knowsHost, clientAddress, refuse },
    counters: counters.limits,
    dnsPaths: dnsPaths(policies),
    onRefusal: auditTurnedAway({ audit: parts.audit, clientAddress }),
  });
  const endpointAt = createEndpointAt(policies);
  const shared: SharedParts = { ...parts, counters, clientAddress, endpointAt, allowedOrigins };
  const answersOf = new Map<AccessRule, RuleAnswers>(
    access.rules.all.map((rule) => [rule, createRuleAnswers(shared, rule, access.kinds, parts.within(rule))]),
  );

  const answerJson = createJsonRoute({ clock });
  const answerDns = createDnsRoute({ queryBytes, answerJson, limits: counters.limits });
  const resolveJson = createResolveRoute(answerJson);
  const dns = createDnsPaths({ endpointAt, policies, answerDns, resolveJson });

  /** Paths without an access rule have credentials of their own, which pages of other origins must not use. */
  const refuseOwn = createRefuse(NO_ORIGIN, counters);
  const notFound = (request: HttpRequest, answers?: RuleAnswers) =>
    (answers?.refuse ?? refuseOwn)(request, 404, NOTHING_HERE);
  const failed = (request: HttpRequest, error: unknown) => {
    parts.onError?.(error instanceof Error ? error : new Error(String(error)));
    return refuse(request, 500, "the gateway failed to answer; its log has the reason");
  };

  /** Rejects a request; the response does not depend on its path, only on the rules and the credential. */
  const reject = (request: HttpRequest, rejection: NotAdmitted): HttpResponse => {
    const { outcome, status, code, message, challenge } = rejection;
    accessCounters.rejected(outcome);
    const headers = {
      ...(challenge !== undefined && { "www-authenticate": challenge }),
      ...(status === 503 && { "retry-after": String(RETRY_AFTER) }),
    };
    return refuse(request, status, message, headers, code);
  };

  const answersFor = ({ rule }: Admitted): RuleAnswers => {
    accessCounters.admitted(rule.name);
    return answersOf.get(rule)!;
  };

  const answerAdmitted = (
    request: HttpRequest,
    admission: Admission,
    at: DnsPath,
    background: Background | undefined,
  ): MaybePromise<HttpResponse> => {
    if (admission.rule === undefined) return reject(request, admission);
    const answers = answersFor(admission);
    const ready = answers.prepare?.(background);
    return ready === undefined ? at.answer(request, answers) : ready.then(() => at.answer(request, answers));
  };

  /** A preflight has no credentials (Fetch standard, section 4.8), and its answer reveals nothing. */
  const exchangeOf =
    (at: DnsPath): Exchange =>
    (request, background) => {
      const rejected = gate?.(request);
      if (rejected !== undefined) return rejected;
      if (request.method === "OPTIONS") return preflight(request, at.methods, openOrigins);
      const admission = access.admit(request);
      return admission instanceof Promise
        ? admission.then((late) => answerAdmitted(request, late, at, background))
        : answerAdmitted(request, admission, at, background);
    };

  /** A path after a token; if the token is unknown, it is a path like any other. */
  const answerByToken: Exchange = (request, background) =>
    gate?.(request) ??
    andThen(access.admit(request), (admission) => {
      const url = admission.rule === undefined ? undefined : admission.path?.url;
      const at = url === undefined ? undefined : dns.at(pathOf(url));
      if (url !== undefined && at !== undefined)
        return answerAdmitted(new ReroutedRequest(request, url), admission, at, background);
      return answerAdmitted(request, admission, { methods: "", answer: notFound }, background);
    });

  const plain = new Map([...dns.plain].map(([path, at]) => [path, exchangeOf(at)]));
  const exchangeAt = (path: string): Exchange | undefined => {
    const known = plain.get(path);
    if (known !== undefined) return known;
    const at = dns.at(path);
    if (at !== undefined) return exchangeOf(at);
    const token = readPathToken(path);
    return token !== undefined && dns.at(token.url) !== undefined ? answerByToken : undefined;
  };

  const hono = createHono(parts, counters, {
    notFound,
    failed,
    notAllowed: (request, answers) =>
      (answers?.refuse ?? refuseOwn)(request, 405, `${request.method} is not for this path: GET, HEAD`, {
        allow: "GET, HEAD",
      }),
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
    const exchange = hasOwnCredentials || path === "/readyz" ? undefined : exchangeAt(path);
    if (exchange !== undefined)
      return andThen(exchange(asked, background), (response) =>
        toResponse(request.method === "HEAD" ? { ...response, body: null } : response),
      );
    const rejected = gate?.(asked);
    if (rejected !== undefined) return toResponse(rejected);
    if (hasOwnCredentials) return hono.fetch(request, { client });
    if (path === "/readyz") return fetchReadiness(asked, request, client, background);
    return andThen(access.admit(asked), (admission) => {
      if (admission.rule === undefined) return toResponse(reject(asked, admission));
      const answers = answersFor(admission);
      return andThen(answers.prepare?.(background), () => fetchAdmitted(request, client, admission, answers));
    });
  };

  return {
    exchangeAt,
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

/** All routes except DNS and JSON. */
function createHono(
  parts: AppParts,
  counters: QueryCounters,
  ends: {
    readonly notFound: (request: HttpRequest, answers?: RuleAnswers) => HttpResponse;
    readonly notAllowed: (request: HttpRequest, answers?: RuleAnswers) => HttpResponse;
    readonly failed: App["failed"];
  },
): Hono<AppEnvironment> {
  const { pushRoutes, transferRoutes, stubRoutes } = parts;
  const app = new Hono<AppEnvironment>();
  if (pushRoutes !== undefined) {
    app.use("/api/v1/clusters/*", async (c, next) => {
      await next();
      counters.pushed(c.req.method, c.res.status);
    });
    app.route("/api/v1/clusters", pushRoutes);
  }
  if (transferRoutes !== undefined) app.route("/api/v1/transfer", transferRoutes);
  if (stubRoutes !== undefined) app.route("/federations", stubRoutes);
  mountHealthRoutes(app, parts.gateway, parts.clock);
  app.route("/", createPages());

  app.notFound((c) => {
    const request = new FetchRequest(c.req.raw, c.env?.client);
    const { method, path } = c.req;
    const isThere = method !== "GET" && method !== "HEAD" && answersGet(app, path, c.env?.answers);
    if (isThere) return toResponse(ends.notAllowed(request, c.env?.answers));
    const pages = c.env?.answers?.pages;
    if (pages === undefined || !prefersHtml(request.header("accept")))
      return toResponse(ends.notFound(request, c.env?.answers));
    counters.rejected(404);
    return pageResponse(notFoundPage(), pages.version, c.env.urlToken?.prefix);
  });
  app.onError((error, c) => toResponse(ends.failed(new FetchRequest(c.req.raw, c.env?.client), error)));
  return app;
}

/** Whether a path answers GET and HEAD: pages, files, health and metrics. */
function answersGet(app: Hono<AppEnvironment>, path: string, answers: RuleAnswers | undefined): boolean {
  const [handlers] = app.router.match("GET", path);
  if (handlers.length === 0 || path === "/healthz" || path === "/readyz") return handlers.length > 0;
  return path === "/metrics" ? answers?.metrics !== undefined : answers?.pages !== undefined;
}
