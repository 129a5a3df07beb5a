import { LRUCache } from "lru-cache";
import { BASES, hexOf, Kind, podsKey } from "../database/places.ts";
import { whyAdjusted } from "../database/ranks.ts";
import {
  type Claims,
  type EntryRow,
  entryValue,
  type HistoryEntry,
  type Reader,
} from "../database/reader.ts";
import { formatAddress } from "../dns/address.ts";
import { readPodLabel } from "../dns/reverse.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import type { AdjustedTime, Contribution } from "../merge/declaration.ts";
import { compareText, nameOf, namespaceOf } from "../merge/order.ts";
import type { EntryFilter } from "../merge/visible.ts";
import type {
  ClusterSnapshot,
  ClusterZone,
  ExportedService,
  Finding,
  ImportedService,
  LocalService,
} from "../snapshot/schema.ts";
import { podLabels } from "../zone/kinds/endpoint-records.ts";
import type { ZoneCluster } from "../zone/zone-plan.ts";
import {
  type AddressClaim,
  ClaimsByAddress,
  claimExists,
  type EntryReader,
  type KeyEntries,
  keysOfPod,
} from "./entries.ts";
import { withFirstOrders } from "./reverse-names.ts";

/** Namespaces of clusters of which the answer is kept. */
const MOST_NAMESPACES = 16_384;

const NOT_CONTESTED: ReadonlyMap<string, readonly string[]> = new Map();

/** The rows of a database as far as they count: those of live clusters that exist in a scope. */
export class DatabaseEntries implements EntryReader {
  readonly #reader: Reader;
  readonly #live: ReadonlySet<string>;
  readonly #filter: EntryFilter | undefined;
  /** Whether a cluster has a namespace, by both: looking four of them up takes as long as all rows of a key. */
  readonly #namespaces = new LRUCache<string, boolean>({ max: MOST_NAMESPACES });

  /** @param live ids of the live clusters @param filter default: everything exists */
  constructor(reader: Reader, live: Iterable<string>, filter?: EntryFilter) {
    this.#reader = reader;
    this.#filter = filter;
    this.#live = new Set(filter === undefined ? live : [...live].filter(filter.hasCluster));
  }

  clusters(): readonly ZoneCluster[] {
    const singles = new Map<string, unknown>();
    for (const row of this.#reader.rowsOf("")) singles.set(`${row.name} ${row.cluster}`, entryValue(row));
    return [...this.#live].sort(compareText).map((clusterId) => {
      const topology = singles.get(`topology ${clusterId}`) as ClusterSnapshot["topology"];
      const zone = singles.get(`clusterZone ${clusterId}`) as ClusterZone | undefined;
      return {
        clusterId,
        region: topology?.region,
        zones: [...(topology?.zones ?? [])].sort(compareText),
        zone: zone && (this.#filter?.zone(zone) ?? zone),
      };
    });
  }

  lapsedClusters(): readonly string[] {
    return this.#reader
      .clusters()
      .flatMap(({ id, state }) =>
        (state === "live" || state === "expired") && !this.#live.has(id) && this.#has(id) ? id : [],
      );
  }

  /** Whether and how much a cluster changes is also a matter of what does not exist in a scope: there it is only shown that the cluster came, went or pushed in full. */
  history(most: number): HistoryEntry[] {
    const filter = this.#filter;
    if (filter === undefined) return this.#reader.history(most);
    const entries = this.#reader.history(Number.MAX_SAFE_INTEGER, filter.hasCluster);
    return entries
      .filter(({ kind }) => kind !== "changes")
      .slice(0, most)
      .map((entry) => ({ ...entry, keys: [], count: 1, ranked: 0 }));
  }

  service(namespace: string, name: string): KeyEntries | undefined {
    if (this.#filter?.hasNamespace(namespace) === false) return undefined;
    const key = `${namespace}/${name}`;
    const parts = new Map<string, { exported?: EntryRow; imported?: EntryRow }>();
    for (const row of this.#reader.rowsOf(key)) {
      const part = parts.get(row.cluster);
      if (!this.#has(row.cluster)) continue;
      if (row.kind === Kind.export) parts.set(row.cluster, { exported: row });
      else if (row.kind === Kind.import) parts.set(row.cluster, { ...part, imported: row });
    }
    if (parts.size === 0) return undefined;
    // A namespace may have many clusters more than one of its services.
    const clusters = new Set([...parts.keys()].filter((id) => this.hasNamespace(id, namespace)));
    const isExported = () =>
      [...parts].some(([id, { exported }]) => exported !== undefined && clusters.has(id));
    const contributions: Contribution[] = [];
    const ids: string[] = [];
    let lapsed: Map<string, readonly string[]> | undefined;
    for (const [clusterId, { exported, imported }] of parts) {
      const one = this.#contribution(clusterId, key, exported, imported, isExported);
      if (one === undefined) continue;
      ids.push(clusterId);
      if (this.#live.has(clusterId)) contributions.push(one);
      else if (one.exported?.clusters !== undefined) {
        lapsed ??= new Map<string, readonly string[]>();
        lapsed.set(clusterId, one.exported.clusters);
      }
    }
    contributions.sort((one, other) => compareText(one.clusterId, other.clusterId));
    return ids.length === 0
      ? undefined
      : { contributions, clusters, parts: ids.sort(compareText), ...(lapsed && { lapsed }) };
  }

  localServices(clusterId: string, namespace: string, label: string): ReadonlyMap<string, LocalService> {
    const found = new Map<string, LocalService>();
    for (const row of this.#reader.rowsOf(`${namespace}/${label}`)) {
      if (row.kind !== Kind.service || row.cluster !== clusterId) continue;
      const reported = entryValue(row) as LocalService;
      const service = this.#filter === undefined ? reported : this.#filter.local(row.name, reported);
      if (service !== undefined) found.set(row.name, service);
    }
    return found;
  }

  localPods(clusterId: string, namespace: string, label: string): readonly string[] {
    const key = `${namespace}/${label}`;
    const bytes = readPodLabel(Uint8Array.of(label.length, ...Array.from(label, (one) => one.charCodeAt(0))));
    const isPodLabel = bytes !== undefined && podLabels(bytes).includes(label);
    const row = podsKey(isPodLabel ? `${namespace}/${formatAddress(bytes)}` : key);
    return this.#reader.rowsOf(row).flatMap((row) => {
      if (row.kind !== Kind.pods || row.cluster !== clusterId) return [];
      return Object.keys(entryValue(row) as object).filter(
        (pod) => keysOfPod(pod).includes(key) && this.#filter?.hasPod(pod) !== false,
      );
    });
  }

  hasNamespace(clusterId: string, namespace: string): boolean {
    if (this.#filter?.hasNamespace(namespace) === false || !this.#live.has(clusterId)) return false;
    const id = `${clusterId} ${namespace}`;
    let has = this.#namespaces.get(id);
    if (has === undefined) {
      has = this.#reader.entry(clusterId, Kind.namespace, namespace) !== undefined;
      this.#namespaces.set(id, has);
    }
    return has;
  }

  claimsOn(address: Uint8Array): readonly AddressClaim[] {
    const hex = hexOf(address);
    const claims = this.#reader.claimsOn(address).flatMap(({ cluster, name, basis, order }) => {
      const exists =
        this.#live.has(cluster) &&
        claimExists(this.#reader, this.#filter, { cluster, name, basis }, hex, (key) => this.isExported(key));
      return exists ? { clusterId: cluster, key: name, basis, order } : [];
    });
    return withFirstOrders(claims);
  }

  /** Has namespaces of clusters looked up again. */
  namespacesChanged(): void {
    this.#namespaces.clear();
  }

  *serviceKeys(namespace?: string): Iterable<string> {
    for (const page of this.#reader.serviceKeys(this.#live, namespace))
      for (const key of page)
        if (
          this.#filter === undefined ||
          (this.#filter.hasNamespace(namespaceOf(key)) && this.#isReported(key))
        )
          yield key;
  }

  *localKeys(clusterId: string, namespace?: string): Iterable<string> {
    for (const page of this.#reader.keysOf(clusterId, Kind.service, namespace)) yield* page;
  }

  /** Whether a live cluster of the scope exports a service, in a namespace that it has. */
  isExported(key: string): boolean {
    return this.#reader.exportersOf(key).some((id) => this.#live.has(id) && this.#has(id));
  }

  #isReported(key: string): boolean {
    const reported = this.service(namespaceOf(key), nameOf(key));
    return reported !== undefined && reported.contributions.length > 0;
  }

  /** Whether a cluster exists in the scope. */
  #has(clusterId: string): boolean {
    return this.#filter?.hasCluster(clusterId) !== false;
  }

  *podKeys(clusterId: string): Iterable<string> {
    for (const row of this.#reader.all(clusterId, Kind.pods))
      for (const pod of Object.keys(entryValue(row) as object)) yield* keysOfPod(pod);
  }

  *findings(): Iterable<ClusterFinding> {
    for (const clusterId of this.#live)
      for (const row of this.#reader.all(clusterId, Kind.findings))
        for (const finding of Object.values(entryValue(row) as Record<string, Finding>))
          if (this.#filter?.hasFinding(finding) !== false) yield { ...finding, clusterId };
  }

  *keysOf(clusterId: string, kind: Kind, namespace?: string): Iterable<string> {
    if (this.#filter?.hasCluster(clusterId) === false) return;
    for (const page of this.#reader.keysOf(clusterId, kind, namespace))
      for (const key of page)
        if (!key.includes("/") || this.#filter?.hasNamespace(namespaceOf(key)) !== false) yield key;
  }

  findingsAt(clusterId: string, key: string, isForItself = false): readonly ClusterFinding[] {
    const row = this.#live.has(clusterId) ? this.#reader.entry(clusterId, Kind.findings, key) : undefined;
    const all = row === undefined ? [] : Object.values(entryValue(row) as Record<string, Finding>);
    const isThere = (one: Finding) => isForItself || this.#filter?.hasFinding(one) !== false;
    return all.flatMap((one) => (isThere(one) ? { ...one, clusterId } : []));
  }

  podsAt(clusterId: string, key: string): readonly string[] {
    const row = this.#live.has(clusterId) ? this.#reader.entry(clusterId, Kind.pods, key) : undefined;
    const all = row === undefined ? [] : Object.keys(entryValue(row) as object);
    return all.filter((pod) => this.#filter?.hasPod(pod) !== false);
  }

  contestedIn(bucket: string): ReadonlyMap<string, readonly string[]> {
    const rows = this.#reader.claimsIn(bucket).filter(({ cluster }) => this.#live.has(cluster));
    if (rows.length < 2) return NOT_CONTESTED;
    const claims = new ClaimsByAddress();
    for (const { cluster, text } of rows)
      for (const [place, names] of Object.entries(JSON.parse(text) as Claims)) {
        // Each cluster has its own zone for itself.
        if (place.startsWith(BASES.local)) continue;
        for (const name of names)
          if (typeof name === "string") claims.add(place.replace(/^[^0-9a-f]/, ""), cluster, name);
      }
    return claims.contested();
  }

  charactersOf(key: string): number {
    return this.#reader.charactersOf(key);
  }

  #contribution(
    clusterId: string,
    key: string,
    exportedRow: EntryRow | undefined,
    importedRow: EntryRow | undefined,
    isExported: () => boolean,
  ): Contribution | undefined {
    const filter = this.#filter;
    const reported = exportedRow && (entryValue(exportedRow) as ExportedService);
    const exported = reported && filter ? filter.exported(key, reported) : reported;
    const found = importedRow && (entryValue(importedRow) as ImportedService);
    const seen = found && filter ? filter.imported(key, found, isExported) : found;
    if (exported === undefined && seen === undefined) return undefined;
    const isManaged = seen?.managed === true;
    return {
      clusterId,
      exported,
      imported: isManaged ? undefined : seen,
      managed: isManaged ? seen : undefined,
      adjusted: exported && adjustedTime(exportedRow!),
      importedSince: isManaged || seen === undefined ? undefined : (importedRow!.counts ?? undefined),
    };
  }
}

/** What counts instead of the creation time that an export reports; undefined where that counts. */
function adjustedTime({ reported, counts }: EntryRow): AdjustedTime | undefined {
  if (counts === null || counts === reported) return undefined;
  return { counts, because: whyAdjusted(reported!, counts) };
}
