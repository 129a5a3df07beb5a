import { type Degradation, MOST_DEGRADATIONS, toSubject } from "../snapshot/degradation.ts";

/** A worker at one gateway. */
export interface PushStatus {
  /** Scheme, host and path of the gateway. */
  readonly gateway: string;
  /** Seconds until the lease there expires; negative after that, undefined before the first acknowledgement. */
  readonly leaseSeconds: number | undefined;
  readonly requests: readonly RequestCount[];
  /** The code of the last request's failure; absent if it was acknowledged. */
  readonly failure?: string | undefined;
}

/** Requests to a gateway with one result. */
export interface RequestCount {
  readonly method: string;
  /** HTTP status; `none` without a response. */
  readonly status: string;
  readonly count: number;
}

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
  readonly degraded: readonly Degradation[];
  readonly gateways: readonly PushStatus[];
  /** Absent without `--control`. */
  readonly control?: ControlStatus;
}

/** Something that keeps a worker from reading a part of its cluster. */
export interface SourceProblem {
  /** The code of the log. */
  readonly code: string;
  /** When it began, by `performance.now()`. */
  readonly since: number;
  /** The resource or the file that it concerns. */
  readonly subject?: string | undefined;
}

/**
 * Problems as a worker reports them: one for each code, with the earliest begin and the first subject.
 * @param now by `performance.now()`
 */
export function toDegradations(problems: readonly SourceProblem[], now: number): Degradation[] {
  return Array.from(
    Map.groupBy(problems, ({ code }) => code),
    ([reason, all]) => {
      const since = Math.min(...all.map((problem) => problem.since));
      const subjects = all.flatMap(({ subject }) =>
        subject === undefined ? [] : (toSubject(subject) ?? []),
      );
      return {
        reason,
        seconds: Math.max(0, Math.round((now - since) / 1000)),
        ...(subjects.length > 0 && { subject: subjects.sort()[0]! }),
        ...(subjects.length > 1 && { count: subjects.length }),
      };
    },
  ).slice(0, MOST_DEGRADATIONS);
}
