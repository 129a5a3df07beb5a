import type { MessagePort } from "node:worker_threads";
import { Hono } from "hono";
import { visibilitiesOf } from "../../../../access/rules/access-rule.ts";
import { ClientTests, type Sighting } from "../../../../answer/client-tests.ts";
import { QueryCounters } from "../../../../answer/query-counters.ts";
import { assemble } from "../../../../assembly/assemble.ts";
import type { Answers, Stages } from "../../../../assembly/platform.ts";
import { VERSION } from "../../../../assembly/version.ts";
import { isStated } from "../../../../config/access/access.ts";
import { exportLimitsOf, grantsOf } from "../../../../config/access/push-credentials.ts";
import type { ServeConfig } from "../../../../config/serve-config.ts";
import { parseListenAddress } from "../../../../config/values/listen-address.ts";
import type { ClusterMeta } from "../../../../database/cluster-row.ts";
import { Reader } from "../../../../database/reader.ts";
import type { StubStore, StubZones } from "../../../../forward/stubs/stub-zones.ts";
import { AnsweringState } from "../../../../gateway/answering-state.ts";
import type { Clock } from "../../../../gateway/clock.ts";
import type { DohGateway, ScopedGateway } from "../../../../gateway/scoped-gateway.ts";
import { Turns } from "../../../../gateway/turns.ts";
import { AccessCounters } from "../../../../http/metrics/access-counters.ts";
import { createPrometheusMetrics } from "../../../../http/metrics/prometheus.ts";
import { ConnectionErrors } from "../../../../limits/connection-errors.ts";
import type { Visibility } from "../../../../merge/visibility/visibility.ts";
import { loadAccess } from "../../access/load-access.ts";
import { openForReading } from "../../database/open-database.ts";
import { createLogger, logTo } from "../../logger.ts";
import { nodeClock } from "../../node-clock.ts";
import { answerByFetch } from "../../server/fetch-request.ts";
import { startNodeServer } from "../../server/node-server.ts";
import { openUpstreams } from "../../upstreams/configured-upstreams.ts";
import { UpstreamConnector } from "../../upstreams/connect.ts";
import { type Answering, startAnswering } from "../answering.ts";
import type { Closers } from "../closers.ts";
import { createProtection } from "../protection.ts";
import { Reachability } from "../reach.ts";
import { startRefreshers } from "../refreshers.ts";
import { openLimits } from "../shared-limits.ts";
import { openStubZones } from "../stub-zones.ts";
import { measureThread } from "../thread-metrics.ts";
import { answerHealth } from "./answer-health.ts";
import { followStates } from "./follow-states.ts";
import { HandOver } from "./hand-over.ts";
import type { ThreadStart } from "./thread-messages.ts";
import { ThreadSignals } from "./thread-signals.ts";

/** The main thread stores registrations. */
const NO_STORE: StubStore = { load: async () => [], keep: async () => {} };
/** What a thread has of the module that runs it. */
export interface ThreadCalls {
  readonly onSighting: (token: string, sighting: Sighting) => void;
  /** Called with the cluster of a damaged row. */
  readonly onDamage: (clusterId: string) => void;
  /** Called when all is prepared. @returns the settings whose addresses it listens on, once it may */
  readonly addresses: () => Promise<ServeConfig>;
}

/** The paths that the main thread answers. */
const EXPLAIN = /\/explain$/;

/**
 * Starts what an answering thread has: admission, limits, DNS over all transports, forwarding. It answers DNS from the database, which it only reads,
 * and hands every other request to the main thread.
 * @throws {UsageError} if the files of the configuration cannot be read, or it cannot listen on an address
 */
export async function startThread(
  {
    index,
    config,
    tls,
    database: path,
    sharesPorts,
    limitMemory,
    signals: memory,
    clock: origin,
    states,
    requests,
    metrics,
  }: ThreadStart,
  closers: Closers,
  { onSighting, onDamage, addresses }: ThreadCalls,
): Promise<Answering> {
  const logger = createLogger("serve", config.logLevel).child({ thread: index });
  const log = logTo(logger);
  // What each thread would say is said by the main thread.
  const quiet = logger.child({}, { level: "error" });
  const onError = (err: unknown) => log("error", "request-failed", "a request failed", { err });
  const signals = new ThreadSignals(memory);
  const clock = clockFrom(origin, signals);
  const shared = openLimits(limitMemory, index);
  const access = closers.add(await loadAccess(config, quiet));
  const { admission, pushing } = access;
  const connector = await UpstreamConnector.load(config.stub.upstreams);
  const forwarding = closers.add(await openUpstreams(config.forward));
  const stubs = closers.add(await openStubZones(config, connector, logger, shared.count("stub"), NO_STORE));
  const counters = new QueryCounters(
    new ConnectionErrors((source, err) =>
      log("debug", "connection-error", "a connection failed", { source, err }),
    ),
  );
  const accessCounters = new AccessCounters();
  const clientTests = new ClientTests(onSighting);
  const { protection, load } = closers.add(createProtection(config, counters, shared));
  const reachability = new Reachability(config, admission.rules, undefined);
  const database = closers.add(openForReading(path));
  const assembly = await assemble(config, {
    ...{ version: VERSION, clock, log, access: admission, load, shared },
    ...{ counters, accessCounters, clientTests, stubs },
    clusterTokens: config.push.credentials.length > 0 ? pushing : undefined,
    clusterIds: config.push.credentials.map(({ clusterId }) => clusterId),
    isOpenToItsNetwork: !isStated(config.access),
    isInClear: tls === undefined,
    upstreams: forwarding.upstreams,
    generations: {
      grants: grantsOf(config.push.credentials),
      exportLimits: exportLimitsOf(config.push.credentials),
      open(stages): Answers {
        const reader = new Reader(database, ({ cluster }) => onDamage(cluster));
        const scopes = visibilitiesOf(admission.rules);
        const { state, follow } = openState({
          reader,
          clock,
          stages,
          scopes,
          signals,
          states,
          stubs,
          config,
        });
        return {
          gateway: followed(state.everything, follow),
          pushRoutes: new Hono(),
          of: ({ visibility }) => ({
            gateway: followed(state.within(visibility), follow),
            listed: () => undefined,
          }),
          close: async () => {},
        };
      },
    },
    metrics: (...counted) => {
      const own = createPrometheusMetrics(...counted);
      measureThread(metrics, own);
      return own;
    },
    designated: reachability.designated,
  });
  closers.add(assembly);
  const { app } = assembly;
  const here = answerByFetch((request, client) => app.fetch(request, client));
  const isReady = () => assembly.status().ready;
  const health = { here, signals, isReady, clock: clock.now };
  const application = answerHealth(health, new HandOver(requests).answer);
  const listening = await addresses();
  const answering = closers.addServer(
    await startAnswering({
      ...{ config: listening, listen: parseListenAddress(listening.listen), tls, protection, onError, clock },
      ...{ assembly, rules: admission.rules, stubs, counters, accessCounters, clientTests, shared },
      app: { ...app, handlerAt: (path) => (EXPLAIN.test(path) ? undefined : app.handlerAt(path)) },
      startServer: (options) => startNodeServer({ ...options, application }),
      logger: index === 0 ? logger : quiet,
      reusePort: sharesPorts,
    }),
  );
  reachability.listens(answering.port, answering.places);
  closers.add(
    startRefreshers(
      [async () => void (await access.refresh()), () => connector.refresh(), () => forwarding.refresh()],
      logger,
    ),
  );
  return answering;
}

interface StateParts {
  readonly reader: Reader;
  readonly clock: Clock;
  readonly stages: Stages;
  readonly scopes: readonly Visibility[];
  readonly signals: ThreadSignals;
  readonly states: MessagePort;
  readonly stubs: StubZones;
  readonly config: Pick<ServeConfig, "store">;
}

/** What the thread answers from, and what has it follow the main thread. */
function openState({ reader, clock, stages, scopes, signals, states, stubs, config }: StateParts) {
  const state = new AnsweringState({
    reader,
    clock,
    turns: new Turns(clock),
    scopes,
    names: stages.names,
    queries: stages,
    hold: (config.store?.leaseHoldSeconds ?? 0) * 1000,
    behindSince: (now) => signals.behindSince(now),
    serial: () => signals.serial,
  });
  const held = new Map<string, ClusterMeta>();
  const follow = followStates({
    states,
    signals,
    take: ({ stubs: registrations, held: leases = [] }) => {
      if (registrations !== undefined) stubs.replaceAll(registrations);
      for (const [clusterId, meta] of leases) held.set(clusterId, meta);
    },
    follow: () => {
      state.follow();
      for (const [clusterId, meta] of held) {
        const { renewedAt = 0 } = state.live.get(clusterId) ?? {};
        if (renewedAt < meta.renewedAt) state.hold(clusterId, meta);
        else held.delete(clusterId);
      }
    },
  });
  return { state, follow };
}

/** A gateway that follows the main thread before it says anything. */
function followed(gateway: ScopedGateway, follow: () => void): DohGateway {
  return {
    answer: (...query) => {
      follow();
      return gateway.answer(...query);
    },
    hasCluster: (clusterId) => {
      follow();
      return gateway.hasCluster(clusterId);
    },
    hasLeft: (clusterId) => {
      follow();
      return gateway.hasLeft(clusterId);
    },
    status: () => {
      follow();
      return gateway.status();
    },
  };
}

/** The gateway's clock in this thread, whatever became of the wall clock since the process started. */
function clockFrom({ now, hrtime }: ThreadStart["clock"], signals: Pick<ThreadSignals, "wallOffset">): Clock {
  const elapsed = Number(process.hrtime.bigint() - hrtime) / 1e6;
  const ahead = Math.round(now + elapsed - nodeClock.now());
  return { ...nodeClock, now: () => nodeClock.now() + ahead, wallOffset: () => signals.wallOffset };
}
