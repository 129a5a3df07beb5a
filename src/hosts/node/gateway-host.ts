import type { Worker } from "node:worker_threads";
import { assemble } from "../../assembly/assemble.ts";
import { controlScope } from "../../assembly/credentials.ts";
import { createAudit } from "../../assembly/log.ts";
import type { ControlParts } from "../../assembly/platform.ts";
import { VERSION } from "../../assembly/stages.ts";
import type { PushCredential } from "../../config/access.ts";
import type { ServeConfig } from "../../config/settings.ts";
import { formatListenAddress, parseListenAddress } from "../../config/values.ts";
import { SERVICE_EXPLAINER } from "../../explain/service.ts";
import { createControl } from "../../gateway/desired.ts";
import { withNodeMetrics } from "../../http/metrics/node-metrics.ts";
import { type MetricSources, readMetrics } from "../../http/metrics/table.ts";
import { type ControlCounts, type ControlLimits, createDesiredRoute } from "../../http/push/desired.ts";
import { createStubRoutes } from "../../http/stubs.ts";
import { openStateDatabase, stateFolderFailure } from "./database.ts";
import { startAnswering } from "./gateway/answering.ts";
import { allocateLimits, Closers, openLimits, openParts, startRefreshers } from "./gateway/parts.ts";
import { openReplica } from "./gateway/replica.ts";
import type { ListeningPlace } from "./listen.ts";
import { type Logger, logTo, nodeClock, openAuditSink, processFacts } from "./process.ts";
import { type StartServer, startNodeServer } from "./server/node-server.ts";
import type { FetchHandler } from "./server/requests.ts";
import { threadCount } from "./threads/thread-count.ts";
import { startThreads } from "./threads/thread-pool.ts";
import { ThreadSharing } from "./threads/thread-sharing.ts";
import { describeExpired, fingerprintOf, openTlsSource } from "./tls.ts";

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
 * @param spawned becomes the first answering thread. Default: it is spawned when all that it needs is there
 * @throws {UsageError} if the configuration or its files are wrong; then nothing stays open
 */
export async function startGateway(
  config: ServeConfig,
  logger: Logger,
  startServer: StartServer = startNodeServer,
  spawned?: Worker,
): Promise<RunningGateway> {
  const closers = new Closers();
  try {
    return await startParts(config, logger, startServer, closers, spawned);
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
  spawned: Worker | undefined,
): Promise<RunningGateway> {
  const { limits } = config;
  const log = logTo(logger);

  // Answering threads have the numbers below that of this thread.
  const threads = await threadCount(config.threads, startServer, log);
  const limitMemory = allocateLimits(config, threads + 1);
  const shared = openLimits(limitMemory, threads);

  // The state folder, which this process locks before it writes anything there, and files.
  const listen = parseListenAddress(config.listen);
  const database = closers.add(await openStateDatabase(config.stateDirectory, log));
  const tls = await openTlsSource(config, listen.host);
  const expired = tls && describeExpired(tls.tls.cert, Date.now());
  if (expired !== undefined) log("warn", "certificate-expired", expired);
  const parts = await openParts(config, { shared, logger, tls, isInClear: tls === undefined }, closers);
  const { onError, access, stubs, counters, addresses } = parts;
  const { admission, pushing, secondaries } = access;
  const controlCounts = { streams: 0, lines: 0 };
  const lines = closers.add(openAuditSink(config.audit.logFile, logger, log));
  const audit = createAudit(config.audit, lines.sink, counters.limits);

  // The gateway.
  const controlParts = controlOf(config.push.credentials, controlCounts, limits);
  const sharing = threads === 0 ? undefined : new ThreadSharing(nodeClock);
  const createMetrics = (sources: MetricSources) => {
    const process = processFacts(tls, controlCounts, sharing?.counts(shared, threads));
    const own = withNodeMetrics(() => readMetrics({ ...sources, process }));
    return sharing?.measure(own) ?? own;
  };
  const assembly = await assemble(config, {
    ...parts.platform,
    openApi: () => import("../../http/openapi/document.ts"),
    clock: nodeClock,
    audit,
    metrics: createMetrics,
    stubRoutes: createStubRoutes({
      stubs,
      counters: counters.limits,
      onError,
      audit,
      clientAddress: admission.clientAddress,
      isForPushing: (identity) => pushing.isOfHolder(identity),
      isForQueries: (identity) => admission.isOfRule(identity),
      onChange: (change, federation) => {
        log("info", `federation-${change}`, `federation ${federation} ${change}`, { federation });
        sharing?.post({ stubs: stubs.list() });
      },
    }),
    generations: {
      database,
      ...(config.store && {
        openOrder: openReplica(config.store, parts.files),
        hold: config.store.leaseHoldSeconds * 1000,
      }),
      ...parts.rights,
      authority: pushing,
      ...sharing?.parts,
      explainer: SERVICE_EXPLAINER,
      control: controlParts,
      transfer: config.transfer.credentials.length > 0 ? secondaries : undefined,
      transferKey: access.transferKey,
    },
    gatewayAddresses: addresses.of,
  });
  closers.add(assembly);

  // What answers clients: this thread, or others.
  const { app } = assembly;
  const fetch: FetchHandler = (request, client) => app.fetch(request, client);
  const answering = closers.addServer(
    sharing === undefined
      ? await startAnswering(parts, {
          config,
          tls: tls?.tls,
          app,
          logger,
          assembly,
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
          spawned,
        }),
  );
  if (sharing !== undefined) addresses.listens(answering.port, answering.places);

  // Files that may change while the gateway runs.
  closers.add(
    startRefreshers(
      [
        async () => {
          if (tls === undefined || !(await tls.refresh())) return;
          answering.renew(tls.tls);
          log("info", "certificate-renewed", "a replaced certificate is in use");
        },
        async () => {
          if (await parts.files.refresh())
            log("info", "tokens-renewed", "replaced tokens, passwords or keys are in use");
        },
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

/** The control plane that push credentials allow; undefined where none of them does. */
function controlOf(
  credentials: readonly Pick<PushCredential, "clusterId" | "control" | "reach">[],
  counts: ControlCounts,
  limits: ControlLimits,
): ControlParts | undefined {
  const clusters = credentials.flatMap(({ clusterId, control }) => {
    const visibility = controlScope(control);
    return visibility === undefined ? [] : { clusterId, visibility };
  });
  if (clusters.length === 0) return undefined;
  const reach = new Map(
    credentials.flatMap((one) => (one.reach === undefined ? [] : [[one.clusterId, one.reach] as const])),
  );
  const control = createControl(clusters, reach);
  return { control, counts, createRoute: createDesiredRoute, limits };
}
