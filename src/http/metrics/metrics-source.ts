import type { MetricSnapshot } from "./threads.ts";

/** Metrics in a text format, from the library of the host. */
export interface MetricsSource {
  readonly contentType: string;
  render(): Promise<string>;
}

/** Metrics that can be merged with those of other threads. */
export interface SnapshotSource extends MetricsSource {
  snapshot(): Promise<MetricSnapshot[]>;
}
