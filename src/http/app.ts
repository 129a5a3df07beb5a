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
  /** What secondaries take images over by, mounted at `/api/v1/transfer`. */
  readonly transferRoutes?: Hono<AppEnvironment>;
  /** The registration of stub zones, mounted at `/federations`. */
  readonly stubRoutes?: Hono<AppEnvironment>;
}

/** What the application is put together from. */
export interface AppParts
  extends OwnRoutes,
    Omit<SharedParts, "counters" | "clientAddress" | "endpointAt" | "zones" | "allowedOrigins"> {
  readonly access: AccessControl;
  /** What the clients of a rule are answered with; called once for each rule. */
  readonly within: (rule: AccessRule) => RuleParts;
  /** The gateway whose readiness everybody may see. */
  readonly gateway: { status(): ServingStatus };
  /** The zones that are served, for the pages. */
  readonly zones: readonly string[];
  readonly counters?: QueryCounters;
  readonly accessCounters?: AccessCounters;
  /** The client's real address, by which forwarding is limited. Default: the socket's. */
  readonly clientAddress?: ClientAddress;
  /** What names out of zone get, by path. Default: REFUSED. */
  readonly policies?: PathPolicies;
  /** Default: none. */
  readonly allowedOrigins?: AllowedOrigins;
  /** The longest DNS query that is read, in bytes. Default and most: 65,535. */
  readonly queryBytes?: number;
  /** The rate of requests of each client. Default: no limit. */
  readonly rate?: ClientRate | undefined;
  /** Requests for other hosts get 421. Default: none do. */
  readonly knowsHost?: KnowsHost | undefined;
  /** The load of the process, above which requests that can wait get 503. Default: none. */
  readonly load?: Load | undefined;
  /** Takes pushes and the like that are turned away before any route sees them. */
  readonly audit?: AuditLog | undefined;
  /** Told of every error that became a 500. */
  readonly onError?: (error: Error) => void;
}

/** The HTTP application: the one way in on every host. */
export interface App {
  /** @param background takes work that goes on after the response */
  fetch(request: Request, client?: Partial<Client>, background?: Background): MaybePromise<Response>;
  /** What answers DNS and JSON at a path, for hosts that need no Request; undefined where only `fetch` answers. */
  exchangeAt(path: string): Exchange | undefined;
  /** Makes the response where an exchange threw. */
  failed(request: HttpRequest, error: unknown): HttpResponse;
  /** All routes, in the form of Hono. */
  readonly routes: readonly { readonly method: string; readonly path: string }[];
}

/** Paths that no access rule is asked for: they have credentials of their own, or tell nothing. */
const WITHOUT_RULE = /^\/(?:api\/|federations(?:\/|$)|healthz$)/;

/** How long a client is told to wait while the keys of its issuer cannot be had, in seconds. */
const RETRY_AFTER = 30;

const REFUSE_ALL: PathPolicies = { default: "refuse", byPath: new Map() };

/**
 * The DNS resource (RFC 8484), its JSON forms, the push API, health, metrics, the pages. Each request, but for those with credentials of
 * their own, passes an access rule, and is answered from what exists for the rule's clients.
 */
export function createApp(parts: AppParts): App {
  const { access, policies = REFUSE_ALL, allowedOrigins = NO_ORIGIN, counters = new QueryCounters() } = parts;
  const { accessCounters = new AccessCounters(), clientAddress = socketAddress } = parts;
  const { clock } = parts;
  const queryBytes = Math.min(parts.queryBytes ?? LONGEST_MESSAGE, LONGEST_MESSAGE);
  // Whose rule is not known yet gets what everybody gets.
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

  /** Paths without an access rule have credentials of their own, which no page of another origin is for. */
  const refuseOwn = createRefuse(NO_ORIGIN, counters);
  const notFound = (request: HttpRequest, answers?: RuleAnswers) =>
    (answers?.refuse ?? refuseOwn)(request, 404, NOTHING_HERE);
  const failed = (request: HttpRequest, error: unknown) => {
    parts.onError?.(error instanceof Error ? error : new Error(String(error)));
    return refuse(request, 500, "the gateway failed to answer; its log has the reason");
  };

  /** The same whatever is asked for: it depends on what rules there are and on what is shown. */
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

  /** A preflight has to be answered before anybody can show anything (Fetch standard, section 4.8); it tells nothing. */
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

  /** A path behind a token, which is any other path where the token is not known. */
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
    // What takes a body is an exchange, or has credentials of its own.
    return hono.fetch(new Request(path.url, { method, headers }), { client, answers, urlToken: path });
  };

  /** Details for who sees everything; whether it is ready for everybody. */
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

/** The routes of all that is neither DNS nor JSON. */
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

/** Whether GET and HEAD are answered at a path: pages, files, health and metrics. */
function answersGet(app: Hono<AppEnvironment>, path: string, answers: RuleAnswers | undefined): boolean {
  const [handlers] = app.router.match("GET", path);
  if (handlers.length === 0 || path === "/healthz" || path === "/readyz") return handlers.length > 0;
  return path === "/metrics" ? answers?.metrics !== undefined : answers?.pages !== undefined;
}
