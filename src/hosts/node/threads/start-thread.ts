import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { Hono } from "hono/tiny";
import { visibilitiesOf } from "../../../access/rule.ts";
import { assemble } from "../../../assembly/assemble.ts";
import type { Answers } from "../../../assembly/platform.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { Reader } from "../../../database/reader.ts";
import type { ClusterMeta } from "../../../database/schema.ts";
import type { StubStore } from "../../../forward/stub-zones.ts";
import { AnsweringState } from "../../../gateway/answering-state.ts";
import { type Clock, Turns } from "../../../gateway/clock.ts";
import { pathOf } from "../../../http/messages/message.ts";
import type { SnapshotSource } from "../../../http/metrics/metric.ts";
import { withNodeMetrics } from "../../../http/metrics/node-metrics.ts";
import { readMetrics } from "../../../http/metrics/table.ts";
import { openForReading } from "../database.ts";
import { type Answering, startAnswering } from "../gateway/answering.ts";
import { type Closers, openLimits, openParts, startRefreshers } from "../gateway/parts.ts";
import { createLogger, nodeClock } from "../process.ts";
import { startNodeServer } from "../server/node-server.ts";
import { type Application, answerByFetch, refusal } from "../server/requests.ts";
import { HandOver } from "./hand-over.ts";
import { ThreadSignals, type ThreadStart, type ThreadState } from "./thread-sharing.ts";

/** The main thread stores registrations. */
const NO_STORE: StubStore = { load: async () => [], keep: async () => {} };

/** What a thread reports. */
interface ThreadReports {
  /** Called with the cluster of a damaged row. */
  readonly onDamage: (clusterId: string) => void;
  /** Called once, when the database cannot be read any more. */
  readonly onUnreadable: (error: Error) => void;
}

/** The paths that the main thread answers. */
const EXPLAIN = /\/explain$/;

/** A thread that does not listen yet. */
export type PreparedThread = Awaited<ReturnType<typeof prepareThread>>;

/**
 * Opens what an answering thread has: admission, limits, DNS over all transports, forwarding. It answers DNS
 * from the database, which it only reads, and hands every other request to the main thread.
 * @throws {UsageError} if the files of the configuration cannot be read
 */
export async function prepareThread(
  start: ThreadStart,
  closers: Closers,
  { onDamage, onUnreadable }: ThreadReports,
) {
  const { index, config, tls } = start;
  const logger = createLogger("serve", config.logLevel).child({ thread: index });
  // What each thread would say is said by the main thread.
  const quiet = logger.child({}, { level: "error" });
  const signals = new ThreadSignals(start.signals);
  const clock = clockFrom(start.clock, signals);
  const shared = openLimits(start.limitMemory, index);
  const own = { shared, logger, accessLogger: quiet, stubStore: NO_STORE, isInClear: tls === undefined };
  const parts = await openParts(config, own, closers);
  const { access, stubs } = parts;
  const database = closers.add(openForReading(start.database, onUnreadable));
  let metrics: SnapshotSource | undefined;
  const assembly = await assemble(config, {
    ...parts.platform,
    clock,
    generations: {
      ...parts.rights,
      open(stages): Answers {
        const reader = new Reader(database, ({ cluster }) => onDamage(cluster));
        const state = new AnsweringState({
          reader,
          clock,
          turns: new Turns(clock),
          scopes: visibilitiesOf(access.admission.rules),
          names: stages.names,
          queries: stages,
          hold: (config.store?.leaseHoldSeconds ?? 0) * 1000,
          behindSince: (now) => signals.behindSince(now),
          serial: () => signals.serial,
          catchUp: () => follow(),
        });
        const held = new Map<string, ClusterMeta>();
        const follow = followStates({
          states: start.states,
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
        return {
          // Surveys are for the main thread.
          gateway: { status: () => state.everything.status() },
          pushRoutes: new Hono(),
          of: ({ visibility }) => ({ gateway: state.within(visibility), listed: () => undefined }),
          close: async () => {},
        };
      },
    },
    metrics: (sources) => {
      metrics = withNodeMetrics(() => readMetrics(sources));
      return metrics;
    },
  });
  closers.add(assembly);
  const { app } = assembly;
  const here = answerByFetch((request, client) => app.fetch(request, client));
  const application = answerHealth({ here, signals, clock: clock.now }, new HandOver(start.requests).answer);
  closers.add(startRefreshers([async () => void (await parts.files.refresh())], logger));
  return {
    /** See `ThreadMethods`. */
    listen: async (config: ServeConfig): Promise<Answering> =>
      closers.addServer(
        await startAnswering(parts, {
          config,
          tls,
          clock,
          assembly,
          app: { ...app, handlerAt: (path) => (EXPLAIN.test(path) ? undefined : app.handlerAt(path)) },
          startServer: (options) => startNodeServer({ ...options, application }),
          logger: index === 0 ? logger : quiet,
          reusePort: start.sharesPorts,
        }),
      ),
    measure: () => metrics?.snapshot(),
  };
}

/** The gateway's clock in this thread, whatever became of the wall clock since the process started. */
function clockFrom({ now, hrtime }: ThreadStart["clock"], signals: Pick<ThreadSignals, "wallOffset">): Clock {
  const elapsed = Number(process.hrtime.bigint() - hrtime) / 1e6;
  const ahead = Math.round(now + elapsed - nodeClock.now());
  return { ...nodeClock, now: () => nodeClock.now() + ahead, wallOffset: () => signals.wallOffset };
}

/**
 * The time that the main thread has for its answer, in milliseconds. A probe of Kubernetes waits for a
 * second.
 */
const PATIENCE = 500;
/**
 * For so long the main thread may stand still, in milliseconds. Meanwhile queries are answered from what it
 * compiled last; an orchestrator that restarts the process for a shorter stop, such as a slow disk, would end
 * these answers.
 */
const LONGEST_SILENCE = 60_000;

/** What health checks in a thread ask. */
interface ThreadHealth {
  /** Answers requests in this thread. */
  readonly here: Application;
  readonly signals: Pick<ThreadSignals, "isFresh" | "silence">;
  /** The gateway's clock. */
  readonly clock: () => number;
}

/**
 * Answers health checks in this thread, and hands over all other requests. Queries are answered while the
 * main thread is busy or stands still, so no probe may fail for that.
 *
 * - `/healthz` is answered here.
 * - `/readyz` is handed over, since the main thread knows more, and answered here if that one does not answer
 *   in time.
 */
export function answerHealth({ here, signals, clock }: ThreadHealth, handOver: Application): Application {
  return async (request) => {
    const path = pathOf(request.url);
    const isHealth = path === "/healthz" || path === "/readyz";
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isHealth || !isRead) return handOver(request);
    if (path === "/healthz") {
      const silence = signals.silence(clock());
      if (silence <= LONGEST_SILENCE) return here(request);
      return refusal(503, `the thread that takes changes has not run for ${Math.round(silence / 1000)} s`, {
        "content-type": "text/plain; charset=utf-8",
      });
    }
    if (!signals.isFresh(clock())) return here(request);
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => late.resolve(undefined), PATIENCE);
    const answered = await Promise.race([handOver(request), late.promise]);
    clearTimeout(timer);
    return answered ?? here(request);
  };
}

/** Where states come from, and what takes them. */
interface FollowParts {
  readonly states: MessagePort;
  readonly signals: Pick<ThreadSignals, "posted">;
  /** Takes over what the database has. */
  readonly follow: () => void;
  /** Takes over what was posted. */
  readonly take: (state: ThreadState) => void;
}

/**
 * Takes over states as the main thread posts them.
 * @returns takes over, at once, what changed by now: a query reads one word of shared memory for it
 */
export function followStates({ states, signals, follow, take }: FollowParts): () => void {
  states.on("message", take);
  let seen: number | undefined;
  return () => {
    const { posted } = signals;
    if (posted === seen) return;
    // States are posted to every thread before this word changes.
    for (let next = receiveMessageOnPort(states); next !== undefined; next = receiveMessageOnPort(states))
      take(next.message as ThreadState);
    follow();
    seen = posted;
  };
}
