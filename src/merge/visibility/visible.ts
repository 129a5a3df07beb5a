import type {
  ClusterZone,
  EndpointGroups,
  ExportedService,
  Finding,
  ImportedService,
  LocalService,
} from "../../snapshot/schema.ts";
import { nameOf, namespaceOf } from "../service-key.ts";
import { filterRecord, memoize } from "../unchanged.ts";
import { checkVisibility, type Visibility, visibilityKey, withoutView } from "./visibility.ts";
import { createVisibleAddresses, type VisibleAddresses } from "./visible-addresses.ts";

/**
 * What exists of the entries of a snapshot, one by one. An entry of which everything exists is the object itself, and one entry always gives
 * the same object. What rests on hidden clusters is gone with them: their endpoints in what others import, and imports that no cluster that
 * exists exports or reports endpoints of.
 */
export interface EntryFilter {
  /** Whether all clusters and namespaces exist, so that every export and import does. */
  readonly hidesNoService: boolean;
  /** Whether some addresses of a service that exists do not. */
  readonly hidesAddresses: boolean;
  /** Whether an import may not exist in a namespace that does. */
  readonly hidesImports: boolean;
  hasCluster(clusterId: string): boolean;
  hasNamespace(namespace: string): boolean;
  exported(key: string, service: ExportedService): ExportedService | undefined;
  /** @param isExported whether a cluster that exists exports the service, in a namespace that it has */
  imported(key: string, service: ImportedService, isExported: () => boolean): ImportedService | undefined;
  local(key: string, service: LocalService): LocalService | undefined;
  hasPod(key: string): boolean;
  hasFinding(finding: Finding): boolean;
  zone(zone: ClusterZone): ClusterZone;
}

/**
 * What is visible, whatever its view; undefined where everything is.
 * @throws {RangeError} for a visibility that contradicts itself, or has a range that is none
 */
export function createEntryFilter(visibility: Visibility): EntryFilter | undefined {
  checkVisibility(visibility);
  if (visibilityKey(withoutView(visibility)) === "") return undefined;
  const clusters = visibility.clusters && new Set(visibility.clusters);
  const namespaces = visibility.namespaces && new Set(visibility.namespaces);
  const addresses = createVisibleAddresses(visibility);
  const hasNamespace = (namespace: string) => namespaces?.has(namespace) ?? true;
  const isThere = (key: string) => hasNamespace(namespaceOf(key));
  const visibleImport = createImportVisibility(clusters, addresses);
  return {
    hidesNoService: clusters === undefined && namespaces === undefined,
    hidesAddresses: addresses !== undefined,
    hidesImports: clusters !== undefined,
    hasCluster: (clusterId) => clusters?.has(clusterId) ?? true,
    hasNamespace,
    exported(key, service) {
      if (!isThere(key)) return undefined;
      return addresses === undefined ? service : addresses.exported(service);
    },
    imported(key, service, isExported) {
      if (!isThere(key)) return undefined;
      const seen = visibleImport(service);
      const isBacked = clusters === undefined || Object.keys(seen.endpoints).length > 0 || isExported();
      return isBacked ? seen : undefined;
    },
    local(key, service) {
      if (!isThere(key)) return undefined;
      return addresses === undefined ? service : addresses.local(service);
    },
    hasPod: (key) => isThere(key) && addresses?.pod(nameOf(key)) !== false,
    // What a cluster says in words may name other clusters, addresses and host names.
    hasFinding: ({ namespace }) =>
      clusters === undefined && addresses === undefined && namespace !== undefined && hasNamespace(namespace),
    zone: (zone) => (addresses === undefined ? zone : addresses.zone(zone)),
  };
}

function createImportVisibility(
  clusters: ReadonlySet<string> | undefined,
  addresses: VisibleAddresses | undefined,
): (service: ImportedService) => ImportedService {
  if (clusters === undefined) return addresses?.imported ?? ((service) => service);
  return memoize((service) => {
    const endpoints = filterRecord(service.endpoints, (groups: EndpointGroups, source) =>
      clusters.has(source.toLowerCase()) ? groups : undefined,
    );
    const own = endpoints === service.endpoints ? service : { ...service, endpoints };
    return addresses?.imported(own) ?? own;
  });
}
