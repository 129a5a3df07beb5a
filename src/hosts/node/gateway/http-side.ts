import type { Audience } from "../../../access/asking/audience.ts";
import { knownKinds } from "../../../access/asking/refusals.ts";
import type { Client } from "../../../access/client/client.ts";
import { createClientAddress } from "../../../access/client/client-address.ts";
import { ClientTests } from "../../../answer/client-tests.ts";
import { locationSettings } from "../../../config/location.ts";
import type { ServeConfig } from "../../../config/serve-config.ts";
import type { Gateway } from "../../../gateway/gateway.ts";
import { createAdmitted } from "../../../http/access/admitted.ts";
import { createSite } from "../../../http/access/site.ts";
import { type AppDependencies, createApp } from "../../../http/app.ts";
import { createDnsResource } from "../../../http/doh/dns-resource.ts";
import { AccessCounters } from "../../../http/metrics/access-counters.ts";
import { createPrometheusMetrics } from "../../../http/metrics/prometheus.ts";
import { createDirectory } from "../../../http/pages/directory.ts";
import type { Reach } from "../../../http/pages/page-parts.ts";
import type { ZoneImage } from "../../../zone/image.ts";
import type { PathExchanges } from "../answer-request.ts";
import type { OutsideHost } from "../outside-host.ts";
import { VERSION } from "../version.ts";
import type { NodeAccess } from "./load-access.ts";
import { createOwnRoutes, type OwnRoutesParts } from "./own-routes.ts";

/** What HTTP is answered with. */
export interface HttpSideParts extends OwnRoutesParts {
  readonly config: ServeConfig;
  readonly gateway: Gateway<ZoneImage>;
  readonly access: NodeAccess;
  readonly outside: OutsideHost;
  /** How else an audience reaches the gateway; asked for anew for each page. */
  readonly reach: (audience: Audience) => Reach;
}

/** The HTTP side of a gateway. */
export interface HttpSide {
  fetch(request: Request, client: Client): Response | Promise<Response>;
  readonly exchanges: PathExchanges;
  /** Undefined where everybody gets the same answers: then nobody is asked who they are. */
  readonly counted: AccessCounters | undefined;
  readonly clientTests: ClientTests;
}

/** Puts the HTTP side together: one application for everybody, or one for each audience behind the question who asks. */
export function createHttpSide(parts: HttpSideParts): HttpSide {
  const { config, gateway, access, outside, counters, stubs, reach, onError } = parts;
  const { asking, pushing } = access;
  const clientTests = new ClientTests();
  const counted = asking.isForEverybody ? undefined : new AccessCounters();
  const own = createOwnRoutes(parts);
  const common = {
    ...{ counters, clientTests },
    clock: Date.now,
    zones: config.zones,
    version: VERSION,
    views: {
      ...(config.push.credentials.length > 0 && { credentials: pushing }),
      optionCode: config.sourceCluster.option,
      trusted: config.sourceCluster.trusted,
      location: locationSettings(config.location),
    },
    clientAddress: createClientAddress(config.clients),
    stubs,
    ...(outside.outside !== undefined && { outside: outside.outside }),
    policies: outside.policies,
    allowedOrigins: config.cors.origins,
    longestQuery: config.limits.queryBytes,
    metrics: createPrometheusMetrics(gateway, counters, Date.now, outside.outside?.forwarder, counted),
    onError,
  };
  const pagesOf = (audience: Audience): Pick<AppDependencies, "pages"> => {
    if (!config.pages.enabled) return {};
    const within = gateway.within(audience.scope);
    const directory = createDirectory(() => within.current(Date.now()));
    return {
      pages: { directory, publicUrl: config.publicUrl, reach: () => reach(audience), clientTests },
    };
  };
  const { everybody } = asking.audiences;
  if (counted === undefined && everybody !== undefined) {
    const dependencies: AppDependencies = {
      ...{ ...common, ...own, ...pagesOf(everybody) },
      gateway: gateway.within(everybody.scope),
    };
    const resource = createDnsResource(dependencies);
    const app = createApp(dependencies, resource);
    return {
      fetch: (request, client) => app.fetch(request, client),
      exchanges: { at: (path) => resource.byPath.get(path), failed: resource.failed },
      ...{ counted, clientTests },
    };
  }
  const kinds = knownKinds(asking.rules);
  const { app, resource, failed } = createAdmitted({
    authority: asking,
    audiences: asking.audiences,
    access: counted ?? new AccessCounters(),
    common: { ...common, ...own, gateway },
    makeSite: (audience) =>
      createSite(common, audience, kinds, { gateway: gateway.within(audience.scope), ...pagesOf(audience) }),
  });
  return {
    fetch: (request, client) => app.fetch(request, client),
    exchanges: { at: (path) => resource.exchangeAt(path), failed },
    ...{ counted, clientTests },
  };
}
