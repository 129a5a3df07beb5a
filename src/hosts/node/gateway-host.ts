import { QueryCounters } from "../../answer/query-counters.ts";
import { assemble } from "../../assembly/assemble.ts";
import { createAudit } from "../../assembly/log.ts";
import { controlOf } from "../../assembly/primary.ts";
import { VERSION } from "../../assembly/stages.ts";
import { exportLimitsOf, grantsOf, isStated } from "../../config/access.ts";
import type { ServeConfig } from "../../config/settings.ts";
import { formatListenAddress, parseListenAddress } from "../../config/values.ts";
import { SERVICE_EXPLAINER } from "../../explain/service.ts";
import { AccessCounters } from "../../http/metrics/counts.ts";
import { withNodeMetrics } from "../../http/metrics/node-metrics.ts";
import { type MetricSources, readMetrics } from "../../http/metrics/table.ts";
import { createOpenApi } from "../../http/openapi/open-api.ts";
import { createStubRoutes } from "../../http/stubs.ts";
import { ConnectionErrors } from "../../limits/counters.ts";
import { loadAccess } from "./access/node-admission.ts";
import { openStateDatabase, stateFolderFailure } from "./database.ts";
import { startAnswering } from "./gateway/answering.ts";
import { Closers, startRefreshers } from "./gateway/closers.ts";
import { allocateLimits, createProtection, openLimits } from "./gateway/protection.ts";
import { Reachability } from "./gateway/reach.ts";
import { openReplica } from "./gateway/replica.ts";
import { openStubZones } from "./gateway/stub-zones.ts";
import type { ListeningPlace } from "./listeners/listeners.ts";
import { type Logger, logTo, nodeClock, openAuditSink, processFacts } from "./process.ts";
import type { FetchHandler } from "./server/answer-request.ts";
import { type StartServer, startNodeServer } from "./server/node-server.ts";
import { threadCount } from "./threads/thread-count.ts";
import { startThreads } from "./threads/thread-pool.ts";
import { ThreadSharing } from "./threads/thread-sharing.ts";
import { fingerprintOf, openTlsSource } from "./tls.ts";
import { openUpstreams, UpstreamConnector } from "./upstreams/configured-upstreams.ts";

/** The time for requests in progress when the gateway stops, in milliseconds. */
const STOP_GRACE = 5000;

/** A running gateway. */
export interface RunningGateway {
  /** Its URL for clients, without a trailing slash. */
  readonly url: string;
  /** The file of the self-signed certificate; undefined if there is none. */
  readonly certificateFile: string | undefined;
  /** Whether queries get answers, and the number of live clusters. */
  readonly readiness: () => { readonly ready: boolean; readonly liveClusters: number };
  /** The addresses of plain DNS and DNS over TLS. */
  readonly listeners: readonly ListeningPlace[];
  stop(): Promise<void>;
}

/**
 * Starts the gateway on Node, or on a runtime that has Node's modules.
 * @throws {UsageError} if the configuration or its files are wrong; then nothing stays open
 */
export async function startGateway(
  config: ServeConfig,
  logger: Logger,
  startServer: StartServer = startNodeServer,
): Promise<RunningGateway> {
  const closers = new Closers();
  try {
    return await startParts(config, logger, startServer, closers);
  } catch (error) {
    await closers.close(0);
    throw stateFolderFailure(error, config.stateDirectory) ?? error;
  }
}

async function startParts(
  config: ServeConfig,
  logger: Logger,
  startServer: StartServer,
  closers: Closers,
): Promise<RunningGateway> {
  const { limits } = config;
  const log = logTo(logger);
  const onError = (err: unknown) => log("error", "request-failed", "a request failed", { err });

  // Answering threads have the numbers below that of this thread.
  const threads = await threadCount(config.threads, startServer, log);
  const limitMemory = allocateLimits(config, threads + 1);
  const shared = openLimits(limitMemory, threads);

  // The state folder, which this process locks before it writes anything there, and files.
  const listen = parseListenAddress(config.listen);
  const database = closers.add(await openStateDatabase(config.stateDirectory, log));
  const tls = await openTlsSource(config, listen.host);
  const access = closers.add(await loadAccess(config, logger));
  const { admission, pushing, secondaries } = access;
  const connector = await UpstreamConnector.load(config.stub.upstreams);
  const forwarding = closers.add(await openUpstreams(config.forward));
  const stubs = closers.add(await openStubZones(config, connector, logger, shared.count("stub")));

  // Counters, and the limits that come first.
  const errors = new ConnectionErrors((source, err) =>
    log("debug", "connection-error", "a connection failed", { source, err }),
  );
  const counters = new QueryCounters(errors);
  const accessCounters = new AccessCounters();
  const controlCounts = { streams: 0, lines: 0 };
  const { protection, load } = closers.add(createProtection(config, counters, shared));

  const lines = closers.add(openAuditSink(config.audit.logFile, logger, log));
  const audit = createAudit(config.audit, lines.sink, counters.limits);

  // The gateway.
  const controlParts = controlOf(config.push.credentials, controlCounts, limits);
  const reachability = new Reachability(config, admission.rules, tls);
  const sharing = threads === 0 ? undefined : new ThreadSharing(nodeClock);
  const createMetrics = (sources: MetricSources) => {
    const process = processFacts(tls, controlCounts, sharing?.counts(shared, threads));
    const own = withNodeMetrics(() => readMetrics({ ...sources, process }));
    return sharing?.measure(own) ?? own;
  };
  const assembly = await assemble(config, {
    version: VERSION,
    openApi: createOpenApi(VERSION),
    clock: nodeClock,
    log,
    access: admission,
    load,
    counters,
    accessCounters,
    audit,
    shared,
    metrics: createMetrics,
    clusterTokens: config.push.credentials.length > 0 ? pushing : undefined,
    clusterIds: config.push.credentials.map(({ clusterId }) => clusterId),
    isOpenToItsNetwork: !isStated(config.access),
    isInClear: tls === undefined,
    upstreams: forwarding.upstreams,
    stubs,
    stubRoutes: createStubRoutes({
      stubs,
      counters: counters.limits,
      onError,
      audit,
      clientAddress: admission.clientAddress,
      isForPushing: (identity) => pushing.isOfHolder(identity),
      isForAsking: (identity) => admission.isOfRule(identity),
      onChange: (change, federation) => {
        log("info", `federation-${change}`, `federation ${federation} ${change}`, { federation });
        sharing?.post({ stubs: stubs.list() });
      },
    }),
    generations: {
      database,
      ...(config.store && {
        openOrder: openReplica(config.store),
        hold: config.store.leaseHoldSeconds * 1000,
      }),
      authority: pushing,
      grants: grantsOf(config.push.credentials),
      exportLimits: exportLimitsOf(config.push.credentials),
      ...sharing?.parts,
      explainer: SERVICE_EXPLAINER,
      control: controlParts,
      transfer: config.transfer.credentials.length > 0 ? secondaries : undefined,
      transferKey: access.transferKey?.current,
    },
    reach: reachability.of,
    designated: reachability.designated,
  });
  closers.add(assembly);

  // What answers clients: this thread, or others.
  const { app } = assembly;
  const fetch: FetchHandler = (request, client) => app.fetch(request, client);
  const rules = admission.rules;
  const answering = closers.addServer(
    sharing === undefined
      ? await startAnswering({
          config,
          listen,
          tls: tls?.tls,
          protection,
          onError,
          app,
          logger,
          assembly,
          rules,
          stubs,
          counters,
          accessCounters,
          shared,
          clock: nodeClock,
          startServer: (options) => startServer({ ...options, fetch }),
        })
      : await startThreads({
          config,
          threads,
          tls: tls?.tls,
          database: database.path,
          sharing,
          shared,
          limitMemory,
          stubs,
          fetch,
          log,
        }),
  );
  reachability.listens(answering.port, answering.places);

  // Files that may change while the gateway runs.
  closers.add(
    startRefreshers(
      [
        async () => {
          const renewed = await tls?.refresh();
          if (renewed === undefined) return;
          answering.renew(renewed);
          log("info", "certificate-renewed", "a replaced certificate is in use");
        },
        async () => {
          if (await access.refresh())
            log("info", "tokens-renewed", "replaced tokens, passwords or keys are in use");
        },
        () => connector.refresh(),
        () => forwarding.refresh(),
      ],
      logger,
    ),
  );

  const isEvery = listen.host === undefined || listen.host === "0.0.0.0" || listen.host === "::";
  const host = formatListenAddress(isEvery ? "localhost" : listen.host, answering.port);
  const url = `${tls === undefined ? "http" : "https"}://${host}`;
  const certificate = tls && {
    // Where a worker reports an untrusted certificate, operators compare this fingerprint.
    certificateSha256: fingerprintOf(tls.tls.cert),
    // Clients and workers trust a self-signed certificate by this file.
    ...(tls.selfSignedFile !== undefined && { certificateFile: tls.selfSignedFile }),
  };
  const started = { url, zones: config.zones, version: VERSION, ...certificate };
  log("info", "listening", `listening on ${url}`, started);
  return {
    url,
    certificateFile: tls?.selfSignedFile,
    readiness: () => {
      const { ready, clusters } = assembly.status();
      return { ready, liveClusters: clusters.filter((cluster) => cluster.live).length };
    },
    listeners: answering.places,
    stop: () => {
      // They would last as long as requests may; their readers resume.
      controlParts?.control.close();
      return closers.close(STOP_GRACE);
    },
  };
}
