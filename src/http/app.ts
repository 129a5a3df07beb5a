import type { Env } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import { Hono } from "hono/tiny";
import type { AccessControl } from "../access/admission.ts";
import { type Client, type ClientAddress, socketAddress } from "../access/client.ts";
import type { AccessRule, Admission, Admitted, NotAdmitted } from "../access/rule.ts";
import { andThen, type MaybePromise, readPathToken } from "../access/url-tokens.ts";
import type { AccessCounters } from "../answer/answer-query.ts";
import type { ServingStatus } from "../gateway/gateway-types.ts";
import type { ClientRate } from "../limits/client-rate.ts";
import type { LimitCounters, Load } from "../limits/counters.ts";
import type { Background } from "../transfer/secondary.ts";
import { createDnsPaths, type DnsPath, type DnsPathsParts } from "./doh/dns-route.ts";
import {
  createRuleAnswers,
  type RuleAnswers,
  type RuleParts,
  rejectMethod,
  type SharedParts,
} from "./doh/rule-answers.ts";
import { STATUS } from "./messages/codes.ts";
import type { AppEnvironment } from "./messages/environment.ts";
import { createReject, errorResponse, NOTHING_HERE, type Rejection } from "./messages/errors.ts";
import {
  FetchRequest,
  type Handler,
  type HttpRequest,
  type HttpResponse,
  JSON_TYPE,
  type KnowsHost,
  NO_ORIGIN,
  originsOf,
  pathOf,
  plainPath,
  prefersHtml,
  preflight,
  rerouted,
  toResponse,
} from "./messages/message.ts";
import { mountHealthRoutes } from "./metrics/status.ts";
import { createLoginRoutes, loginPage, withSession } from "./pages/login.ts";
import { notFoundPage, pageResponse } from "./pages/page.ts";
import { createPages } from "./pages/routes.ts";
import {
  CLUSTER_PATHS,
  createEndpointAt,
  DESCRIPTION,
  dnsPaths,
  FEDERATIONS,
  isUrgent,
  PUSH,
  rowOf,
  TRANSFER,
} from "./route-table.ts";

/** The parts of the application. */
export interface AppParts extends DnsPathsParts, Omit<SharedParts, "clientAddress" | "endpointAt"> {
  readonly access: AccessControl;
  /** Makes the sources of answers for the clients of a rule; called once for each rule. */
  readonly within: (rule: AccessRule) => RuleParts;
  /** The push API, mounted at `/api/v1/clusters`. */
  readonly pushRoutes?: Hono<AppEnvironment>;
  /** The transfer of generations to secondaries, mounted at `/api/v1/transfer`. */
  readonly transferRoutes?: Hono<AppEnvironment> | undefined;
  /** The registration of stub zones, mounted at `/federations`. */
  readonly stubRoutes?: Hono<AppEnvironment> | undefined;
  /**
   * Loads what makes the document at `/api/v1/openapi.json`. Default: none, for hosts that serve it as a
   * file: they do not have to hold it.
   */
  readonly openApi?: (() => Promise<{ openApiDocument(version: string): object }>) | undefined;
  /** The gateway whose readiness is public. */
  readonly gateway: { status(): ServingStatus };
  readonly accessCounters: AccessCounters;
  /** The limit on requests of each client. Default: none. */
  readonly rate?: ClientRate | undefined;
  /** Requests for other hosts get 421. Default: none do. */
  readonly knowsHost?: KnowsHost | undefined;
  /** The load of the process, above which requests that can wait get 503. Default: none. */
  readonly load?: Load | undefined;
  /** Called for every error that became a 500. */
  readonly onError?: (error: Error) => void;
}

/** The HTTP application, the same on every host. */
export interface App {
  /** @param background runs work that continues after the response */
  fetch(request: Request, client?: Partial<Client>, background?: Background): MaybePromise<Response>;
  /**
   * The handler of DNS or JSON at a path, for hosts without a Request object; undefined if only `fetch`
   * answers.
   */
  handlerAt(path: string): Handler | undefined;
  /** Makes the response if a handler threw. */
  failed(request: HttpRequest, error: unknown): HttpResponse;
  /** All routes, in the form of Hono. */
  readonly routes: readonly { readonly method: string; readonly path: string }[];
}

/** The Retry-After field while the keys of a client's issuer are unavailable, in seconds. */
const RETRY_AFTER = 30;

/**
 * The DNS resource (RFC 8484), its JSON forms, the push API, health, metrics, the pages. Except for routes
 * with credentials of their own, an access rule admits each request, and answers have only what the rule's
 * clients may see.
 */
export function createApp(parts: AppParts): App {
  const { access, policies, counters, accessCounters } = parts;
  const { clientAddress } = access;
  // A rejection before admission has the CORS fields of public answers.
  const openOrigins = originsOf(parts.allowedOrigins, access.rules.public !== undefined);
  const reject = createReject(openOrigins, counters);
  /**
   * Paths without an access rule have credentials of their own, which pages of other origins must not use.
   */
  const rejectOwn = createReject(NO_ORIGIN, counters);
  const gate = createRequestGate({
    ...parts,
    clientAddress,
    counters: counters.limits,
    dnsPaths: dnsPaths(policies),
  });
  const endpointAt = createEndpointAt(policies);
  const shared: SharedParts = { ...parts, clientAddress, endpointAt };
  const answersOf = new Map<AccessRule, RuleAnswers>(
    access.rules.all.map((rule) => [rule, createRuleAnswers(shared, rule, access.kinds, parts.within(rule))]),
  );
  const dns = createDnsPaths(parts, endpointAt);

  const notFound = (request: HttpRequest, answers?: RuleAnswers) =>
    (answers?.reject ?? rejectOwn)(request, "NOT_FOUND", NOTHING_HERE);
  const failed = (request: HttpRequest, error: unknown) => {
    parts.onError?.(error instanceof Error ? error : new Error(String(error)));
    return reject(request, "INTERNAL", "the gateway failed to answer; its log has the reason");
  };
  const rejectAs = (request: HttpRequest, { code, message, headers }: Rejection) =>
    reject(request, code, message, headers);

  /** Rejects a request; the response does not depend on its path, only on the rules and the credential. */
  const notAdmitted = (request: HttpRequest, rejection: NotAdmitted): HttpResponse => {
    const { outcome, status, code, message, challenge } = rejection;
    accessCounters.rejected.hit(outcome);
    return reject(request, code, message, {
      ...(challenge !== undefined && { "www-authenticate": challenge }),
      ...(status === 503 && { "retry-after": String(RETRY_AFTER) }),
    });
  };

  const answersFor = ({ rule }: Admitted): RuleAnswers => {
    accessCounters.admitted.hit(rule.name);
    return answersOf.get(rule)!;
  };

  const answerAdmitted = (
    request: HttpRequest,
    admission: Admission,
    at: Pick<DnsPath, "answer">,
    background: Background | undefined,
  ): MaybePromise<HttpResponse> => {
    if (admission.rule === undefined) return notAdmitted(request, admission);
    const answers = answersFor(admission);
    const ready = answers.prepare?.(background);
    return ready === undefined ? at.answer(request, answers) : ready.then(() => at.answer(request, answers));
  };

  /** A preflight has no credentials (Fetch standard, section 4.8), and its answer reveals nothing. */
  const handlerOf =
    (at: DnsPath): Handler =>
    (request, background) => {
      const rejection = gate?.(request);
      if (rejection !== undefined) return rejectAs(request, rejection);
      if (request.method === "OPTIONS") return preflight(request, at.methods, openOrigins);
      const admission = access.admit(request);
      return admission instanceof Promise
        ? admission.then((late) => answerAdmitted(request, late, at, background))
        : answerAdmitted(request, admission, at, background);
    };

  /** A path after a token; if the token is unknown, it is a path like any other. */
  const answerByToken: Handler = (request, background) => {
    const rejection = gate?.(request);
    if (rejection !== undefined) return rejectAs(request, rejection);
    return andThen(access.admit(request), (admission) => {
      const url = admission.rule === undefined ? undefined : admission.path?.url;
      const at = url === undefined ? undefined : dns.at(pathOf(url));
      return url !== undefined && at !== undefined
        ? answerAdmitted(rerouted(request, url), admission, at, background)
        : answerAdmitted(request, admission, { answer: notFound }, background);
    });
  };

  const plain = new Map([...dns.plain].map(([path, at]) => [path, handlerOf(at)]));
  const handlerAt = (path: string): Handler | undefined => {
    const known = plain.get(path);
    if (known !== undefined) return known;
    if (path.includes("%")) return handlerAtPlain(path);
    const at = dns.at(path);
    if (at !== undefined) return handlerOf(at);
    const token = readPathToken(path);
    return token !== undefined && dns.at(token.url) !== undefined ? answerByToken : undefined;
  };
  const handlerAtPlain = (path: string): Handler | undefined => {
    const decoded = plainPath(path);
    const handler = decoded.includes("%") ? undefined : handlerAt(decoded);
    if (handler === undefined) return undefined;
    return (request, background) => {
      const url = request.url.replace(path, () => decoded);
      return handler(rerouted(request, url), background);
    };
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

  const hono = ownRouter(new Hono<AppEnvironment>());
  const { pushRoutes, transferRoutes, stubRoutes, openApi } = parts;
  if (pushRoutes !== undefined) {
    hono.use(`${PUSH.mount}/*`, async (c, next) => {
      await next();
      counters.pushed.hit(`${knownMethod(c.req.method)} ${c.res.status}`);
    });
    hono.route(PUSH.mount, pushRoutes);
  }
  if (transferRoutes !== undefined) hono.route(TRANSFER.mount, transferRoutes);
  if (stubRoutes !== undefined) hono.route(FEDERATIONS.mount, stubRoutes);
  if (openApi !== undefined) {
    let text: Promise<string> | undefined;
    hono.get(DESCRIPTION, async () => {
      text ??= openApi().then(({ openApiDocument }) => JSON.stringify(openApiDocument(parts.version)));
      return new Response(await text, { headers: OPEN_API_HEADERS });
    });
  }
  mountHealthRoutes(hono, parts.gateway, parts.clock);
  hono.route("/", createPages());
  if (hasLogin) hono.route("/", createLoginRoutes(parts));
  hono.notFound((c) => {
    const { client, answers, urlToken, rejection } = c.env ?? {};
    const request = new FetchRequest(c.req.raw, client);
    if (rejection !== undefined) return errorResponse(rejection);
    const { method, path } = c.req;
    const allowed = methodsAt(hono, path, answers);
    if (allowed.length > 0 && !allowed.includes(method))
      return toResponse(rejectMethod(request, answers ?? { reject: rejectOwn }, allowed.join(", ")));
    if (answers?.pages === undefined || !prefersHtml(request.header("accept")))
      return toResponse(notFound(request, answers));
    counters.rejected.hit(404);
    return pageResponse(notFoundPage(), parts.version, urlToken?.prefix);
  });
  hono.onError((error, c) => toResponse(failed(new FetchRequest(c.req.raw, c.env?.client), error)));

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

  const route = (
    received: FetchRequest,
    request: Request,
    client: Partial<Client>,
    background: Background | undefined,
  ): MaybePromise<Response> => {
    const path = pathOf(received.url);
    const { admission } = rowOf(path);
    const handler = admission === "rule" ? handlerAt(path) : undefined;
    if (handler !== undefined)
      return andThen(handler(received, background), (response) =>
        toResponse(request.method === "HEAD" ? { ...response, body: null } : response),
      );
    const rejection = gate?.(received);
    if (admission === "route") {
      if (rejection !== undefined) counters.rejected.hit(STATUS[rejection.code]);
      return hono.fetch(request, { client, rejection });
    }
    const isReadiness =
      path === "/readyz" && (rejection === undefined || rejection.code === "TOO_MANY_REQUESTS");
    if (rejection !== undefined && !isReadiness) return toResponse(rejectAs(received, rejection));
    // Details for clients who see everything; readiness for all.
    if (isReadiness)
      return andThen(rejection === undefined ? access.admit(received) : { rule: undefined }, (found) => {
        const own = found.rule && answersOf.get(found.rule);
        const answers = own?.seesEverything === true ? own : undefined;
        const [first] = answersOf.values();
        return andThen((answers ?? first)?.prepare?.(background), () =>
          answers === undefined || found.rule === undefined
            ? hono.fetch(request, { client })
            : fetchAdmitted(request, client, found, answers),
        );
      });
    if (admission === "none") return hono.fetch(request, { client });
    const isPage = path !== "/metrics";
    return andThen(isPage ? admitPerson(received) : access.admit(received), (found) => {
      if (found.rule === undefined)
        return isPage ? rejectPerson(received, found) : toResponse(notAdmitted(received, found));
      const answers = answersFor(found);
      return andThen(answers.prepare?.(background), () => fetchAdmitted(request, client, found, answers));
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
      const received = new FetchRequest(request, client);
      const fail = (error: unknown) => toResponse(failed(received, error));
      try {
        const answered = route(received, request, client, background);
        return answered instanceof Promise ? answered.catch(fail) : answered;
      } catch (error) {
        return fail(error);
      }
    },
  };
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

/**
 * Hono's router finds handlers in plain objects by method: of `constructor` it takes a function for them, and
 * with `__proto__` it writes to the prototype of all objects.
 */
class MethodRouter<Route> extends TrieRouter<Route> {
  override match(method: string, path: string) {
    return super.match(knownMethod(method), path);
  }
}

/**
 * Routes that requests come to, rather than those that are mounted in others: `hono/tiny` is given no router.
 */
export function ownRouter<E extends Env>(routes: Hono<E>): Hono<E> {
  routes.router = new MethodRouter();
  return routes;
}

/** The methods of a path beside the APIs: of pages, files, health and metrics, and of logging in and out. */
function methodsAt(app: Hono<AppEnvironment>, path: string, answers: RuleAnswers | undefined): string[] {
  const has = (method: string) => app.router.match(method, path)[0].length > 0;
  const isOpen = rowOf(path).admission === "none";
  const mayRead = () => {
    if (path === "/status") return answers !== undefined;
    return path === "/metrics" ? answers?.metrics !== undefined : answers?.pages !== undefined;
  };
  return [
    ...(has("GET") && (isOpen || mayRead()) ? ["GET", "HEAD"] : []),
    ...(isOpen && has("POST") ? ["POST"] : []),
  ];
}

/** The parts of a gate. */
interface RequestGateParts {
  /** The limit on requests of each client; default: none. */
  readonly rate?: ClientRate | undefined;
  /** Default: the address of the socket. */
  readonly clientAddress?: ClientAddress;
  /** Default: every host. */
  readonly knowsHost?: KnowsHost | undefined;
  /** Default: no limit. */
  readonly load?: Load | undefined;
  readonly counters: LimitCounters;
  /** The paths of DNS resources other than `/dns-query`. */
  readonly dnsPaths?: readonly string[];
}

const UNKNOWN_HOST: Rejection = {
  code: "UNKNOWN_HOST",
  message:
    "without TLS and access rules the gateway answers only by IP address and as localhost: set access.public, or access.rules",
  headers: {},
};
const OVERLOADED: Rejection = {
  code: "OVERLOADED",
  message: "the gateway is overloaded: DNS, pushes and transfer go on, everything else must wait",
  headers: { "retry-after": "5" },
};
const tooMany = (seconds: number): Rejection => ({
  code: "TOO_MANY_REQUESTS",
  message: "this client sends too many requests: try again later",
  headers: { "retry-after": String(seconds) },
});

/**
 * The gate in front of all resources, which returns why it rejects a request; undefined if it would reject
 * nothing.
 */
export function createRequestGate(
  parts: RequestGateParts,
): ((request: HttpRequest) => Rejection | undefined) | undefined {
  const { rate, clientAddress = socketAddress, load, knowsHost, counters } = parts;
  const dnsPaths = new Set(parts.dnsPaths);
  const canWait = ({ method, url }: HttpRequest) => {
    const path = pathOf(url);
    return !dnsPaths.has(path) && !isUrgent(method, path);
  };
  if (rate === undefined && load === undefined && knowsHost === undefined) return undefined;
  return (request) => {
    // RFC 9110 section 7.4.
    if (knowsHost?.(request.host) === false) return UNKNOWN_HOST;
    if (load?.isHigh && canWait(request)) {
      counters.hit("limits.loopDelayMilliseconds");
      return OVERLOADED;
    }
    const seconds = rate === undefined ? 0 : rate.take(clientAddress(request));
    if (seconds === 0 || rowOf(pathOf(request.url)).isUnlimited) return undefined;
    counters.hit("clients.requestsPerSecond");
    return tooMany(seconds);
  };
}
