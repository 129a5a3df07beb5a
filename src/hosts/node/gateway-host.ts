import { join } from "node:path";
import { systemClock } from "../../gateway/clock.ts";
import { Gateway } from "../../gateway/gateway.ts";
import type { GatewayEvent } from "../../gateway/gateway-events.ts";
import { type AppDependencies, createApp } from "../../http/app.ts";
import { createAskerReader } from "../../http/asker.ts";
import { createClientAddress } from "../../http/client-address.ts";
import { createDnsResource } from "../../http/dns-resource.ts";
import { ClientTests } from "../../http/pages/client-tests.ts";
import { createDirectory } from "../../http/pages/directory.ts";
import { createPrometheusMetrics } from "../../http/prometheus.ts";
import { createPushRoutes } from "../../http/push.ts";
import { QueryCounters } from "../../http/query-counters.ts";
import { createStubRoutes } from "../../http/stub-routes.ts";
import { createTransferRoutes } from "../../http/transfer-routes.ts";
import type { DesignatedResolver } from "../../resolve/designated-resolvers.ts";
import { openFileStore } from "../../store/file-store.ts";
import { openPrecedenceFolder } from "../../store/precedence-folder.ts";
import { StoreError } from "../../store/store-error.ts";
import { federationOptions } from "../settings/federation-config.ts";
import { gatewayLimitsOf } from "../settings/gateway-settings.ts";
import { locationSettings } from "../settings/location-settings.ts";
import { protect } from "../settings/protect.ts";
import { grantsOf } from "../settings/push-credentials.ts";
import { pushLimitsOf } from "../settings/push-limit-settings.ts";
import type { ServeConfig } from "../settings/serve-config.ts";
import { serverLimitsOf } from "../settings/server-limits.ts";
import { createStages } from "../settings/stages.ts";
import { UsageError } from "../settings/usage-error.ts";
import { formatListenAddress, parseListenAddress } from "./listen-address.ts";
import { designatedResolver } from "./listeners/designation.ts";
import { type ListeningPlace, startListeners } from "./listeners/listeners.ts";
import { createQueryHandler } from "./listeners/query-handler.ts";
import type { Logger } from "./logger.ts";
import { loadPushAuthority } from "./node-push-authority.ts";
import { type NodeServer, type StartServer, startNodeServer } from "./node-server.ts";
import { openOutside } from "./outside-host.ts";
import { reachOf } from "./reach.ts";
import { openStubZones } from "./stub-host.ts";
import { openTlsSource } from "./tls-source.ts";
import { TokenCredentials } from "./token-credentials.ts";
import { UpstreamConnector } from "./upstreams/connect.ts";
import { VERSION } from "./version.ts";

/** How often certificate and token files are looked at, in milliseconds. */
const REFRESH_INTERVAL = 10_000;
/** How long running requests may take to finish when the gateway stops, in milliseconds. */
const STOP_GRACE = 5000;

/** A gateway that runs. */
export interface RunningGateway {
  /** Where clients reach it, without a trailing slash. */
  readonly url: string;
  /** The self-signed certificate's file, where there is one. */
  readonly certificateFile: string | undefined;
  /** Whether queries get answers, and from how many live clusters. */
  readonly readiness: () => { readonly ready: boolean; readonly liveClusters: number };
  /** Where plain DNS and DNS over TLS are answered. */
  readonly listeners: readonly ListeningPlace[];
  stop(): Promise<void>;
}

/**
 * Starts the gateway on Node, or on a runtime that has Node's modules: store, gateway, HTTP application, server.
 * @throws {UsageError} where the configuration or its files do not allow it
 */
export async function startGateway(
  config: ServeConfig,
  logger: Logger,
  startServer: StartServer = startNodeServer,
): Promise<RunningGateway> {
  const listen = parseListenAddress(config.listen);
  const tls = await openTlsSource(config, listen.host);
  let served = tls?.tls;
  const certificate = () => (tls?.selfSignedFile === undefined ? undefined : served?.cert);
  const authority = await loadPushAuthority(config, (url, error) =>
    logger.warn({ event: "keys-unavailable", url, err: error }, "the keys of an issuer could not be fetched"),
  );
  const secondaries = await TokenCredentials.loadTransfer(config.transfer.credentials);
  if (config.push.credentials.length === 0)
    logger.warn({ event: "no-credentials" }, "no cluster may push: give push.credentials or --cluster-token");
  const upstreams = await UpstreamConnector.load(config.stub.upstreams);
  const listening = [...config.dns.listen, ...config.dot.listen];
  const policiesOfListeners = listening.flatMap(({ outsideZones }) => outsideZones ?? []);
  const outside = await openOutside(config, logger, policiesOfListeners);
  let designated: DesignatedResolver | undefined;
  const gateway = await openGateway(config, logger, () => designated);
  let server: NodeServer | undefined;
  try {
    // The store has locked the state folder by now.
    const stubs = await openStubZones(config, upstreams, logger);
    const counters = new QueryCounters();
    const onError = (error: unknown) =>
      logger.error({ event: "request-failed", err: error }, "a request failed");
    const askers = {
      ...(config.push.credentials.length > 0 && { credentials: authority }),
      optionCode: config.sourceCluster.option,
      trusted: config.sourceCluster.trusted,
    };
    let places: readonly ListeningPlace[] = [];
    const clientTests = new ClientTests();
    const watched = clientTests.watch(gateway);
    const parts: AppDependencies = {
      gateway: watched,
      counters,
      clock: Date.now,
      zones: config.zones,
      version: VERSION,
      pushRoutes: createPushRoutes({
        gateway,
        authority,
        limits: pushLimitsOf(config.limits),
        counters: counters.limits,
        onError,
      }),
      ...(config.transfer.credentials.length > 0 && {
        transferRoutes: createTransferRoutes({ gateway, credentials: secondaries, onError }),
      }),
      askers,
      clientAddress: createClientAddress(config.clients),
      location: locationSettings(config.location),
      stubs,
      ...(outside.outside !== undefined && { outside: outside.outside }),
      policies: outside.policies,
      stubRoutes: createStubRoutes({
        stubs,
        counters: counters.limits,
        isForPushing: (identity) => authority.isOfCluster(identity),
        onError,
        onChange: (change, federation) =>
          logger.info({ event: `federation-${change}`, federation }, `federation ${federation} ${change}`),
      }),
      allowedOrigins: config.cors.origins,
      longestQuery: config.limits.queryBytes,
      metrics: createPrometheusMetrics(gateway, counters, Date.now, outside.outside?.forwarder),
      ...(config.pages.enabled && {
        pages: {
          directory: createDirectory(() => gateway.current(Date.now())),
          publicUrl: config.publicUrl,
          reach: () => reachOf(config, places, certificate()),
          clientTests,
        },
      }),
      onError,
    };
    const resource = createDnsResource(parts);
    const app = createApp(parts, resource);
    const https = await protect(startServer, { config, resource })({
      listen,
      tls: tls?.tls,
      fetch: (request, connection) => app.fetch(request, connection),
      exchanges: { byPath: resource.byPath, failed: resource.failed },
      limits: serverLimitsOf(config.limits),
    });
    server = https;
    const asker = createAskerReader(askers);
    const listeners = await startListeners({
      config,
      handle: createQueryHandler({
        gateway: watched,
        clock: Date.now,
        counters,
        asker,
        stubs,
        outside: outside.outside,
        policy: config.outsideZones,
      }),
      counters,
      tls: tls?.tls,
      logger,
    });
    places = listeners.places;
    designated = designatedResolver(config.ddr, places, https.address.port);
    const refresh = async () => {
      const renewed = await tls?.refresh();
      if (renewed !== undefined) {
        https.renew(renewed);
        listeners.renew(renewed);
        served = renewed;
        logger.info({ event: "certificate-renewed" }, "took another certificate");
      }
      const renewedTokens = await Promise.all([authority.refresh(), secondaries.refresh()]);
      if (renewedTokens.includes(true)) logger.info({ event: "tokens-renewed" }, "took other tokens or keys");
      await upstreams.refresh();
      await outside.refresh();
    };
    const refresher = setInterval(
      () =>
        refresh().catch((error) =>
          logger.warn({ event: "refresh-failed", err: error }, "kept what was there"),
        ),
      REFRESH_INTERVAL,
    ).unref();
    const isEvery = listen.host === undefined || listen.host === "0.0.0.0" || listen.host === "::";
    const host = formatListenAddress(isEvery ? "localhost" : listen.host, https.address.port);
    const url = `${tls === undefined ? "http" : "https"}://${host}`;
    logger.info({ event: "listening", url, zones: config.zones, version: VERSION }, `listening on ${url}`);
    return {
      url,
      certificateFile: tls?.selfSignedFile,
      readiness: () => {
        const { ready, clusters } = gateway.status();
        return { ready, liveClusters: clusters.filter((cluster) => cluster.live).length };
      },
      listeners: places,
      stop: async () => {
        clearInterval(refresher);
        await Promise.all([listeners.stop(STOP_GRACE), https.stop(STOP_GRACE)]);
        await stubs.close();
        outside.close();
        await authority.close();
        await gateway.close();
      },
    };
  } catch (error) {
    await server?.stop(0);
    await gateway.close();
    throw error;
  }
}

async function openGateway(
  config: ServeConfig,
  logger: Logger,
  designated: () => DesignatedResolver | undefined,
) {
  const { stateDirectory } = config;
  try {
    return await Gateway.open({
      store: await openFileStore(join(stateDirectory, "snapshots"), {
        onWarning: ({ code, ...rest }) => logger.warn({ event: "store-damage", code, ...rest }, rest.message),
      }),
      precedence: await openPrecedenceFolder(join(stateDirectory, "precedence")),
      stages: createStages({
        ...config,
        grants: grantsOf(config.push.credentials),
        federations: federationOptions(config.federations),
        designated,
      }),
      clock: systemClock,
      onEvent: (event) => logEvent(logger, event),
      limits: gatewayLimitsOf(config),
    });
  } catch (error) {
    if (error instanceof StoreError) throw new UsageError(`${stateDirectory}: ${error.message}`);
    throw error;
  }
}

function logEvent(logger: Logger, event: GatewayEvent): void {
  if ("error" in event) {
    const { error, ...rest } = event;
    logger.error({ ...rest, err: error }, event.event.replaceAll("-", " "));
  } else if (event.event === "lease-ran-out") {
    logger.warn(event, `the lease of ${event.clusterId} ran out: its names leave the answers`);
  } else {
    logger.info(event, event.event.replaceAll("-", " "));
  }
}
