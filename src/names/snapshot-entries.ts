import { claimedAddresses } from "../database/claims.ts";
import { hexOf, Kind, localKey } from "../database/places.ts";
import { usableAddress } from "../dns/address.ts";
import { compareText } from "../merge/order.ts";
import type { Contribution } from "../merge/service/declaration.ts";
import { nameOf, namespaceOf } from "../merge/service-key.ts";
import { EVERYTHING, type Visibility } from "../merge/visibility/visibility.ts";
import { createEntryFilter } from "../merge/visibility/visible.ts";
import type { ClusterSnapshot, LocalService } from "../snapshot/schema.ts";
import { podLabels } from "../zone/kinds/service-labels.ts";
import type { AddressClaim, EntryReader, KeyEntries, WorldCluster } from "./entries.ts";

/** The tables whose entries claim addresses. */
const CLAIMING = [
  [Kind.export, "exports"],
  [Kind.import, "imports"],
  [Kind.service, "services"],
] as const;

/** When exports and imports count from, where that is not what clusters reported. */
export type Ranked = (clusterId: string, key: string) => Pick<Contribution, "adjusted" | "importedSince">;

/** Snapshots of live clusters, at most one of each, as entries that exist in a scope: for hosts without a database. */
export class SnapshotEntries implements EntryReader {
  readonly #snapshots: readonly ClusterSnapshot[];
  readonly #filter: ReturnType<typeof createEntryFilter>;
  readonly #ranked: Ranked;
  readonly #keys = new Map<string, ClusterSnapshot[]>();
  #claims: Map<string, AddressClaim[]> | undefined;
  readonly #local = new Map<string, Map<string, string[]>>();

  constructor(
    snapshots: readonly ClusterSnapshot[],
    visibility: Visibility = EVERYTHING,
    ranked: Ranked = () => ({}),
  ) {
    const filter = createEntryFilter(visibility);
    this.#filter = filter;
    this.#ranked = ranked;
    this.#snapshots = snapshots
      .filter(({ clusterId }) => filter?.hasCluster(clusterId) !== false)
      .toSorted((one, other) => compareText(one.clusterId, other.clusterId));
    for (const snapshot of this.#snapshots) {
      for (const key of new Set([...Object.keys(snapshot.exports), ...Object.keys(snapshot.imports)]))
        this.#keys.set(key, [...(this.#keys.get(key) ?? []), snapshot]);
      const local = new Map<string, string[]>();
      for (const [key, service] of Object.entries(snapshot.services)) {
        const names = localKey(key, service);
        local.set(names, [...(local.get(names) ?? []), key]);
      }
      this.#local.set(snapshot.clusterId, local);
    }
  }

  clusters(): readonly WorldCluster[] {
    return this.#snapshots.map(({ clusterId, topology, clusterZone }) => ({
      clusterId,
      region: topology?.region,
      zones: [...(topology?.zones ?? [])].sort(compareText),
      zone: clusterZone && (this.#filter?.zone(clusterZone) ?? clusterZone),
    }));
  }

  service(namespace: string, name: string): KeyEntries | undefined {
    const key = `${namespace}/${name}`;
    const known = this.#keys.get(key);
    if (known === undefined) return undefined;
    const clusters = new Set(
      known.flatMap(({ clusterId }) => (this.hasNamespace(clusterId, namespace) ? clusterId : [])),
    );
    const filter = this.#filter;
    const isExported = () =>
      known.some(({ clusterId, exports }) => Object.hasOwn(exports, key) && clusters.has(clusterId));
    const contributions = known.flatMap(({ clusterId, exports, imports }): Contribution[] => {
      const reported = Object.hasOwn(exports, key) ? exports[key] : undefined;
      const reportedImport = Object.hasOwn(imports, key) ? imports[key] : undefined;
      const exported = reported && filter ? filter.exported(key, reported) : reported;
      const seen =
        reportedImport && filter ? filter.imported(key, reportedImport, isExported) : reportedImport;
      const imported = seen?.managed ? undefined : seen;
      const managed = seen?.managed ? seen : undefined;
      if (exported === undefined && seen === undefined) return [];
      const { adjusted, importedSince } = this.#ranked(clusterId, key);
      return [
        {
          clusterId,
          exported,
          imported,
          managed,
          adjusted: exported && adjusted,
          importedSince: imported && importedSince,
        },
      ];
    });
    return contributions.length === 0 ? undefined : { contributions, clusters };
  }

  localServices(clusterId: string, namespace: string, label: string): ReadonlyMap<string, LocalService> {
    const { services } = this.#snapshotOf(clusterId);
    const found = new Map<string, LocalService>();
    for (const key of this.#local.get(clusterId)!.get(`${namespace}/${label}`) ?? []) {
      const service = this.#filter === undefined ? services[key]! : this.#filter.local(key, services[key]!);
      if (service !== undefined) found.set(key, service);
    }
    return found;
  }

  localPods(clusterId: string, namespace: string, label: string): readonly string[] {
    return Object.keys(this.#snapshotOf(clusterId).pods).filter((key) => {
      const bytes = usableAddress(nameOf(key));
      const isHere =
        namespaceOf(key) === namespace && bytes !== undefined && podLabels(bytes).includes(label);
      return isHere && this.#filter?.hasPod(key) !== false;
    });
  }

  hasNamespace(clusterId: string, namespace: string): boolean {
    const isVisible = this.#filter?.hasNamespace(namespace) !== false;
    return isVisible && Object.hasOwn(this.#snapshotOf(clusterId).namespaces, namespace);
  }

  claimsOn(address: Uint8Array): readonly AddressClaim[] {
    this.#claims ??= this.#readClaims();
    return this.#claims.get(hexOf(address)) ?? [];
  }

  #readClaims(): Map<string, AddressClaim[]> {
    const claims = new Map<string, AddressClaim[]>();
    for (const { clusterId, ...snapshot } of this.#snapshots)
      for (const [kind, table] of CLAIMING)
        for (const [key, entry] of Object.entries(snapshot[table]))
          for (const address of claimedAddresses(kind, entry)) {
            const claim = { clusterId, key, isLocal: kind === Kind.service, order: 0 };
            claims.set(address, [...(claims.get(address) ?? []), claim]);
          }
    return claims;
  }

  *serviceKeys(namespace?: string): Iterable<string> {
    for (const key of this.#keys.keys())
      if (namespace === undefined || namespaceOf(key) === namespace) yield key;
  }

  *localKeys(clusterId: string, namespace: string): Iterable<string> {
    for (const key of this.#local.get(clusterId)!.keys()) if (namespaceOf(key) === namespace) yield key;
  }

  #snapshotOf(clusterId: string): ClusterSnapshot {
    return this.#snapshots.find((snapshot) => snapshot.clusterId === clusterId)!;
  }
}
