import type { Holder } from "../../access/authority.ts";
import type { Clock } from "../../gateway/clock.ts";
import type { DesiredCursor } from "../../gateway/desired.ts";
import { textOf } from "../../gateway/desired-lines.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { LimitCounters } from "../../limits/counters.ts";
import { NDJSON_TYPE } from "../../snapshot/lines/patch-line.ts";
import { ApiError } from "../messages/errors.ts";

/**
 * Opens the stream of a cluster's desired state.
 * @param after the position from which to resume
 * @param instance what the worker reads that would write it there
 */
export type OpenDesired = (
  clusterId: string,
  holder: Holder,
  after: string | undefined,
  instance: string | undefined,
) => Response;

/** What is counted of streams, for metrics. */
export interface ControlCounts {
  /** Open now. */
  streams: number;
  /** Lines sent since the start. */
  lines: number;
}

/** What streams are opened with. */
interface DesiredParts {
  readonly gateway: Pick<Gateway, "desiredWithin" | "now" | "refuseOther" | "turns">;
  readonly clock: Pick<Clock, "now" | "setTimer">;
  readonly counts: ControlCounts;
  readonly counters?: LimitCounters | undefined;
  readonly limits: ControlLimits;
  /** Called with each error that cuts a stream off. */
  readonly onError: (error: unknown) => void;
}

/** The route `GET /api/v1/clusters/<id>/desired` (docs/reference/control-api.md), for hosts that serve it. */
export function createDesiredRoute(parts: DesiredParts): OpenDesired {
  const { gateway, limits, counts } = parts;
  const streams = new Map<string, number>();
  return (clusterId, { control }, after, instance) => {
    const feed = control === undefined ? undefined : gateway.desiredWithin(control);
    if (feed === undefined)
      throw new ApiError(
        "CONTROL_NOT_ALLOWED",
        `the operator does not let "${clusterId}" read its desired state: set control: true at its entry of push.credentials`,
      );
    if (!feed.has(clusterId))
      throw new ApiError(
        "CLUSTER_NOT_LIVE",
        `nothing is desired in "${clusterId}" before it has pushed a snapshot, or while its lease has expired: push first`,
        { headers: { "retry-after": "2" } },
      );
    gateway.refuseOther(clusterId, instance);
    const own = streams.get(clusterId) ?? 0;
    if (own >= limits.controlStreamsPerCluster) throw tooMany(own, "limits.controlStreamsPerCluster");
    if (counts.streams >= limits.controlStreams) throw tooMany(counts.streams, "limits.controlStreams");
    streams.set(clusterId, own + 1);
    counts.streams++;
    const cursor = feed.open(clusterId, after);
    const leases = () => feed.leases(gateway.now());
    const body = streamDesired(parts, cursor, leases, () => {
      counts.streams--;
      const left = streams.get(clusterId)! - 1;
      if (left === 0) streams.delete(clusterId);
      else streams.set(clusterId, left);
    });
    // No proxy may keep lines until it has more of them; nor does the server of Node.js.
    const headers = {
      "content-type": NDJSON_TYPE,
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    };
    return new Response(body, { headers });
  };
}

function tooMany(open: number, limit: "limits.controlStreams" | "limits.controlStreamsPerCluster"): ApiError {
  const whose = limit === "limits.controlStreams" ? "all clusters" : "this cluster";
  return new ApiError("TOO_MANY_STREAMS", `${open} streams of ${whose} are open already`, {
    headers: { "retry-after": "5" },
    limit,
  });
}

/** Characters of one piece: what a stream holds beside what the reader has not taken from its connection. */
const PIECE = 64 * 1024;
/** Milliseconds between two lines of leases. */
const SHORTEST_PAUSE = 1000;
const LONGEST_PAUSE = 30_000;
const NOTHING = { text: "", lines: 0 };
const ENCODER = new TextEncoder();

/**
 * The lines of a desired state as its reader takes them: the state, then changes, and leases at every third
 * of the shortest. It ends after a time, so that proxies and credentials are checked anew, and when the
 * reader takes nothing for too long. Nothing is produced ahead of the reader.
 * @param leasesLeft seconds until leases expire, by cluster id
 * @param onEnd called once
 */
function streamDesired(
  { gateway, clock, limits, counts, counters, onError }: DesiredParts,
  cursor: DesiredCursor,
  leasesLeft: () => Readonly<Record<string, number>>,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  let leasesAt = Number.NEGATIVE_INFINITY;
  let isOver = false;
  let isEnded = false;
  let stopWaiting = () => {};
  let stopSlow = () => {};
  const stopOver = clock.setTimer(limits.controlSeconds * 1000, () => {
    isOver = true;
    cursor.wake();
  });
  const end = () => {
    if (isEnded) return;
    isEnded = true;
    stopOver();
    stopSlow();
    stopWaiting();
    cursor.close();
    cursor.wake();
    onEnd();
  };
  const leases = (): string => {
    const all = Object.entries(leasesLeft());
    const left = all.filter(([clusterId]) => cursor.covers(clusterId));
    const shortest = left.length < all.length ? 0 : Math.min(...all.map(([, seconds]) => seconds)) * 1000;
    leasesAt = clock.now() + Math.max(SHORTEST_PAUSE, Math.min(LONGEST_PAUSE, shortest / 3));
    return textOf({ leases: Object.fromEntries(left) });
  };
  /** Changes that keep coming must not hold up leases: without them a reader takes them for expired. */
  const isDue = () => cursor.hasBegun && clock.now() >= leasesAt;
  const waiting = () =>
    new Promise<void>((resolve) => {
      const stop = clock.setTimer(Math.max(0, leasesAt - clock.now()), resolve);
      stopWaiting = stop;
      cursor.onWake(() => {
        stop();
        resolve();
      });
    });

  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    stopSlow();
    for (;;) {
      if (isEnded) return;
      if (isOver || cursor.isEnded) {
        end();
        controller.close();
        return;
      }
      const { text, lines } = cursor.isIdle ? NOTHING : await gateway.turns.run(cursor.read(PIECE, isDue));
      if (isEnded) return;
      const hasLeases = isDue();
      const piece = hasLeases ? text + leases() : text;
      if (piece === "") {
        // Something may have happened after the last step.
        if (cursor.isIdle && !isOver && !cursor.isEnded) await waiting();
        continue;
      }
      counts.lines += lines + (hasLeases ? 1 : 0);
      controller.enqueue(ENCODER.encode(piece));
      stopSlow = clock.setTimer(limits.controlIdleSeconds * 1000, () => {
        counters?.hit("limits.controlIdleSeconds");
        end();
        controller.error(new Error("the reader took nothing for too long"));
      });
      return;
    }
  };
  const fail = (error: unknown): never => {
    end();
    onError(error);
    throw error;
  };

  return new ReadableStream<Uint8Array>(
    { pull: (controller) => pull(controller).catch(fail), cancel: end },
    { highWaterMark: 0 },
  );
}

/** Bounds on the streams of desired states. */
export interface ControlLimits {
  /** Streams of all clusters at the same time. */
  readonly controlStreams: number;
  /** Streams of one cluster at the same time. */
  readonly controlStreamsPerCluster: number;
  /** Seconds after which a stream ends: its reader resumes, with its credential. */
  readonly controlSeconds: number;
  /** Seconds after which a stream ends whose reader takes nothing. */
  readonly controlIdleSeconds: number;
}
