import { Hono } from "hono";
import type { ServingStatus } from "../gateway/gateway-types.ts";
import { createDnsResource, type DnsResource, type DnsResourceDependencies } from "./doh/dns-resource.ts";
import type { ConnectionEnvironment } from "./environment.ts";
import type { Exchange } from "./exchange.ts";
import { exchangeByFetch, FetchRequest, toResponse } from "./fetch-exchange.ts";
import { createHealthRoutes, type MetricsSource } from "./health-routes.ts";
import { prefersHtml } from "./media-type.ts";
import { notFoundPage } from "./pages/not-found-page.ts";
import { pageResponse } from "./pages/page.ts";
import type { PageSettings } from "./pages/page-parts.ts";
import { createPages } from "./pages/routes.ts";
import type { Refuse } from "./refusal.ts";

/** Routes that ask for credentials of their own. */
export interface OwnRoutes {
  /** The push API, mounted at `/api/v1/clusters`. */
  readonly pushRoutes?: Hono<ConnectionEnvironment>;
  /** What secondaries take images over by, mounted at `/api/v1/transfer`. */
  readonly transferRoutes?: Hono;
  /** The registration of stub zones, mounted at `/federations`. */
  readonly stubRoutes?: Hono<ConnectionEnvironment>;
}

/** What the HTTP application is put together from. */
export interface AppDependencies extends DnsResourceDependencies, OwnRoutes {
  /** The zones that are served, for the pages. */
  readonly zones: readonly string[];
  readonly version: string;
  readonly metrics?: MetricsSource;
  /** The pages for people; none without. */
  readonly pages?: PageSettings;
  /** Whether `/readyz` counts clusters and services. Default: true. */
  readonly isReadinessDetailed?: boolean;
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
  const { gateway, metrics, clock } = dependencies;

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
  mountOwnRoutes(app, dependencies, resource);
  app.route("/", createHealthRoutes(gateway, metrics, clock, dependencies.isReadinessDetailed));
  if (dependencies.pages !== undefined)
    app.route("/", createPages({ ...dependencies, ...dependencies.pages, resource }));
  end(app, resource, dependencies.pages === undefined ? undefined : dependencies.version);
  return app;
}

/** The application of what asks for credentials of its own, or tells nothing: without DNS, pages and metrics. */
export function createOpenApp(
  dependencies: OwnRoutes &
    Pick<AppDependencies, "clock"> & { readonly gateway: { status(): ServingStatus } },
  resource: Pick<DnsResource, "counters" | "refuse" | "notFound" | "failed">,
): Hono<ConnectionEnvironment> {
  const app = new Hono<ConnectionEnvironment>();
  mountOwnRoutes(app, dependencies, resource);
  app.route("/", createHealthRoutes(dependencies.gateway, undefined, dependencies.clock, false));
  end(app, resource);
  return app;
}

function mountOwnRoutes(
  app: Hono<ConnectionEnvironment>,
  { pushRoutes, transferRoutes, stubRoutes }: OwnRoutes,
  { counters }: Pick<DnsResource, "counters">,
): void {
  if (pushRoutes !== undefined) {
    app.use("/api/v1/clusters/*", async (c, next) => {
      await next();
      counters.pushed(c.req.method, c.res.status);
    });
    app.route("/api/v1/clusters", pushRoutes);
  }
  if (transferRoutes !== undefined) app.route("/api/v1/transfer", transferRoutes);
  if (stubRoutes !== undefined) app.route("/federations", stubRoutes);
}

/** @param versionOfPages the version that pages show; undefined where there are no pages */
function end(
  app: Hono<ConnectionEnvironment>,
  { counters, refuse, notFound, failed }: Pick<DnsResource, "counters" | "refuse" | "notFound" | "failed">,
  versionOfPages?: string,
): void {
  app.notFound((c) => {
    if (answersGet(app, c.req.path)) return exchangeByFetch(notAllowed(refuse), c.req.raw, c.env);
    if (versionOfPages === undefined || !prefersHtml(c.req.header("accept") ?? null))
      return exchangeByFetch(notFound, c.req.raw, c.env);
    counters.rejected(404);
    return pageResponse(notFoundPage(), versionOfPages, c.env?.urlToken?.prefix);
  });
  app.onError((error, c) => toResponse(failed(new FetchRequest(c.req.raw, c.env), error)));
}

/** Whether GET and HEAD are answered at a path: pages, files, health and metrics. */
function answersGet(app: Hono<ConnectionEnvironment>, path: string): boolean {
  const [handlers] = app.router.match("GET", path);
  return handlers.length > 0;
}

/** Rejects methods other than GET and HEAD (RFC 9110 section 15.5.6). */
function notAllowed(refuse: Refuse): Exchange {
  return (request) =>
    refuse(request, 405, `${request.method} is not for this path: GET, HEAD`, { allow: "GET, HEAD" });
}
