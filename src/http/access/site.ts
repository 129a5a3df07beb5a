import type { Hono } from "hono";
import type { Audience } from "../../access/asking/audience.ts";
import type { KnownKinds } from "../../access/asking/refusals.ts";
import { type Scope, scopeKey } from "../../merge/scope.ts";
import { type AppDependencies, createApp } from "../app.ts";
import { createDnsResource, type DnsResource } from "../doh/dns-resource.ts";
import type { ConnectionEnvironment } from "../environment.ts";

/** All that an audience is answered with: it knows of nothing else. */
export interface Site {
  readonly resource: DnsResource;
  readonly app: Pick<Hono<ConnectionEnvironment>, "fetch" | "routes">;
}

/** What of a site is of its audience alone. */
export interface SiteParts {
  /** The gateway in the audience's scope. */
  readonly gateway: AppDependencies["gateway"];
  /** What the pages list, where there are pages. */
  readonly pages?: AppDependencies["pages"] | undefined;
}

/** Whether an audience sees everything, and so may see what is counted of everything. */
export function seesEverything({ scope }: Audience): boolean {
  return scopeKey(scope) === "";
}

/**
 * The site of an audience.
 * @param common what a site for everybody and everything is put together from
 * @param kinds by what others are known
 */
export function createSite(
  common: Omit<AppDependencies, "gateway" | "pages">,
  audience: Audience,
  kinds: KnownKinds,
  { gateway, pages }: SiteParts,
): Site {
  const { metrics, stubs, views: { credentials, ...views } = {}, ...rest } = common;
  const { scope, isEverybody } = audience;
  const everything = seesEverything(audience);
  const dependencies: AppDependencies = {
    ...rest,
    gateway,
    cluster: scope.view,
    views: { ...views, ...(isEverybody && { credentials }) },
    sharing: {
      isPrivate: !isEverybody || kinds.unseen,
      variesByCredential: kinds.bearer || kinds.basic,
    },
    isReadinessDetailed: everything,
    ...(everything && metrics !== undefined && { metrics }),
    // What other name servers say is not known, hence neither what of it would have to be hidden.
    ...(!hidesAnything(scope) && stubs !== undefined && { stubs }),
    ...(pages !== undefined && { pages }),
  };
  const resource = createDnsResource(dependencies);
  return { resource, app: createApp(dependencies, resource) };
}

/** Whether something that somebody else sees is hidden in a scope. */
export function hidesAnything({ view: _, ...restricted }: Scope): boolean {
  return scopeKey(restricted) !== "";
}
