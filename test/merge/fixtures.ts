import type { ClustersetService } from "../../src/merge/clusterset.ts";
import type {
  ClusterSnapshot,
  Endpoint,
  EndpointGroups,
  ExportedService,
  ImportedService,
  ServicePort,
} from "../../src/snapshot/schema.ts";

/** A snapshot with the namespace `shop` and what is given. */
export function snapshot(clusterId: string, parts: Partial<ClusterSnapshot> = {}): ClusterSnapshot {
  return {
    formatVersion: 1,
    clusterId,
    namespaces: { shop: {} },
    exports: {},
    imports: {},
    services: {},
    pods: {},
    findings: {},
    ...parts,
  };
}

/** A cluster that exports `shop/web`. */
export function exporting(clusterId: string, parts: Partial<ExportedService> = {}): ClusterSnapshot {
  return snapshot(clusterId, { exports: { "shop/web": exported(parts) } });
}

/** A cluster that imports `shop/web`. */
export function importing(clusterId: string, parts: Partial<ImportedService> = {}): ClusterSnapshot {
  return snapshot(clusterId, { imports: { "shop/web": imported(parts) } });
}

export function exported(parts: Partial<ExportedService> = {}): ExportedService {
  return {
    exportedAt: "2026-01-01T00:00:00Z",
    serviceType: "ClusterIP",
    headless: false,
    ports: [],
    endpoints: {},
    ...parts,
  };
}

export function imported(parts: Partial<ImportedService> = {}): ImportedService {
  return { type: "ClusterSetIP", ips: [], ports: [], endpoints: {}, ...parts };
}

/** One group of endpoints on http/TCP/8080. */
export function endpoints(...members: Endpoint[]): EndpointGroups {
  return {
    "http/TCP/8080": {
      ports: [{ name: "http", protocol: "TCP", port: 8080 }],
      members: Object.fromEntries(members.map((one) => [`${one.address}#${one.hostname ?? ""}`, one])),
    },
  };
}

export function port(name: string, number: number, protocol = "TCP", appProtocol?: string): ServicePort {
  return { name, protocol, port: number, ...(appProtocol === undefined ? {} : { appProtocol }) };
}

/** January 2026, so that day 1 is the oldest. */
export function day(number: number): string {
  return `2026-01-${String(number).padStart(2, "0")}T00:00:00Z`;
}

/** The service `shop/web` of a clusterset. */
export function web(clusterset: { readonly services: readonly ClustersetService[] }): ClustersetService {
  const found = clusterset.services.find(({ namespace, name }) => namespace === "shop" && name === "web");
  if (found === undefined) throw new Error("the clusterset has no service shop/web");
  return found;
}
