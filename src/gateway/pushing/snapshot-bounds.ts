import { memoize } from "../../merge/unchanged.ts";
import type { ClusterSnapshot, EndpointGroups, ExportedService } from "../../snapshot/schema.ts";

/** Bounds on what one cluster's snapshot has, by the keys of the settings under `limits`. */
export interface SnapshotBounds {
  readonly namespaces: number;
  readonly exports: number;
  readonly imports: number;
  /** Services of the cluster's own zone. */
  readonly services: number;
  /** Pods with names in the cluster's own zone. */
  readonly pods: number;
  /** Endpoints of exports, imports and services together. */
  readonly endpoints: number;
  /** Ports of services, and of each endpoint, together: SRV records go by them. */
  readonly ports: number;
  readonly findings: number;
  /** Characters of exported labels and annotations together, keys and values. */
  readonly metadataCharacters: number;
}

/**
 * Room for the largest cluster that Kubernetes supports (Considerations for large clusters; scalability thresholds): 150,000 pods,
 * 10,000 Services and 10,000 namespaces, with each Service exported, in the cluster's own zone, and with a finding; and a fifth more.
 */
export const DEFAULT_SNAPSHOT_BOUNDS: SnapshotBounds = {
  // The image has room for 65,535 of all clusters.
  namespaces: 10_000,
  exports: 12_000,
  imports: 12_000,
  services: 12_000,
  pods: 180_000,
  endpoints: 360_000,
  ports: 800_000,
  findings: 12_000,
  metadataCharacters: 4 * 1024 * 1024,
};

/** What counts of a service with endpoints. */
interface Counted {
  readonly endpoints: number;
  readonly ports: number;
  readonly metadataCharacters: number;
}

/** How much a snapshot has of everything that is bounded. What a delta did not change is not counted again. */
export function measureSnapshot(snapshot: ClusterSnapshot): SnapshotBounds {
  const { namespaces, exports, imports, services, pods, findings } = snapshot;
  const all = [sumExports(exports), sumImports(imports), sumServices(services)];
  const total = (of: (counted: Counted) => number) => all.reduce((sum, counted) => sum + of(counted), 0);
  return {
    namespaces: sizeOf(namespaces),
    exports: sizeOf(exports),
    imports: sizeOf(imports),
    services: sizeOf(services),
    pods: sizeOf(pods),
    endpoints: total(({ endpoints }) => endpoints),
    ports: total(({ ports }) => ports),
    findings: sizeOf(findings),
    metadataCharacters: total(({ metadataCharacters }) => metadataCharacters),
  };
}

const sizeOf = memoize((table: object) => Object.keys(table).length);

const sumExports = sumOf<ExportedService>(({ ports, endpoints, exportedLabels, exportedAnnotations }) => ({
  ...countGroups([endpoints], ports.length),
  metadataCharacters: characters(exportedLabels) + characters(exportedAnnotations),
}));
const sumImports = sumOf<ClusterSnapshot["imports"][string]>(({ ports, endpoints }) =>
  countGroups(Object.values(endpoints), ports.length),
);
const sumServices = sumOf<ClusterSnapshot["services"][string]>(({ ports, endpoints }) =>
  countGroups([endpoints], ports.length),
);

/** A table's sum of what `count` gives for each entry; both are remembered by identity. */
function sumOf<Entry extends object>(
  count: (entry: Entry) => Counted,
): (table: Record<string, Entry>) => Counted {
  const counted = memoize(count);
  return memoize((table) => {
    let endpoints = 0;
    let ports = 0;
    let metadataCharacters = 0;
    for (const key of Object.keys(table)) {
      const entry = counted(table[key]!);
      endpoints += entry.endpoints;
      ports += entry.ports;
      metadataCharacters += entry.metadataCharacters;
    }
    return { endpoints, ports, metadataCharacters };
  });
}

function countGroups(sources: readonly EndpointGroups[], servicePorts: number): Counted {
  let endpoints = 0;
  let ports = servicePorts;
  for (const groups of sources)
    for (const group of Object.values(groups)) {
      const members = Object.keys(group.members).length;
      endpoints += members;
      ports += members * group.ports.length;
    }
  return { endpoints, ports, metadataCharacters: 0 };
}

function characters(texts: Readonly<Record<string, string>> = {}): number {
  return Object.entries(texts).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}
