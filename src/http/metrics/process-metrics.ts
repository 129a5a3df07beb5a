import { Gauge, type Registry } from "prom-client";

/** What a host knows of its process. */
export interface ProcessFacts {
  /** Bytes of memory that the process may take. */
  readonly memoryLimitBytes: number;
  /** When the server's certificate expires, in Unix milliseconds; undefined without TLS. */
  readonly certificateExpiresAt: () => number | undefined;
}

/** Registers the gauges of a process beside those that prom-client has. */
export function registerProcess(registry: Registry, facts: ProcessFacts): void {
  new Gauge({
    name: "clusterset_doh_memory_limit_bytes",
    help: "Memory that the process may take: the limit of its container, else the memory of the machine.",
    registers: [registry],
    collect() {
      this.set(facts.memoryLimitBytes);
    },
  });
  new Gauge({
    name: "clusterset_doh_certificate_remaining_seconds",
    help: "Time until the certificate that clients see expires; no value without TLS.",
    registers: [registry],
    collect() {
      this.remove();
      const expiresAt = facts.certificateExpiresAt();
      // Certificates expire by the wall clock.
      if (expiresAt !== undefined) this.set((expiresAt - Date.now()) / 1000);
    },
  });
}
