import { Hono } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import type { QueryCounters } from "../answer/query-counters.ts";
import type { ServingStatus } from "../gateway/gateway-types.ts";
import type { RuleAnswers } from "./doh/rule-answers.ts";
import type { AppEnvironment } from "./messages/environment.ts";
import { JSON_TYPE, prefersHtml } from "./messages/fields.ts";
import type { HttpRequest, HttpResponse } from "./messages/message.ts";
import { FetchRequest, toResponse } from "./messages/message.ts";
import { mountHealthRoutes } from "./metrics/health-routes.ts";
import type { OpenApi } from "./openapi/open-api.ts";
import { notFoundPage, pageResponse } from "./pages/page.ts";
import { createPages } from "./pages/routes.ts";

/** Routes with credentials of their own. */
export interface OwnRoutes {
  /** The push API, mounted at `/api/v1/clusters`. */
  readonly pushRoutes?: Hono<AppEnvironment>;
  /** The transfer of generations to secondaries, mounted at `/api/v1/transfer`. */
  readonly transferRoutes?: Hono<AppEnvironment>;
  /** The registration of stub zones, mounted at `/federations`. */
  readonly stubRoutes?: Hono<AppEnvironment>;
  /** The document at `/api/v1/openapi.json`. Default: none, for hosts that serve it as a file. */
  readonly openApi?: OpenApi;
}

const OPEN_API_PATH = "/api/v1/openapi.json";
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

/** Paths that need no credential. */
const FOR_EVERYBODY = new Set(["/healthz", "/readyz", OPEN_API_PATH]);

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
  const { pushRoutes, transferRoutes, stubRoutes, openApi } = parts;
  const app = new Hono<AppEnvironment>({ router: new MethodRouter() });
  if (pushRoutes !== undefined) {
    app.use("/api/v1/clusters/*", async (c, next) => {
      await next();
      counters.pushed(knownMethod(c.req.method), c.res.status);
    });
    app.route("/api/v1/clusters", pushRoutes);
  }
  if (transferRoutes !== undefined) app.route("/api/v1/transfer", transferRoutes);
  if (stubRoutes !== undefined) app.route("/federations", stubRoutes);
  if (openApi !== undefined)
    app.get(OPEN_API_PATH, async () => new Response(await openApi(), { headers: OPEN_API_HEADERS }));
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
  if (handlers.length === 0 || FOR_EVERYBODY.has(path)) return handlers.length > 0;
  if (path === "/status") return answers !== undefined;
  return path === "/metrics" ? answers?.metrics !== undefined : answers?.pages !== undefined;
}
