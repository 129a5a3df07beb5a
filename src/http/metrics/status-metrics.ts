import type { MetricsSource } from "./metrics-source.ts";
import { STATUS_GAUGES, type StatusSource } from "./status-gauges.ts";

/**
 * The gateway's status for Prometheus (text format 0.0.4), without counters: for hosts with many isolates, each of which would
 * count separately.
 * @param clock Unix milliseconds
 */
export function createStatusMetrics(gateway: StatusSource, clock: () => number): MetricsSource {
  return {
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    async render() {
      const status = gateway.status();
      const now = clock();
      let text = "";
      for (const { name, help, read } of STATUS_GAUGES) {
        const series = read(status, now);
        if (series === undefined) continue;
        text += `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`;
        for (const { labels, value } of series) text += `${name}${formatLabels(labels)} ${value}\n`;
        text += "\n";
      }
      return text;
    },
  };
}

/** Cluster ids and reasons need no escaping. */
function formatLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}
