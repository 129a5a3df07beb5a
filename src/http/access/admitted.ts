import type { AskingAuthority } from "../../access/asking/asking-authority.ts";
import type { Audience, Audiences } from "../../access/asking/audience.ts";
import { QueryCounters } from "../../answer/query-counters.ts";
import type { ServingStatus } from "../../gateway/gateway-types.ts";
import { type AppDependencies, createOpenApp, type OwnRoutes } from "../app.ts";
import { dnsPaths } from "../doh/dns-resource.ts";
import type { HttpRequest, HttpResponse } from "../exchange.ts";
import type { AccessCounters } from "../metrics/access-counters.ts";
import { createRefuse, NOTHING_HERE } from "../refusal.ts";
import { type Admit, createAdmit } from "./admit.ts";
import { type AdmittedApp, createAdmittedApp } from "./admitted-app.ts";
import { type AdmittedResource, createAdmittedResource } from "./admitted-resource.ts";
import type { Site } from "./site.ts";

/** What a gateway whose answers depend on who asks is put together from. */
export interface AdmittedParts<Of extends Site> {
  readonly authority: AskingAuthority<HttpRequest>;
  readonly audiences: Audiences;
  /** Puts the site of an audience together; called once for each. */
  readonly makeSite: (audience: Audience) => Of;
  readonly access: AccessCounters;
  /** What all sites share; `gateway` is the one whose readiness `/readyz` tells to everybody. */
  readonly common: Pick<AppDependencies, "counters" | "policies" | "allowedOrigins" | "clock" | "onError"> &
    OwnRoutes & { readonly gateway: { status(): ServingStatus } };
}

/** A gateway whose answers depend on who asks. */
export interface AdmittedGateway<Of extends Site> {
  readonly app: AdmittedApp<Of>;
  readonly resource: AdmittedResource<Of>;
  readonly siteOf: (audience: Audience) => Of;
  /** Makes the response where an exchange threw. */
  readonly failed: (request: HttpRequest, error: unknown) => HttpResponse;
}

/** Puts the sites of all audiences together behind the question who asks. */
export function createAdmitted<Of extends Site>(parts: AdmittedParts<Of>): AdmittedGateway<Of> {
  const { authority, audiences, makeSite, access, common } = parts;
  const { counters = new QueryCounters(), allowedOrigins = "*", policies, onError } = common;
  const sites = new Map(audiences.all.map((audience) => [audience, makeSite(audience)]));
  const siteOf = (audience: Audience) => sites.get(audience)!;
  const refuse = createRefuse(allowedOrigins, counters);
  const failed = (request: HttpRequest, error: unknown) => {
    onError?.(error instanceof Error ? error : new Error(String(error)));
    return refuse(request, 500, "the gateway failed to answer; its log has the reason");
  };
  const admit: Admit<Of> = createAdmit({ authority, siteOf, counters: access, refuse });
  const resource = createAdmittedResource({ admit, paths: dnsPaths(policies), allowedOrigins });
  const notFound = (request: HttpRequest) => refuse(request, 404, NOTHING_HERE);
  const open = createOpenApp(common, { counters, refuse, notFound, failed });
  return {
    app: createAdmittedApp({ admit, authority, audiences, siteOf, resource, open, failed }),
    resource,
    siteOf,
    failed,
  };
}
