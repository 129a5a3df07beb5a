import type { AccessRule } from "../access/rule.ts";
import { AccessCounters, QueryCounters } from "../answer/answer-query.ts";
import { clientRequests } from "../config/limits.ts";
import { locationSettings } from "../config/location.ts";
import type { DohGateway, ServingStatus } from "../gateway/gateway-types.ts";
import { type App, createApp } from "../http/app.ts";
import { isLocalHost, NO_ORIGIN } from "../http/messages/message.ts";
import { createDirectory } from "../http/pages/directory.ts";
import { ClientRate, type Rate } from "../limits/client-rate.ts";
import { anyLoad } from "../limits/counters.ts";
import { auditToLog, createAudit } from "./log.ts";
import { createOutOfZone, type OutOfZone } from "./out-of-zone.ts";
import type { Answers, AnswersContext, GatewayConfig, Platform } from "./platform.ts";
import { openPrimary } from "./primary.ts";
import { openSecondary } from "./secondary.ts";
import { createStages, VERSION } from "./stages.ts";

/** A complete gateway that does not listen yet. */
export interface Assembly {
  readonly app: App;
  readonly outOfZone: OutOfZone;
  /** The gateway for the clients of a rule, for listeners other than HTTP. */
  gatewayOf(rule: AccessRule): DohGateway;
  status(): ServingStatus;
  close(): Promise<void>;
}

/**
 * Puts a gateway together, the same way on every host.
 * @throws {StoreError} if the store cannot be loaded
 */
export async function assemble(config: GatewayConfig, platform: Platform): Promise<Assembly> {
  const { access, clock, log, generations } = platform;
  const { counters = new QueryCounters(), accessCounters = new AccessCounters() } = platform;
  const outOfZone = createOutOfZone(config, platform);
  const stages = createStages(config, {
    ...platform,
    ...(!("pushes" in generations) && generations),
  });
  const { audit = createAudit(config.audit, auditToLog(log), counters.limits) } = platform;
  const shared: AnswersContext = { ...platform, config, stages, counters, audit };
  const answers: Answers =
    "database" in generations
      ? await openPrimary(shared, generations)
      : "open" in generations
        ? generations.open(stages)
        : openSecondary(shared, generations);
  const { gateway, pushRoutes, transferRoutes } = answers;
  const { gatewayAddresses = () => ({ outside: config.outsideZones }) } = platform;
  const { requestsPerSecond } = config.clients;
  const loads = [platform.load, answers.load].filter((load) => load !== undefined);
  const app = createApp({
    access,
    gateway,
    counters,
    accessCounters,
    version: VERSION,
    pushRoutes,
    transferRoutes,
    stubRoutes: platform.stubRoutes,
    openApi: platform.openApi,
    stubs: platform.stubs,
    ...outOfZone,
    clock: clock.now,
    zones: config.zones,
    within: (rule) => {
      const source = answers.of(rule);
      if (!config.pages.enabled) return source;
      const directory = createDirectory(source.listed);
      return {
        ...source,
        pages: { directory, publicUrl: config.publicUrl, gatewayAddresses: () => gatewayAddresses(rule) },
      };
    },
    views: {
      credentials: platform.clusterTokens,
      optionCode: config.sourceCluster.option,
      trusted: config.sourceCluster.trusted,
      location: locationSettings(config.location),
    },
    rate: requestsPerSecond === 0 ? undefined : createRate(config, platform),
    load: loads.length === 0 ? undefined : anyLoad(loads),
    // Where neither a certificate nor a rule keeps unknown clients from pages.
    ...(platform.isOpenToItsNetwork && platform.isInClear && { knowsHost: isLocalHost }),
    allowedOrigins: config.cors.origins ?? (platform.isOpenToItsNetwork ? NO_ORIGIN : "*"),
    queryBytes: config.limits.queryBytes,
    metrics: platform.metrics?.({
      gateway,
      clock: clock.now,
      counters,
      forwarder: outOfZone.outside?.forwarder,
      access: accessCounters,
    }),
    onError: (err) => log("error", "request-failed", "a request failed", { err }),
  });
  return {
    app,
    outOfZone,
    gatewayOf: (rule) => answers.of(rule).gateway,
    status: () => gateway.status(),
    close: () => answers.close(),
  };
}

function createRate({ clients }: GatewayConfig, { shared }: Platform): ClientRate {
  const create = shared && ((rate: Rate) => shared.buckets("requests", rate));
  return new ClientRate(clientRequests(clients), undefined, create);
}
