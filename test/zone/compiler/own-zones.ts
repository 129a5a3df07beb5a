import type { ClusterZone, LocalService } from "../../../src/snapshot/schema.ts";
import type { SourceCluster } from "../../../src/zone/zone-source.ts";
import { local } from "../../conformance/cases/cluster-local.ts";

/** A cluster with a zone of its own: `pods` are keys, `services` keys or entries. */
export function zoned(
  clusterId: string,
  {
    pods = [],
    services = [],
    namespaces = ["shop"],
    zone = {},
  }: {
    readonly pods?: readonly string[];
    readonly services?: readonly (string | readonly [key: string, service: LocalService])[];
    readonly namespaces?: readonly string[];
    readonly zone?: Partial<ClusterZone>;
  },
): SourceCluster {
  return {
    ...{ clusterId, zones: [], namespaces: new Set(namespaces) },
    localZone: {
      zone: { name: `${clusterId}.test`, pods: "verified", ...zone },
      services: new Map(services.map((one) => (typeof one === "string" ? [one, local()] : one))),
      pods: new Set(pods),
    },
  };
}

/** A cluster without one. */
export const unzoned = (clusterId: string): SourceCluster => ({
  ...{ clusterId, zones: [], namespaces: new Set(["shop"]) },
});
