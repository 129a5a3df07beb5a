import { createClientAddress } from "../../../access/client/client-address.ts";
import type { AccessRule } from "../../../access/rules/access-rule.ts";
import { ClientTests } from "../../../answer/client-tests.ts";
import { locationSettings } from "../../../config/location.ts";
import type { ServeConfig } from "../../../config/serve-config.ts";
import type { Gateway } from "../../../gateway/gateway.ts";
import { type App, createApp } from "../../../http/app.ts";
import { AccessCounters } from "../../../http/metrics/access-counters.ts";
import { createPrometheusMetrics } from "../../../http/metrics/prometheus.ts";
import { createDirectory } from "../../../http/pages/directory.ts";
import type { Reach } from "../../../http/pages/page-parts.ts";
import type { ZoneImage } from "../../../zone/image.ts";
import { nodeClock } from "../node-clock.ts";
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
  /** How else the clients of a rule reach the gateway; asked for anew for each page. */
  readonly reach: (rule: AccessRule) => Reach;
}

/** The HTTP side of a gateway, and what listeners share with it. */
export interface HttpSide {
  readonly app: App;
  readonly accessCounters: AccessCounters;
  readonly clientTests: ClientTests;
}

/** Puts the HTTP side together. */
export function createHttpSide(parts: HttpSideParts): HttpSide {
  const { config, gateway, access, outside, counters, stubs, reach, onError } = parts;
  const { admission, pushing } = access;
  const clientTests = new ClientTests();
  const accessCounters = new AccessCounters();
  const app = createApp({
    ...createOwnRoutes(parts),
    ...{ gateway, counters, accessCounters, clientTests, stubs, onError },
    access: admission,
    within: (rule) => {
      const within = gateway.within(rule.visibility);
      if (!config.pages.enabled) return { gateway: within };
      const directory = createDirectory(() => within.current(nodeClock.now()));
      return {
        gateway: within,
        pages: { directory, publicUrl: config.publicUrl, reach: () => reach(rule) },
      };
    },
    clock: nodeClock.now,
    zones: config.zones,
    version: VERSION,
    views: {
      ...(config.push.credentials.length > 0 && { credentials: pushing }),
      optionCode: config.sourceCluster.option,
      trusted: config.sourceCluster.trusted,
      location: locationSettings(config.location),
    },
    clientAddress: createClientAddress(config.clients),
    outside: outside.outside,
    policies: outside.policies,
    allowedOrigins: config.cors.origins,
    longestQuery: config.limits.queryBytes,
    metrics: createPrometheusMetrics(
      gateway,
      counters,
      nodeClock.now,
      outside.outside?.forwarder,
      accessCounters,
    ),
  });
  return { app, accessCounters, clientTests };
}
