import type { Context } from "hono";
import { Hono } from "hono/tiny";
import type { PageParts } from "../doh/rule-answers.ts";
import type { AppEnvironment } from "../messages/environment.ts";
import { FetchRequest } from "../messages/message.ts";
import { clusterPage, servicePage } from "./details.ts";
import { clustersPage, conflictsPage, servicesPage } from "./lists.ts";
import { lookUpPage } from "./look-up.ts";
import { type Page, pageResponse } from "./page.ts";
import { CERTIFICATE_FILE, certificateFile, setupFile, setupPage } from "./setup.ts";

type PageContext = Context<AppEnvironment>;

/** The pages for people: `/`, the lists, a page for each service and cluster, `/setup` with its files. */
export function createPages(): Hono<AppEnvironment> {
  const routes = new Hono<AppEnvironment>();
  const show =
    (make: (parts: PageParts, url: URL, c: PageContext) => Page | Response | Promise<Page | Response>) =>
    async (c: PageContext) => {
      const answers = c.env?.answers;
      if (answers?.pages === undefined) return c.notFound();
      const page = await make({ ...answers, ...answers.pages }, new URL(c.req.url), c);
      return page instanceof Response ? page : pageResponse(page, answers.version, c.env.urlToken?.prefix);
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
  routes.get(
    "/setup",
    show((parts, _, c) => setupPage(parts, c)),
  );
  routes.get(
    `/setup/certificate/${CERTIFICATE_FILE}`,
    show((parts, _, c) => certificateFile(parts, c)),
  );
  routes.get(
    "/setup/:client/:file",
    show((parts, _, c) => setupFile(parts, c)),
  );
  return routes;
}
