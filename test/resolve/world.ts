import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { endpoints, exported, imported, port, snapshot } from "../merge/fixtures.ts";

/**
 * Two clusters that export `shop/web` (ClusterSetIP, dual stack), `shop/db` (headless, db-0 and db-1 in both)
 * and `shop/idle` (headless, no ready endpoint); `east` alone has the namespace `ops` with `ops/log` (bare:
 * no ServiceImport, a load balancer) and `ops/raw` (bare: ready endpoints only).
 */
export function twoClusters(): ClusterSnapshot[] {
  const webPorts = [port("https", 443), port("dns", 53, "UDP"), port("", 9999)];
  const db = (first: string, second: string, v6: string) =>
    exported({
      headless: true,
      ports: [port("pg", 5432)],
      endpoints: {
        "pg/TCP/5433": {
          ports: [{ name: "pg", protocol: "TCP", port: 5433 }],
          members: {
            [first]: { address: first, hostname: "db-0" },
            [v6]: { address: v6, hostname: "db-0" },
            [second]: { address: second, hostname: "db-1" },
          },
        },
      },
    });
  const idle = exported({ headless: true, endpoints: endpoints({ address: "10.9.9.9", ready: false }) });
  const east = snapshot("east", {
    namespaces: { shop: {}, ops: {} },
    exports: {
      "shop/web": exported({ ports: webPorts, endpoints: endpoints({ address: "10.1.0.8" }) }),
      "shop/db": db("10.1.0.1", "10.1.0.2", "2001:db8:1::1"),
      "shop/idle": idle,
      "shop/anon": exported({
        headless: true,
        endpoints: endpoints({ address: "10.1.0.77" }, { address: "fd00:1::" }),
      }),
      "ops/log": exported({ ports: [port("syslog", 514)], loadBalancer: [{ ip: "192.0.2.10" }] }),
      "ops/raw": exported({ ports: [port("http", 80)], endpoints: endpoints({ address: "10.1.0.50" }) }),
    },
    imports: { "shop/web": imported({ ips: ["10.200.0.1", "fd00::c8:1"], ports: webPorts }) },
  });
  const west = snapshot("west", {
    exports: {
      "shop/web": exported({ ports: webPorts, exportedAt: "2026-02-01T00:00:00Z" }),
      "shop/db": db("10.2.0.1", "10.2.0.2", "2001:db8:2::1"),
    },
    imports: { "shop/web": imported({ ips: ["10.201.0.1"], ports: webPorts }) },
  });
  return [east, west];
}
