import { Hono } from "hono";
import type { StubZones } from "../forward/stub-zones.ts";
import { type AskerSettings, createAskerReader } from "./asker.ts";
import type { Connection, ConnectionEnvironment } from "./connection.ts";
import { type AllowedOrigins, preflight } from "./cross-origin.ts";
import { createDnsRoute, LONGEST_MESSAGE } from "./dns-route.ts";
import type { DohGateway } from "./doh-gateway.ts";
import { createHealthRoutes, type MetricsSource } from "./health-routes.ts";
import { createJsonRoute, type JsonRoute } from "./json-route.ts";
import { createQueryAnswerer } from "./query-answerer.ts";
import { QueryCounters } from "./query-counters.ts";
import { createRefuse } from "./refusal.ts";
import { createStartPage } from "./start-page.ts";

/** What the HTTP application is put together from. */
export interface AppDependencies {
  readonly gateway: DohGateway;
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** The zones that are served, for the start page. */
  readonly zones: readonly string[];
  readonly version: string;
  /** The push API, mounted at `/api/v1/clusters`. */
  readonly pushRoutes?: Hono;
  /** What tells who asks, beside the path. Default: nothing. */
  readonly askers?: AskerSettings;
  /** Queries below its federations go to their name servers. */
  readonly stubs?: StubZones;
  /** The registration of stub zones, mounted at `/federations`. */
  readonly stubRoutes?: Hono<ConnectionEnvironment>;
  /** Default: every origin. */
  readonly allowedOrigins?: AllowedOrigins;
  /** The longest DNS query that is read, in octets. Default and most: 65,535. */
  readonly longestQuery?: number;
  readonly counters?: QueryCounters;
  readonly metrics?: MetricsSource;
  /** Told of every error that became a 500. */
  readonly onError?: (error: Error) => void;
}

/**
 * The HTTP application: the DNS resource (RFC 8484), its JSON forms, the push API, health, metrics.
 * Paths with a cluster id answer as that cluster sees the clusterset.
 */
export function createApp(dependencies: AppDependencies): Hono<ConnectionEnvironment> {
  const { gateway, clock, allowedOrigins = "*", counters = new QueryCounters() } = dependencies;
  const longestQuery = Math.min(dependencies.longestQuery ?? LONGEST_MESSAGE, LONGEST_MESSAGE);
  const refuse = createRefuse(allowedOrigins, counters);
  const answerQuery = createQueryAnswerer({
    gateway,
    clock,
    counters,
    refuse,
    asker: createAskerReader(dependencies.askers ?? {}),
    stubs: dependencies.stubs,
  });
  const answerJson = createJsonRoute({ gateway, answerQuery, clock, allowedOrigins, refuse });
  const answerDns = createDnsRoute({ answerQuery, allowedOrigins, longestQuery, refuse, answerJson });

  // Google's JSON endpoint answers HEAD with 400 and other methods with 501.
  const resolveJson: JsonRoute = (request, view, connection) => {
    if (request.method === "GET") return answerJson(request, view, connection);
    if (request.method === "OPTIONS") return preflight(request, "GET, OPTIONS", allowedOrigins);
    if (request.method === "HEAD") return refuse(request, 400, "HEAD is not for /resolve: GET");
    return refuse(request, 501, `${request.method} is not implemented for /resolve: GET`);
  };

  const ofCluster =
    (route: JsonRoute) =>
    (request: Request, clusterId: string, connection: Partial<Connection> | undefined) =>
      gateway.hasCluster(clusterId)
        ? route(request, clusterId, connection)
        : refuse(
            request,
            404,
            "no cluster of that id has pushed to this gateway; /dns-query answers as seen from outside",
          );
  const answerDnsOf = ofCluster(answerDns);
  const resolveJsonOf = ofCluster(resolveJson);

  // One handler per path and no middleware: with a second match Hono leaves its synchronous path.
  const app = new Hono<ConnectionEnvironment>();
  app.all("/dns-query", (c) => answerDns(c.req.raw, undefined, c.env));
  app.all("/resolve", (c) => resolveJson(c.req.raw, undefined, c.env));
  app.all("/clusters/:clusterId/dns-query", (c) => answerDnsOf(c.req.raw, c.req.param("clusterId"), c.env));
  app.all("/clusters/:clusterId/resolve", (c) => resolveJsonOf(c.req.raw, c.req.param("clusterId"), c.env));
  if (dependencies.pushRoutes !== undefined) {
    app.use("/api/v1/clusters/*", async (c, next) => {
      await next();
      counters.pushed(c.req.method, c.res.status);
    });
    app.route("/api/v1/clusters", dependencies.pushRoutes);
  }
  if (dependencies.stubRoutes !== undefined) app.route("/federations", dependencies.stubRoutes);
  app.route("/", createHealthRoutes(gateway, dependencies.metrics));
  app.route("/", createStartPage(dependencies.zones, dependencies.version));
  app.notFound((c) =>
    refuse(
      c.req.raw,
      404,
      "there is nothing here; DNS is at /dns-query, JSON at /resolve, the view of one cluster at /clusters/<cluster id>/dns-query",
    ),
  );
  app.onError((error, c) => {
    dependencies.onError?.(error);
    return refuse(c.req.raw, 500, "the gateway failed to answer; its log says why");
  });
  return app;
}
