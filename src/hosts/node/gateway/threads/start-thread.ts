import { Hono } from "hono";
import { ClientTests, type Sighting } from "../../../../answer/client-tests.ts";
import { QueryCounters } from "../../../../answer/query-counters.ts";
import { assemble } from "../../../../assembly/assemble.ts";
import type { Answers } from "../../../../assembly/platform.ts";
import { VERSION } from "../../../../assembly/version.ts";
import { isStated } from "../../../../config/access/access.ts";
import type { ServeConfig } from "../../../../config/serve-config.ts";
import { parseListenAddress } from "../../../../config/values/listen-address.ts";
import type { StubStore } from "../../../../forward/stubs/stub-zones.ts";
import type { Clock } from "../../../../gateway/clock.ts";
import { AccessCounters } from "../../../../http/metrics/access-counters.ts";
import { createPrometheusMetrics } from "../../../../http/metrics/prometheus.ts";
import { ConnectionErrors } from "../../../../limits/connection-errors.ts";
import { SharedScopes } from "../../../../transfer/parts/shared/shared-scopes.ts";
import { loadAccess } from "../../access/load-access.ts";
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
/** How long an answer may wait for the state without a cluster whose lease just expired, in milliseconds. */
const EXPIRY_PATIENCE = 500;
/** What a thread has of the module that runs it. */
export interface ThreadCalls {
  readonly onSighting: (token: string, sighting: Sighting) => void;
  /** Called when all is prepared. @returns the settings whose addresses it listens on, once it may */
  readonly addresses: () => Promise<ServeConfig>;
}

/** The paths whose answers need what only the main thread has: merged services. */
const EXPLAIN = /\/explain$/;

/**
 * Starts what an answering thread has: admission, limits, DNS over all transports, forwarding. It answers DNS from what the main thread posts,
 * and hands every other request to it.
 * @throws {UsageError} if the files of the configuration cannot be read, or it cannot listen on an address
 */
export async function startThread(
  { index, config, tls, limitMemory, signals: memory, clock: origin, states, requests, metrics }: ThreadStart,
  closers: Closers,
  { onSighting, addresses }: ThreadCalls,
): Promise<Answering> {
  const logger = createLogger("serve", config.logLevel).child({ thread: index });
  const log = logTo(logger);
  // What each thread would say is said by the main thread.
  const quiet = logger.child({}, { level: "error" });
  const onError = (err: unknown) => log("error", "request-failed", "a request failed", { err });
  const clock = clockFrom(origin);
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
  const signals = new ThreadSignals(memory);
  const assembly = await assemble(config, {
    ...{ version: VERSION, clock, log, access: admission, load, shared },
    ...{ counters, accessCounters, clientTests, stubs },
    clusterTokens: config.push.credentials.length > 0 ? pushing : undefined,
    clusterIds: config.push.credentials.map(({ clusterId }) => clusterId),
    isOpenToItsNetwork: !isStated(config.access),
    isInClear: tls === undefined,
    upstreams: forwarding.upstreams,
    generations: {
      open(stages): Answers {
        const scopes = new SharedScopes(stages, {
          receive: followStates({ states, signals, stubs, take: (update) => scopes.take(update) }),
          isFresh: (now) => signals.isFresh(now),
          patience: () => new Promise((resolve) => setTimeout(resolve, EXPIRY_PATIENCE).unref()),
        });
        const [first] = admission.rules.all;
        const nothing = scopes.of(first?.visibility ?? {});
        return {
          gateway: nothing,
          pushRoutes: new Hono(),
          of: ({ visibility }) => ({ gateway: scopes.of(visibility), listed: () => undefined }),
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
      reusePort: true,
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

/** The gateway's clock in this thread, whatever became of the wall clock since the process started. */
function clockFrom({ now, hrtime }: ThreadStart["clock"]): Clock {
  const elapsed = Number(process.hrtime.bigint() - hrtime) / 1e6;
  const ahead = Math.round(now + elapsed - nodeClock.now());
  return {
    ...nodeClock,
    now: () => nodeClock.now() + ahead,
    wallOffset: () => (nodeClock.wallOffset?.() ?? 0) - ahead,
  };
}
