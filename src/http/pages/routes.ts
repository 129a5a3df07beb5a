import type { Context } from "hono";
import { Hono } from "hono/tiny";
import type { AppEnvironment } from "../messages/environment.ts";
import { FetchRequest } from "../messages/message.ts";
import { clusterPage, servicePage } from "./details.ts";
import type { PageParts } from "./directory.ts";
import { clustersPage, conflictsPage, type ListPageParts, servicesPage } from "./lists.ts";
import { lookUpPage } from "./look-up.ts";
import { type Page, pageResponse } from "./page.ts";
import { createSetupRoutes } from "./setup.ts";

/** The pages for people: `/`, the lists, a page for each service and cluster, `/setup` with its files. */
export function createPages(): Hono<AppEnvironment> {
  const routes = new Hono<AppEnvironment>();
  const show =
    (
      make: (parts: PageParts & ListPageParts, url: URL, c: Context<AppEnvironment>) => Page | Promise<Page>,
    ) =>
    async (c: Context<AppEnvironment>) => {
      const parts = c.env?.answers?.pages;
      if (parts === undefined) return c.notFound();
      const page = await make({ ...parts, zone: parts.zones[0]! }, new URL(c.req.url), c);
      return pageResponse(page, parts.version, c.env.urlToken?.prefix);
    };
  routes.get(
    "/",
    show((parts, _, c) => lookUpPage(parts, new FetchRequest(c.req.raw, c.env.client))),
  );
  routes.get("/services", show(servicesPage));
  routes.get("/clusters", show(clustersPage));
  routes.get("/conflicts", show(conflictsPage));
  routes.get(
    "/clusters/:clusterId",
    show((parts, url, c) => clusterPage(parts, c.req.param("clusterId")!, url)),
  );
  routes.get(
    "/services/:namespace/:name",
    show((parts, url, c) => {
      const { namespace, name } = c.req.param() as { readonly namespace: string; readonly name: string };
      const view = url.searchParams.get("view") || undefined;
      return servicePage(parts, { namespace, name, view }, new FetchRequest(c.req.raw, c.env.client));
    }),
  );
  routes.route("/setup", createSetupRoutes());
  return routes;
}
