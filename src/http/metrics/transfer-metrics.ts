import type { TransferCounters, TransferOrigin } from "../../transfer/transfer-events.ts";
import type { GaugeSeries } from "./counts.ts";

/** What a secondary fetched and holds. */
export interface TransferMetricsSource {
  readonly counters: TransferCounters;
  readonly memory: { readonly bytes: number };
}

/** A metric of what a secondary fetched and holds. */
export interface TransferMetric {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly read: (source: TransferMetricsSource) => readonly GaugeSeries[];
}

/** Every metric of what a secondary fetched and holds. */
export const TRANSFER_METRICS: readonly TransferMetric[] = [
  {
    name: "clusterset_doh_transferred_parts_total",
    type: "counter",
    help: "Keys, lists and other parts that were fetched.",
    read: ({ counters }) => byOrigin(counters.parts),
  },
  {
    name: "clusterset_doh_transferred_bytes_total",
    type: "counter",
    help: "Bytes of parts that were fetched.",
    read: ({ counters }) => byOrigin(counters.bytes),
  },
  {
    name: "clusterset_doh_part_memory_bytes",
    type: "gauge",
    help: "Size of the parts in memory.",
    read: ({ memory }) => [{ labels: {}, value: memory.bytes }],
  },
];

function byOrigin(counts: Readonly<Record<TransferOrigin, number>>): readonly GaugeSeries[] {
  return Object.entries(counts).map(([from, value]) => ({ labels: { from }, value }));
}
