import { createClientAddress } from "../../access/client/client-address.ts";
import { visibilitiesOf } from "../../access/rules/access-rule.ts";
import { QueryCounters } from "../../answer/query-counters.ts";
import { formatListenAddress, parseListenAddress } from "../../config/listen-address.ts";
import type { ServeConfig } from "../../config/serve-config.ts";
import { serverLimitsOf } from "../../config/server-limits.ts";
import { dnsPaths } from "../../http/doh/endpoints.ts";
import { createRefuse } from "../../http/refusal.ts";
import { ConnectionErrors } from "../../limits/connection-errors.ts";
import { visibilityKey } from "../../merge/visibility.ts";
import type { DesignatedResolver } from "../../resolve/designated-resolvers.ts";
import { protect } from "../settings/protect.ts";
import { createHttpSide } from "./gateway/http-side.ts";
import { loadAccess } from "./gateway/load-access.ts";
import { openGateway } from "./gateway/open-gateway.ts";
import { startRefreshers } from "./gateway/refreshers.ts";
import { startListening } from "./gateway/start-listening.ts";
import { designatedResolver } from "./listeners/designation.ts";
import type { ListeningPlace } from "./listeners/listeners.ts";
import type { Logger } from "./logger.ts";
import { openOutside } from "./outside-host.ts";
import { reachOf } from "./reach.ts";
import { type NodeServer, type StartServer, startNodeServer } from "./server/node-server.ts";
import { openStubZones } from "./stub-host.ts";
import { openTlsSource } from "./tls-source.ts";
import { UpstreamConnector } from "./upstreams/connect.ts";
import { VERSION } from "./version.ts";

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
  const access = await loadAccess(config, logger, createClientAddress(config.clients));
  const { admission } = access;
  const upstreams = await UpstreamConnector.load(config.stub.upstreams);
  const listening = [...config.dns.listen, ...config.dot.listen];
  const policiesOfListeners = listening.flatMap(({ outsideZones }) => outsideZones ?? []);
  const outside = await openOutside(config, logger, policiesOfListeners);
  let designated: DesignatedResolver | undefined;
  const scopes = visibilitiesOf(admission.rules);
  const gateway = await openGateway({ config, logger, scopes, designated: () => designated });
  let server: NodeServer | undefined;
  try {
    // The store has locked the state folder by now.
    const stubs = await openStubZones(config, upstreams, logger);
    const errors = new ConnectionErrors((source, error) =>
      logger.debug({ event: "connection-error", source, err: error }, "a connection failed"),
    );
    const counters = new QueryCounters(errors);
    const onError = (error: unknown) =>
      logger.error({ event: "request-failed", err: error }, "a request failed");
    let places: readonly ListeningPlace[] = [];
    const parts = { config, gateway, access, admission, outside, counters, stubs, logger };
    const http = createHttpSide({
      ...parts,
      reach: ({ visibility }) => {
        const same = places.filter(({ rule: name }) => {
          const rule = name === undefined ? admission.rules.public : admission.rules.of(name);
          return rule !== undefined && visibilityKey(rule.visibility) === visibilityKey(visibility);
        });
        return reachOf(config, same, certificate());
      },
      onError,
    });
    const refuse = createRefuse(config.cors.origins, counters);
    const start = protect(startServer, { config, counters, refuse, dnsPaths: dnsPaths(outside.policies) });
    const https = await start({
      listen,
      tls: tls?.tls,
      fetch: (request, client) => http.app.fetch(request, client),
      exchanges: { at: (path) => http.app.exchangeAt(path), failed: http.app.failed },
      onError,
      limits: serverLimitsOf(config.limits),
    });
    server = https;
    const listeners = await startListening({ ...parts, http, tls: tls?.tls });
    places = listeners.places;
    // Others would be told of a place where they see something else.
    const open = places.filter(({ rule }) => rule === undefined);
    designated = designatedResolver(config.ddr, open, https.address.port);
    const stopRefreshers = startRefreshers(
      [
        async () => {
          const renewed = await tls?.refresh();
          if (renewed === undefined) return;
          https.renew(renewed);
          listeners.renew(renewed);
          served = renewed;
          logger.info({ event: "certificate-renewed" }, "a replaced certificate is in use");
        },
        async () => {
          if (await access.refresh())
            logger.info({ event: "tokens-renewed" }, "replaced tokens, passwords or keys are in use");
        },
        () => upstreams.refresh(),
        () => outside.refresh(),
      ],
      logger,
    );
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
        stopRefreshers();
        await Promise.all([listeners.stop(STOP_GRACE), https.stop(STOP_GRACE)]);
        await stubs.close();
        outside.close();
        await access.close();
        await gateway.close();
      },
    };
  } catch (error) {
    await server?.stop(0);
    await gateway.close();
    throw error;
  }
}
