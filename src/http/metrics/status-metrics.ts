import type { MetricsSource } from "./metrics-source.ts";
import { CLUSTER_GAUGES, STATUS_GAUGES, type StatusSource } from "./status-gauges.ts";

/**
 * The gateway's status for Prometheus (text format 0.0.4), without any counter: for hosts with many isolates, of which each would
 * count for itself.
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
        const value = read(status, now);
        if (value !== undefined) text += `${head(name, help)}${name} ${value}\n\n`;
      }
      for (const { name, help, read } of CLUSTER_GAUGES) {
        text += head(name, help);
        // A cluster id has nothing that would have to be escaped.
        for (const cluster of status.clusters)
          text += `${name}{cluster="${cluster.clusterId}"} ${read(cluster, now)}\n`;
        text += "\n";
      }
      return text;
    },
  };
}

function head(name: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`;
}
