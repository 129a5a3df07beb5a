import type { Clusterset } from "../merge/clusterset.ts";
import { sizeOfService } from "../merge/service/size.ts";
import { drain } from "../snapshot/drain.ts";
import { type CompiledZones, ZoneCompiler } from "./compiler/zone-compiler.ts";
import { DEFAULT_ZONE_OPTIONS, type ZoneOptions } from "./options.ts";
import { NO_HISTORY, type ReverseHistory } from "./reverse/reverse-history.ts";
import type { ZoneSource } from "./zone-source.ts";

export type { CompiledZones } from "./compiler/zone-compiler.ts";

/**
 * Compiles a whole clusterset in one turn, see `ZoneCompiler`.
 * @param history who had addresses before
 */
export function compileGeneration(
  clusterset: Clusterset,
  options: Partial<ZoneOptions> = {},
  history: ReverseHistory = NO_HISTORY,
): CompiledZones {
  const { serial = DEFAULT_ZONE_OPTIONS.serial } = options;
  return drain(new ZoneCompiler(options).compile(sourceOf(clusterset), "all", { serial, history }));
}

/** A merged clusterset as a source. */
export function sourceOf({ clusters, withAbsent = false, services, localZones }: Clusterset): ZoneSource {
  const byKey = new Map(services.map((service) => [`${service.namespace}/${service.name}`, service]));
  const zones = new Map(
    localZones.map(({ clusterId, zone, services: own, pods }) => [
      clusterId,
      { zone, services: new Map(Object.entries(own)), pods: new Set(Object.keys(pods)) },
    ]),
  );
  return {
    clusters: clusters.map((cluster) => ({ ...cluster, localZone: zones.get(cluster.clusterId) })),
    withAbsent,
    serviceKeys: () => byKey.keys(),
    service: (key) => byKey.get(key),
    sizeOf: (key) => {
      const service = byKey.get(key);
      return service && sizeOfService(service);
    },
  };
}
