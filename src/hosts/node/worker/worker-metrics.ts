import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { MetricsSource } from "../../../http/metrics/process-metrics.ts";
import { reasonLabel } from "../../../snapshot/report/degradation.ts";
import type { ControlStatus, WorkerStatus } from "../../../sync/health/worker-status.ts";
import { isReady } from "./worker-readiness.ts";

/** The metrics of a sync worker for Prometheus: its status at the time of the request, and those of the process. */
export function createWorkerMetrics(status: () => WorkerStatus): MetricsSource {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  new Gauge({
    name: "clusterset_doh_worker_ready",
    help: "1 while a gateway holds a lease of the worker's cluster.",
    registers,
    collect() {
      this.set(Number(isReady(status())));
    },
  });
  new Gauge({
    name: "clusterset_doh_worker_degraded_seconds",
    help: "Time for which the worker cannot read all of its cluster, by reason.",
    labelNames: ["reason"],
    registers,
    collect() {
      this.reset();
      for (const { reason, seconds } of status().degraded) this.set({ reason: reasonLabel(reason) }, seconds);
    },
  });
  new Gauge({
    name: "clusterset_doh_worker_source_age_seconds",
    help: "Time since the API server last confirmed what the worker knows; no value before the first time.",
    registers,
    collect() {
      this.remove();
      const { confirmedSeconds } = status();
      if (confirmedSeconds !== undefined) this.set(confirmedSeconds);
    },
  });
  new Gauge({
    name: "clusterset_doh_worker_lease_remaining_seconds",
    help: "Time until the lease at a gateway expires; negative after that.",
    labelNames: ["gateway"],
    registers,
    collect() {
      this.reset();
      for (const { gateway, leaseSeconds } of status().gateways)
        if (leaseSeconds !== undefined) this.set({ gateway }, leaseSeconds);
    },
  });
  new Counter({
    name: "clusterset_doh_worker_requests_total",
    help: "Requests to gateways, by method and HTTP status; none without a response.",
    labelNames: ["gateway", "method", "status"],
    registers,
    collect() {
      this.reset();
      for (const { gateway, requests } of status().gateways)
        for (const { count, ...labels } of requests) this.inc({ gateway, ...labels }, count);
    },
  });
  if (status().control !== undefined) addControlMetrics(registers, () => status().control!);
  return { contentType: registry.contentType, render: () => registry.metrics() };
}

function addControlMetrics(registers: Registry[], status: () => ControlStatus): void {
  new Gauge({
    name: "clusterset_doh_control_leader",
    help: "1 while this worker writes the objects of its cluster.",
    registers,
    collect() {
      this.set(Number(status().leads));
    },
  });
  new Gauge({
    name: "clusterset_doh_control_pending",
    help: "Names of services whose objects are not known to be as desired.",
    registers,
    collect() {
      this.set(status().pending);
    },
  });
  new Counter({
    name: "clusterset_doh_control_writes_total",
    help: "Writes to the API server by verb and kind, rejected ones included.",
    labelNames: ["verb", "kind"],
    registers,
    collect() {
      this.reset();
      for (const [what, count] of status().writes) {
        const [verb, kind] = what.split(" ") as [string, string];
        this.inc({ verb, kind }, count);
      }
    },
  });
  new Counter({
    name: "clusterset_doh_control_events_dropped_total",
    help: "Events that were not written, by reason.",
    labelNames: ["reason"],
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of status().eventsDropped) this.inc({ reason }, count);
    },
  });
}
