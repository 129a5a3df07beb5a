import type { Env } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import { Hono } from "hono/tiny";
import type { AccessControl } from "../access/admission.ts";
import type { Client } from "../access/client.ts";
import type { AccessRule, Admission, Admitted, NotAdmitted } from "../access/rule.ts";
import { andThen, type MaybePromise } from "../access/url-tokens.ts";
import type { AccessCounters, QueryCounters } from "../answer/query-counters.ts";
import type { ServingStatus } from "../gateway/gateway-types.ts";
import type { ClientRate } from "../limits/client-rate.ts";
import type { Load } from "../limits/load.ts";
import type { Background } from "../transfer/secondary.ts";
import { type AuditLog, auditTurnedAway } from "./audit.ts";
import { createAdmittedPaths, createDnsPaths } from "./doh/dns-paths.ts";
import { createDnsRoute } from "./doh/dns-route.ts";
import {
  createRuleAnswers,
  type RuleAnswers,
  type RuleParts,
  rejectMethod,
  type SharedParts,
} from "./doh/rule-answers.ts";
import { createExplainRoute } from "./explain.ts";
import { createJsonRoute, readingRoute } from "./json.ts";
import type { AppEnvironment } from "./messages/environment.ts";
import { createReject, NOTHING_HERE } from "./messages/errors.ts";
import { JSON_TYPE, type KnowsHost, NO_ORIGIN, originsOf, prefersHtml } from "./messages/fields.ts";
import {
  FetchRequest,
  type Handler,
  type HttpRequest,
  type HttpResponse,
  pathOf,
  toResponse,
} from "./messages/message.ts";
import { mountHealthRoutes } from "./metrics/health-routes.ts";
import type { OpenApi } from "./openapi/open-api.ts";
import { createLoginRoutes, loginPage, withSession } from "./pages/login.ts";
import { notFoundPage, pageResponse } from "./pages/page.ts";
import { createPages } from "./pages/routes.ts";
import { CLUSTER_PATHS, createEndpointAt, dnsPaths, MOUNTS, type PathPolicies, rowOf } from "./path-table.ts";
import { createRequestGate } from "./request-gate.ts";

/** The parts of the application. */
export interface AppParts extends OwnRoutes, Omit<SharedParts, "clientAddress" | "endpointAt"> {
  readonly access: AccessControl;
  /** Makes the sources of answers for the clients of a rule; called once for each rule. */
  readonly within: (rule: AccessRule) => RuleParts;
  /** The gateway whose readiness is public. */
  readonly gateway: { status(): ServingStatus };
  readonly accessCounters: AccessCounters;
  /** The answers to names out of zone, by path. */
  readonly policies: PathPolicies;
  /** The longest accepted DNS query in bytes. */
  readonly queryBytes: number;
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

/** The Retry-After field while the keys of a client's issuer are unavailable, in seconds. */
const RETRY_AFTER = 30;

/**
 * The DNS resource (RFC 8484), its JSON forms, the push API, health, metrics, the pages. Except for routes with credentials of
 * their own, an access rule admits each request, and answers have only what the rule's clients may see.
 */
export function createApp(parts: AppParts): App {
  const { access, policies, queryBytes, counters, accessCounters, clock } = parts;
  const { clientAddress } = access;
  // A rejection before admission has the CORS fields of public answers.
  const openOrigins = originsOf(parts.allowedOrigins, access.rules.public !== undefined);
  const reject = createReject(openOrigins, counters);
  const gate = createRequestGate({
    rate: parts.rate,
    load: parts.load,
    knowsHost: parts.knowsHost,
    clientAddress,
    reject,
    counters: counters.limits,
    dnsPaths: dnsPaths(policies),
    onRejection: auditTurnedAway({ audit: parts.audit, clientAddress }),
  });
  const endpointAt = createEndpointAt(policies);
  const shared: SharedParts = { ...parts, clientAddress, endpointAt };
  const answersOf = new Map<AccessRule, RuleAnswers>(
    access.rules.all.map((rule) => [rule, createRuleAnswers(shared, rule, access.kinds, parts.within(rule))]),
  );

  const answerJson = createJsonRoute(clock);
  const answerDns = createDnsRoute({ queryBytes, answerJson, limits: counters.limits });
  const resolveJson = readingRoute(answerJson);
  const explainJson = readingRoute(createExplainRoute(clock));
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
    accessCounters.rejected.hit(outcome);
    const headers = {
      ...(challenge !== undefined && { "www-authenticate": challenge }),
      ...(status === 503 && { "retry-after": String(RETRY_AFTER) }),
    };
    return reject(request, status, code, message, headers);
  };

  const hasLogin = access.kinds.bearer && [...answersOf.values()].some(({ pages }) => pages !== undefined);

  /** A session that no rule admits (any more) counts as none. */
  const admitPerson = (request: HttpRequest): MaybePromise<Admission> => {
    const session = hasLogin ? withSession(request) : undefined;
    if (session === undefined) return access.admit(request);
    return andThen(access.admit(session), (admission) =>
      admission.rule === undefined ? access.admit(request) : admission,
    );
  };

  /** A browser gets the form for a token, where a token would help. */
  const rejectPerson = (request: HttpRequest, rejection: NotAdmitted): MaybePromise<Response> => {
    const response = toResponse(notAdmitted(request, rejection));
    const { status, message } = rejection;
    if (!hasLogin || status !== 401 || !prefersHtml(request.header("accept"))) return response;
    return pageResponse(loginPage(message), parts.version).then((page) => {
      page.headers.set("www-authenticate", response.headers.get("www-authenticate") ?? "");
      return page;
    });
  };

  const answersFor = ({ rule }: Admitted): RuleAnswers => {
    accessCounters.admitted.hit(rule.name);
    return answersOf.get(rule)!;
  };

  const handlerAt = createAdmittedPaths({
    dns,
    access,
    gate,
    notAdmitted,
    answersFor,
    notFound,
    origins: openOrigins,
  });

  const loginRoutes = createLoginRoutes({
    access,
    version: parts.version,
    onRejection: ({ outcome }) => accessCounters.rejected.hit(outcome),
  });
  const hono = createHono({ ...parts, ...(hasLogin && { loginRoutes }) }, counters, {
    notFound,
    failed,
    notAllowed: (request, answers) => rejectMethod(request, answers ?? { reject: rejectOwn }, "GET, HEAD"),
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
    const { kind, admission } = rowOf(path);
    const handler = admission === "rule" ? handlerAt(path) : undefined;
    if (handler !== undefined)
      return andThen(handler(asked, background), (response) =>
        toResponse(request.method === "HEAD" ? { ...response, body: null } : response),
      );
    const rejected = gate?.(asked);
    if (rejected !== undefined) return toResponse(rejected);
    if (kind === "readiness") return fetchReadiness(asked, request, client, background);
    if (admission !== "rule") return hono.fetch(request, { client });
    return andThen(kind === "page" ? admitPerson(asked) : access.admit(asked), (admission) => {
      if (admission.rule === undefined)
        return kind === "page" ? rejectPerson(asked, admission) : toResponse(notAdmitted(asked, admission));
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

/** Routes with credentials of their own. */
interface OwnRoutes {
  /** The push API, mounted at `/api/v1/clusters`. */
  readonly pushRoutes?: Hono<AppEnvironment>;
  /** The transfer of generations to secondaries, mounted at `/api/v1/transfer`. */
  readonly transferRoutes?: Hono<AppEnvironment> | undefined;
  /** The registration of stub zones, mounted at `/federations`. */
  readonly stubRoutes?: Hono<AppEnvironment> | undefined;
  /** `/login` and `/logout`. Default: nobody can log in to the pages. */
  readonly loginRoutes?: Hono<AppEnvironment>;
  /** The document at `/api/v1/openapi.json`. Default: none, for hosts that serve it as a file. */
  readonly openApi?: OpenApi | undefined;
}

/** It changes with the software. Seconds. */
const OPEN_API_HEADERS = {
  "cache-control": "public, max-age=300",
  "content-type": JSON_TYPE,
  "x-content-type-options": "nosniff",
};

/** The methods that routes have. A client of HTTP/2 may send any other text as well. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** A method by its name if routes have it, else `other`: for what is kept or found by method. */
const knownMethod = (method: string) => (METHODS.has(method) ? method : "other");

/** Hono's router finds handlers in plain objects by method: of `constructor` it takes a function for them, and with `__proto__` it writes to the prototype of all objects. */
class MethodRouter<Route> extends TrieRouter<Route> {
  override match(method: string, path: string) {
    return super.match(knownMethod(method), path);
  }
}

/** Routes that requests come to, rather than those that are mounted in others: `hono/tiny` is given no router. */
export function ownRouter<E extends Env>(routes: Hono<E>): Hono<E> {
  routes.router = new MethodRouter();
  return routes;
}

interface Parts {
  readonly gateway: { status(): ServingStatus };
  readonly clock: () => number;
}

/** The responses to requests that no route answers. */
interface Ends {
  readonly notFound: (request: HttpRequest, answers?: RuleAnswers) => HttpResponse;
  readonly notAllowed: (request: HttpRequest, answers?: RuleAnswers) => HttpResponse;
  readonly failed: (request: HttpRequest, error: unknown) => HttpResponse;
}

/** All routes except DNS and JSON. */
export function createHono(
  parts: OwnRoutes & Parts,
  counters: QueryCounters,
  ends: Ends,
): Hono<AppEnvironment> {
  const { pushRoutes, transferRoutes, stubRoutes, loginRoutes, openApi } = parts;
  const app = ownRouter(new Hono<AppEnvironment>());
  if (pushRoutes !== undefined) {
    app.use(`${MOUNTS.push}/*`, async (c, next) => {
      await next();
      counters.pushed.hit(`${knownMethod(c.req.method)} ${c.res.status}`);
    });
    app.route(MOUNTS.push, pushRoutes);
  }
  if (transferRoutes !== undefined) app.route(MOUNTS.transfer, transferRoutes);
  if (stubRoutes !== undefined) app.route(MOUNTS.federations, stubRoutes);
  if (openApi !== undefined)
    app.get(MOUNTS.description, async () => new Response(await openApi(), { headers: OPEN_API_HEADERS }));
  mountHealthRoutes(app, parts.gateway, parts.clock);
  app.route("/", createPages());
  if (loginRoutes !== undefined) app.route("/", loginRoutes);

  app.notFound((c) => {
    const request = new FetchRequest(c.req.raw, c.env?.client);
    const { method, path } = c.req;
    const isThere = method !== "GET" && method !== "HEAD" && answersGet(app, path, c.env?.answers);
    if (isThere) return toResponse(ends.notAllowed(request, c.env?.answers));
    const answers = c.env?.answers;
    if (answers?.pages === undefined || !prefersHtml(request.header("accept")))
      return toResponse(ends.notFound(request, c.env?.answers));
    counters.rejected.hit(404);
    return pageResponse(notFoundPage(), answers.version, c.env.urlToken?.prefix);
  });
  app.onError((error, c) => toResponse(ends.failed(new FetchRequest(c.req.raw, c.env?.client), error)));
  return app;
}

/** Whether a path answers GET and HEAD: pages, files, health and metrics. */
function answersGet(app: Hono<AppEnvironment>, path: string, answers: RuleAnswers | undefined): boolean {
  const [handlers] = app.router.match("GET", path);
  if (handlers.length === 0 || rowOf(path).admission === "none") return handlers.length > 0;
  if (path === "/status") return answers !== undefined;
  return path === "/metrics" ? answers?.metrics !== undefined : answers?.pages !== undefined;
}
