import { SnapshotAssembler } from "../extract/extract.ts";
import type { NodeAddressType } from "../extract/services/local-service.ts";
import { type Report, reportKey } from "../snapshot/report.ts";
import type { ClusterSnapshot, ClusterZone } from "../snapshot/schema.ts";
import type { GatewayOptions } from "./gateway-requests.ts";
import {
  type ObjectSource,
  SourceError,
  type SourceListener,
  type SourceProblem,
  type SyncLogger,
  toDegradations,
} from "./object-source.ts";
import type { BackoffLimits } from "./pacing.ts";
import { PushClient, type PushStatus } from "./push-client.ts";

/** The options of a sync worker, with credentials and trust for its gateways. */
export interface SyncWorkerOptions extends Pick<GatewayOptions, "token" | "clientCertificate" | "ca"> {
  readonly source: ObjectSource;
  /** Default: from the objects, see `chooseClusterId`. */
  readonly clusterId?: string | undefined;
  /** The cluster's own zone. Default: none. */
  readonly clusterZone?: ClusterZone | undefined;
  /** Reports node ports, with the nodes' addresses of this type. Default: no. */
  readonly nodeAddresses?: NodeAddressType | undefined;
  /** Base URLs; the gateways do not depend on each other. */
  readonly gateways: readonly string[];
  /** Push one whole state, then end. */
  readonly once: boolean;
  /** The lease: how long a gateway answers from the last push, in seconds. Default 60. */
  readonly leaseSeconds?: number;
  /** How long the worker renews leases without an answer of the API server, in seconds. Default 900. */
  readonly staleAfterSeconds?: number | undefined;
  /**
   * The name of what the worker reads, which another worker with this cluster id must have, too. Default:
   * that of the source.
   */
  readonly instance?: string | undefined;
  /** Gets every object, too: the control plane reads the cluster by the same watches. */
  readonly follower?: Pick<SourceListener, "upsert" | "delete" | "changed"> | undefined;
  readonly signal: AbortSignal;
  readonly logger: SyncLogger;
  /** Pauses between attempts to reach a gateway. */
  readonly backoff?: BackoffLimits;
}

/** Seconds for which a gateway answers from the last push, unless the operator chooses others. */
export const DEFAULT_LEASE_SECONDS = 60;
/** After how many failures a worker that does its work once gives up. */
export const FAILURES_ONCE = 5;
/** Milliseconds between two looks at what the worker has to report of itself. */
const WATCH_INTERVAL = 1000;

/** The control plane of a worker. */
export interface ControlStatus {
  /** Whether this process holds the Lease, so that it writes. */
  readonly leads: boolean;
  /** Names of services whose objects are not known to be as desired. */
  readonly pending: number;
  /** Writes so far by verb and kind, such as `apply ServiceImport/status`. */
  readonly writes: ReadonlyMap<string, number>;
  /** Events that were not written, by reason. */
  readonly eventsDropped: ReadonlyMap<string, number>;
}

/** A sync worker, for probes and metrics. */
export interface WorkerStatus {
  /** Whether the worker has read all resources of its cluster once. */
  readonly complete: boolean;
  /** Seconds since the source was last known to be current; undefined before the first time. */
  readonly confirmedSeconds: number | undefined;
  readonly report: Report;
  readonly gateways: readonly PushStatus[];
  /** Absent without `--control`. */
  readonly control?: ControlStatus;
}

/** A sync worker that was put together. */
export interface SyncWorker {
  status(): WorkerStatus;
  /**
   * Runs until the signal aborts, or, with `once`, until every gateway acknowledged one whole state.
   * @throws with `once`: {SourceError}, {ClusterIdError} or {GatewayError}, for the first failure.
   */
  run(): Promise<void>;
}

/**
 * Puts a sync worker together; nothing is read or sent yet.
 * @throws {TypeError} if a gateway is not an http or https URL.
 */
export function openSyncWorker(options: SyncWorkerOptions): SyncWorker {
  const { source, signal, logger, clusterId, clusterZone, nodeAddresses, once, follower } = options;
  const assembler = new SnapshotAssembler({ clusterId, clusterZone, nodeAddresses });
  const instance = () => options.instance ?? source.instance;
  const stop = new AbortController();
  const ended = AbortSignal.any([signal, stop.signal]);
  const whole = Promise.withResolvers<ClusterSnapshot>();
  // Only awaited with `once`.
  whole.promise.catch(() => undefined);
  let failures = 0;
  let clients: PushClient[] = [];
  let complaint: { readonly message: string; readonly problem: SourceProblem } | undefined;

  const refresh = (): boolean => {
    if (!source.complete) return false;
    try {
      assembler.refresh();
      complaint = undefined;
      return true;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const { code } = error as { readonly code?: unknown };
      if (message !== complaint?.message) logger.error({ code }, message);
      const since = complaint?.problem.since ?? performance.now();
      complaint = { message, problem: { code: typeof code === "string" ? code : "INTERNAL", since } };
      whole.reject(error);
      return false;
    }
  };
  // Events of one turn of the event loop are handled together.
  let scheduled: NodeJS.Immediate | undefined;
  const handleChanges = () => {
    scheduled = undefined;
    if (!once) for (const client of clients) client.changed();
    else if (refresh()) whole.resolve(assembler.state.toSnapshot());
  };
  const listener: SourceListener = {
    upsert(object) {
      assembler.upsert(object);
      follower?.upsert(object);
    },
    delete(object) {
      assembler.delete(object);
      follower?.delete(object);
    },
    changed() {
      scheduled ??= setImmediate(handleChanges);
      follower?.changed();
    },
    failed: (error: SourceError) => {
      if (error.permanent || ++failures >= FAILURES_ONCE) whole.reject(error);
    },
  };
  const isCurrent = watchFreshness(source, options);
  const report = (): Report => {
    const now = performance.now();
    const problems = [...source.problems(now), ...(complaint === undefined ? [] : [complaint.problem])];
    return problems.length === 0 ? {} : { degraded: toDegradations(problems, now) };
  };
  const { leaseSeconds = DEFAULT_LEASE_SECONDS } = options;
  clients = options.gateways.map(
    (gateway) => new PushClient({ ...options, gateway, leaseSeconds, instance, isCurrent, report }),
  );

  const status = (): WorkerStatus => {
    const now = performance.now();
    const confirmed = source.lastConfirmed(now);
    return {
      complete: source.complete,
      confirmedSeconds: confirmed === undefined ? undefined : (now - confirmed) / 1000,
      report: report(),
      gateways: clients.map((client) => client.status()),
    };
  };
  const run = async () => {
    let watching: NodeJS.Timeout | undefined;
    let seen = reportKey({});
    const running = source.run(listener, ended);
    // The source runs until the signal aborts: there will be no whole state then.
    const stopped = new SourceError("STOPPED", "stopped before every gateway had acknowledged", false);
    running.then(() => whole.reject(stopped), whole.reject);
    try {
      if (once) {
        const snapshot = await whole.promise;
        const results = await Promise.allSettled(clients.map((client) => client.deliver(snapshot, signal)));
        for (const result of results) if (result.status === "rejected") throw result.reason;
      } else {
        const pushed = { state: assembler.state, refresh };
        // Some problems begin without an event: nothing comes from an API server that hangs.
        watching = setInterval(() => {
          const key = reportKey(report());
          if (key === seen) return;
          seen = key;
          for (const client of clients) client.changed();
        }, WATCH_INTERVAL);
        await Promise.all([running, ...clients.map((client) => client.run(pushed, ended))]);
      }
    } finally {
      clearInterval(watching);
      stop.abort();
      clearImmediate(scheduled);
      await running.catch(() => undefined);
      await Promise.all(clients.map((client) => client.close()));
    }
  };
  return { status, run };
}

/** Whether leases may be renewed; logs when that changes. */
function watchFreshness(source: ObjectSource, options: SyncWorkerOptions): () => boolean {
  const stale = (options.staleAfterSeconds ?? 900) * 1000;
  let said = false;
  return () => {
    const now = performance.now();
    const confirmed = source.lastConfirmed(now);
    const age = confirmed === undefined ? Number.POSITIVE_INFINITY : now - confirmed;
    const current = age <= stale;
    if (current === said)
      if (current) options.logger.info({}, "the API server answers again; the worker renews its leases");
      else
        options.logger.error(
          { seconds: Math.round(age / 1000) },
          "the API server has not answered for too long: the worker no longer renews its leases, and this cluster will leave the answers",
        );
    said = !current;
    return current;
  };
}
