import { claimedAddresses } from "../database/claims.ts";
import {
  claimBucket,
  findingsKey,
  hexOf,
  Kind,
  localKey,
  namespaceKey,
  podsKey,
} from "../database/places.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import type { Contribution } from "../merge/declaration.ts";
import { compareText, nameOf, namespaceOf } from "../merge/order.ts";
import { EVERYTHING, type Visibility } from "../merge/visibility.ts";
import { createEntryFilter } from "../merge/visible.ts";
import type { ClusterSnapshot, Finding, LocalService } from "../snapshot/schema.ts";
import type { ZoneCluster } from "../zone/zone-plan.ts";
import {
  type AddressClaim,
  ClaimsByAddress,
  type EntryReader,
  type KeyEntries,
  keysOfPod,
} from "./entries.ts";

/** The tables whose entries claim addresses. */
const CLAIMING = [
  [Kind.export, "exports"],
  [Kind.import, "imports"],
  [Kind.service, "services"],
] as const;

function keysIn({ namespaces, exports, imports, services, pods, findings }: ClusterSnapshot, kind: Kind) {
  switch (kind) {
    case Kind.namespace:
      return Object.keys(namespaces).map(namespaceKey);
    case Kind.export:
      return Object.keys(exports);
    case Kind.import:
      return Object.keys(imports);
    case Kind.service:
      return new Set(Object.entries(services).map(([key, service]) => localKey(key, service)));
    case Kind.pods:
      return new Set(Object.keys(pods).map(podsKey));
    case Kind.findings:
      return new Set(Object.keys(findings).map(findingsKey));
    default:
      return [];
  }
}

/** When exports and imports count from, where that is not what clusters reported. */
export type Ranked = (clusterId: string, key: string) => Pick<Contribution, "adjusted" | "importedSince">;

/** Snapshots of live clusters, at most one of each, as entries that exist in a scope: for hosts without a database. */
export class SnapshotEntries implements EntryReader {
  readonly #snapshots: readonly ClusterSnapshot[];
  readonly #filter: ReturnType<typeof createEntryFilter>;
  readonly #ranked: Ranked;
  readonly #keys = new Map<string, ClusterSnapshot[]>();
  #claims: Map<string, AddressClaim[]> | undefined;
  /** By bucket: addresses with their claims. */
  #contested: Map<string, [hex: string, claims: AddressClaim[]][]> | undefined;
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

  clusters(): readonly ZoneCluster[] {
    return this.#snapshots.map(({ clusterId, topology, clusterZone }) => ({
      clusterId,
      region: topology?.region,
      zones: [...(topology?.zones ?? [])].sort(compareText),
      zone: clusterZone && (this.#filter?.zone(clusterZone) ?? clusterZone),
    }));
  }

  lapsedClusters(): readonly string[] {
    return [];
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
    const parts = contributions.map(({ clusterId }) => clusterId);
    return contributions.length === 0 ? undefined : { contributions, clusters, parts };
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
    const key = `${namespace}/${label}`;
    return Object.keys(this.#snapshotOf(clusterId).pods).filter(
      (pod) => keysOfPod(pod).includes(key) && this.#filter?.hasPod(pod) !== false,
    );
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
            const basis = kind === Kind.service ? ("local" as const) : ("export" as const);
            const claim = { clusterId, key, basis, order: 0 };
            claims.set(address, [...(claims.get(address) ?? []), claim]);
          }
    return claims;
  }

  contestedIn(bucket: string): ReadonlyMap<string, readonly string[]> {
    this.#contested ??= Map.groupBy(this.#readClaims(), ([hex]) => claimBucket(hex));
    const claims = new ClaimsByAddress();
    for (const [hex, all] of this.#contested.get(bucket) ?? [])
      for (const { clusterId, key, basis } of all) if (basis !== "local") claims.add(hex, clusterId, key);
    return claims.contested();
  }

  *serviceKeys(namespace?: string): Iterable<string> {
    for (const key of [...this.#keys.keys()].sort(compareText)) {
      const own = namespaceOf(key);
      if ((namespace ?? own) !== own) continue;
      if (this.#filter === undefined || (this.service(own, nameOf(key))?.contributions.length ?? 0) > 0)
        yield key;
    }
  }

  *keysOf(clusterId: string, kind: Kind, namespace?: string): Iterable<string> {
    const snapshot = this.#snapshots.find((one) => one.clusterId === clusterId);
    if (snapshot === undefined) return;
    for (const key of keysIn(snapshot, kind)) {
      const own = key.includes("/") ? namespaceOf(key) : undefined;
      if (namespace !== undefined && own !== namespace) continue;
      if (own === undefined || this.#filter?.hasNamespace(own) !== false) yield key;
    }
  }

  findingsAt(clusterId: string, key: string, isForItself = false): readonly ClusterFinding[] {
    const isThere = (one: Finding) => isForItself || this.#filter?.hasFinding(one) !== false;
    return Object.entries(this.#snapshotOf(clusterId)?.findings ?? {}).flatMap(([name, one]) =>
      findingsKey(name) === key && isThere(one) ? { ...one, clusterId } : [],
    );
  }

  podsAt(clusterId: string, key: string): readonly string[] {
    return Object.keys(this.#snapshotOf(clusterId)?.pods ?? {}).filter(
      (pod) => podsKey(pod) === key && this.#filter?.hasPod(pod) !== false,
    );
  }

  charactersOf(key: string): number {
    let characters = 0;
    for (const { exports, imports } of this.#keys.get(key) ?? [])
      for (const entry of [exports[key], imports[key]])
        characters += entry === undefined ? 0 : JSON.stringify(entry).length;
    return characters;
  }

  *localKeys(clusterId: string, namespace?: string): Iterable<string> {
    for (const key of this.#local.get(clusterId)!.keys())
      if (namespace === undefined || namespaceOf(key) === namespace) yield key;
  }

  *podKeys(clusterId: string): Iterable<string> {
    for (const key of Object.keys(this.#snapshotOf(clusterId).pods)) yield* keysOfPod(key);
  }

  *findings(): Iterable<ClusterFinding> {
    for (const { clusterId, findings } of this.#snapshots)
      for (const finding of Object.values(findings))
        if (this.#filter?.hasFinding(finding) !== false) yield { ...finding, clusterId };
  }

  history(): readonly never[] {
    return [];
  }

  #snapshotOf(clusterId: string): ClusterSnapshot {
    return this.#snapshots.find((snapshot) => snapshot.clusterId === clusterId)!;
  }
}
