import { Hono } from "hono";
import type { ConnectionEnvironment } from "./connection.ts";
import { createDnsResource, type DnsResource, type DnsResourceDependencies } from "./dns-resource.ts";
import { exchangeByFetch, FetchRequest, toResponse } from "./fetch-exchange.ts";
import { createHealthRoutes, type MetricsSource } from "./health-routes.ts";
import type { PageSettings } from "./pages/page-parts.ts";
import { createPages } from "./pages/routes.ts";

/** What the HTTP application is put together from. */
export interface AppDependencies extends DnsResourceDependencies {
  /** The zones that are served, for the pages. */
  readonly zones: readonly string[];
  readonly version: string;
  /** The push API, mounted at `/api/v1/clusters`. */
  readonly pushRoutes?: Hono<ConnectionEnvironment>;
  /** What secondaries take images over by, mounted at `/api/v1/transfer`. */
  readonly transferRoutes?: Hono;
  /** The registration of stub zones, mounted at `/federations`. */
  readonly stubRoutes?: Hono<ConnectionEnvironment>;
  readonly metrics?: MetricsSource;
  /** The pages for people; none without. */
  readonly pages?: PageSettings;
}

/**
 * The HTTP application: the DNS resource (RFC 8484), its JSON forms, the push API, health, metrics, the pages.
 * Paths with a cluster id answer as that cluster sees the clusterset.
 * @param resource for a host that carries out exchanges of its own beside the application
 */
export function createApp(
  dependencies: AppDependencies,
  resource: DnsResource = createDnsResource(dependencies),
): Hono<ConnectionEnvironment> {
  const { counters, refuse } = resource;

  // One handler per path and no middleware: with a second match Hono leaves its synchronous path.
  const app = new Hono<ConnectionEnvironment>();
  for (const [path, answer] of resource.byPath)
    app.all(path, (c) => exchangeByFetch(answer, c.req.raw, c.env));
  app.all("/resolve", (c) => exchangeByFetch(resource.resolveJson, c.req.raw, c.env));
  app.all("/clusters/:clusterId/dns-query", (c) =>
    exchangeByFetch(resource.ofCluster(c.req.param("clusterId")).answerDns, c.req.raw, c.env),
  );
  app.all("/clusters/:clusterId/resolve", (c) =>
    exchangeByFetch(resource.ofCluster(c.req.param("clusterId")).resolveJson, c.req.raw, c.env),
  );
  if (dependencies.pushRoutes !== undefined) {
    app.use("/api/v1/clusters/*", async (c, next) => {
      await next();
      counters.pushed(c.req.method, c.res.status);
    });
    app.route("/api/v1/clusters", dependencies.pushRoutes);
  }
  if (dependencies.transferRoutes !== undefined) app.route("/api/v1/transfer", dependencies.transferRoutes);
  if (dependencies.stubRoutes !== undefined) app.route("/federations", dependencies.stubRoutes);
  app.route("/", createHealthRoutes(dependencies.gateway, dependencies.metrics, dependencies.clock));
  if (dependencies.pages !== undefined)
    app.route("/", createPages({ ...dependencies, ...dependencies.pages, resource }));
  app.notFound((c) =>
    toResponse(
      refuse(
        new FetchRequest(c.req.raw, c.env),
        404,
        "there is nothing here; DNS is at /dns-query, JSON at /resolve, the view of one cluster at /clusters/<cluster id>/dns-query",
      ),
    ),
  );
  app.onError((error, c) => toResponse(resource.failed(new FetchRequest(c.req.raw, c.env), error)));
  return app;
}
