import type { GaugeSeries } from "./label-counts.ts";
import type { MetricsSource } from "./metrics-source.ts";
import { readGauge, STATUS_GAUGES, type StatusSource } from "./status-gauges.ts";
import { TRANSFER_METRICS, type TransferMetricsSource } from "./transfer-metrics.ts";

/**
 * The metrics of a secondary for Prometheus (text format 0.0.4): the gateway's status, and what this secondary fetched and holds. Without
 * counters of queries, since each of many isolates would count for itself.
 * @param clock Unix milliseconds
 */
export function createStatusMetrics(
  gateway: StatusSource,
  clock: () => number,
  transfer?: TransferMetricsSource,
): MetricsSource {
  return {
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    async render() {
      let text = "";
      for (const gauge of STATUS_GAUGES)
        text += format({ ...gauge, type: "gauge" }, await readGauge(gauge, gateway, clock));
      if (transfer !== undefined)
        for (const metric of TRANSFER_METRICS) text += format(metric, metric.read(transfer));
      return text;
    },
  };
}

function format(
  { name, help, type }: { readonly name: string; readonly help: string; readonly type: string },
  series: readonly GaugeSeries[] | undefined,
): string {
  if (series === undefined) return "";
  const values = series.map(({ labels, value }) => `${name}${formatLabels(labels)} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${values.join("")}\n`;
}

/** Values of labels need no escaping: cluster ids, reasons, origins. */
function formatLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}
