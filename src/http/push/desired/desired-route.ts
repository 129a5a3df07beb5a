import type { Holder } from "../../../access/authority.ts";
import type { Clock } from "../../../gateway/clock.ts";
import type { Gateway } from "../../../gateway/gateway.ts";
import type { LimitCounters } from "../../../limits/limit-counters.ts";
import { NDJSON_TYPE } from "../../../snapshot/lines/patch-line.ts";
import { ApiError } from "../../messages/api-error.ts";
import { type ControlLimits, DEFAULT_CONTROL_LIMITS } from "./control-limits.ts";
import { streamDesired } from "./desired-stream.ts";

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
export interface DesiredParts {
  readonly gateway: Pick<Gateway, "desiredWithin" | "now" | "refuseOther">;
  readonly clock: Pick<Clock, "now" | "setTimer">;
  readonly counts: ControlCounts;
  readonly counters?: LimitCounters | undefined;
  readonly limits?: Partial<ControlLimits> | undefined;
  /** Called with each error that cuts a stream off. */
  readonly onError: (error: unknown) => void;
}

/** The route `GET /api/v1/clusters/<id>/desired` (docs/reference/control-api.md), for hosts that serve it. */
export function createDesiredRoute(parts: DesiredParts): OpenDesired {
  const { gateway, clock, counts, counters, onError } = parts;
  const limits = { ...DEFAULT_CONTROL_LIMITS, ...parts.limits };
  const streams = new Map<string, number>();
  return (clusterId, { control }, after, instance) => {
    const feed = control === undefined ? undefined : gateway.desiredWithin(control);
    if (feed === undefined)
      throw new ApiError(
        403,
        "CONTROL_NOT_ALLOWED",
        `the operator does not let "${clusterId}" read its desired state: set control: true at its entry of push.credentials`,
      );
    if (!feed.has(clusterId))
      throw new ApiError(
        409,
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
    const body = streamDesired({
      cursor,
      clock,
      limits,
      onError,
      leases: () => feed.leases(clusterId, gateway.now()),
      onLines: (lines) => {
        counts.lines += lines;
      },
      onLimit: (limit) => counters?.hit(limit),
      onEnd: () => {
        counts.streams--;
        const left = streams.get(clusterId)! - 1;
        if (left === 0) streams.delete(clusterId);
        else streams.set(clusterId, left);
      },
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
  return new ApiError(429, "TOO_MANY_STREAMS", `${open} streams of ${whose} are open already`, {
    headers: { "retry-after": "5" },
    limit,
  });
}
