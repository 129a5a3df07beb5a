import type { SegmentCacheCounts } from "../../transfer/parts/segment-cache.ts";
import type { TransferCounters, TransferOrigin } from "../../transfer/parts/transfer-counters.ts";
import type { GaugeSeries } from "./label-counts.ts";

/** What a secondary fetched and holds. */
export interface TransferMetricsSource {
  readonly counters: TransferCounters;
  /** Absent if all segments are in memory. */
  readonly cache?: SegmentCacheCounts | undefined;
}

/** A metric of what a secondary fetched and holds. */
export interface TransferMetric {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  /** Undefined if the secondary has no such thing. */
  readonly read: (source: TransferMetricsSource) => readonly GaugeSeries[] | undefined;
}

/** Every metric of what a secondary fetched and holds. */
export const TRANSFER_METRICS: readonly TransferMetric[] = [
  {
    name: "clusterset_doh_transferred_segments_total",
    type: "counter",
    help: "Segments, and pages of their directories, that were fetched.",
    read: ({ counters }) => byOrigin(counters.segments),
  },
  {
    name: "clusterset_doh_transferred_bytes_total",
    type: "counter",
    help: "Bytes of roots and segments that were fetched, as they were sent.",
    read: ({ counters }) => byOrigin(counters.bytes),
  },
  ofCache(
    "clusterset_doh_segment_cache_hits_total",
    "counter",
    "Segments that queries found in memory.",
    ({ hits }) => hits,
  ),
  ofCache(
    "clusterset_doh_segment_cache_misses_total",
    "counter",
    "Segments that queries did not find in memory.",
    ({ misses }) => misses,
  ),
  ofCache(
    "clusterset_doh_segment_cache_evictions_total",
    "counter",
    "Segments that left memory because others needed the room.",
    ({ evictions }) => evictions,
  ),
  ofCache(
    "clusterset_doh_segment_cache_bytes",
    "gauge",
    "Size of the segments in memory.",
    ({ bytes }) => bytes,
  ),
];

function byOrigin(counts: Readonly<Record<TransferOrigin, number>>): readonly GaugeSeries[] {
  return Object.entries(counts).map(([from, value]) => ({ labels: { from }, value }));
}

function ofCache(
  name: string,
  type: TransferMetric["type"],
  help: string,
  read: (cache: SegmentCacheCounts) => number,
): TransferMetric {
  return { name, type, help, read: ({ cache }) => cache && [{ labels: {}, value: read(cache) }] };
}
