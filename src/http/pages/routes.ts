import { type Context, Hono } from "hono";
import type { ConnectionEnvironment } from "../environment.ts";
import { clustersPage, conflictsPage, servicesPage } from "./list-pages.ts";
import { lookUpPage } from "./look-up-page.ts";
import { type Page, pageResponse } from "./page.ts";
import type { PageParts } from "./page-parts.ts";
import { createSetupRoutes } from "./setup-routes.ts";

/** The pages for people: `/`, the lists, `/setup` with its files. */
export function createPages(parts: PageParts): Hono<ConnectionEnvironment> {
  const { version } = parts;
  const zones = aliasesFirst(parts.zones);
  const known = { ...parts, zones, zone: zones[0]! };
  const routes = new Hono<ConnectionEnvironment>();
  const show =
    (make: (url: URL, c: Context<ConnectionEnvironment>) => Page | Promise<Page>) =>
    async (c: Context<ConnectionEnvironment>) =>
      pageResponse(await make(new URL(c.req.url), c), version, c.env?.urlToken?.prefix);
  routes.get(
    "/",
    show((_, c) => lookUpPage(known, c.req.raw, c.env)),
  );
  routes.get(
    "/services",
    show((url) => servicesPage(known, url)),
  );
  routes.get(
    "/clusters",
    show((url) => clustersPage(known, url)),
  );
  routes.get(
    "/conflicts",
    show((url) => conflictsPage(known, url)),
  );
  routes.route("/setup", createSetupRoutes(known));
  return routes;
}

/** Browsers and Apple's systems keep `.local` to themselves (RFC 6762), so other zones make the better examples. */
function aliasesFirst(zones: readonly string[]): readonly string[] {
  const names = zones.map((zone) => zone.replace(/\.$/, "").toLowerCase());
  const isLocal = (zone: string) => /(?:^|\.)local$/.test(zone);
  return [...names.filter((zone) => !isLocal(zone)), ...names.filter(isLocal)];
}
