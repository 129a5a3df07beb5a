import { LRUCache } from "lru-cache";
import { Kind, podsKey } from "../database/places.ts";
import { whyAdjusted } from "../database/ranks.ts";
import { type EntryRow, entryValue, type Reader } from "../database/reader.ts";
import { formatAddress, parseAddress } from "../dns/address.ts";
import { readPodLabel } from "../dns/pod-label.ts";
import { compareText } from "../merge/order.ts";
import type { AdjustedTime, Contribution } from "../merge/service/declaration.ts";
import { nameOf, namespaceOf } from "../merge/service-key.ts";
import type { EntryFilter } from "../merge/visibility/visible.ts";
import type {
  ClusterSnapshot,
  ClusterZone,
  ExportedService,
  ImportedService,
  LocalService,
} from "../snapshot/schema.ts";
import { podLabels } from "../zone/kinds/service-labels.ts";
import type { AddressClaim, EntryReader, KeyEntries, WorldCluster } from "./entries.ts";

/** Namespaces of clusters of which the answer is kept. */
const MOST_NAMESPACES = 16_384;

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

  clusters(): readonly WorldCluster[] {
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

  service(namespace: string, name: string): KeyEntries | undefined {
    if (this.#filter?.hasNamespace(namespace) === false) return undefined;
    const key = `${namespace}/${name}`;
    const parts = new Map<string, { exported?: EntryRow; imported?: EntryRow }>();
    for (const row of this.#reader.rowsOf(key)) {
      if (!this.#live.has(row.cluster)) continue;
      if (row.kind === Kind.export) parts.set(row.cluster, { exported: row });
      else if (row.kind === Kind.import) parts.set(row.cluster, { ...parts.get(row.cluster), imported: row });
    }
    if (parts.size === 0) return undefined;
    // A namespace may have many clusters more than one of its services.
    const clusters = new Set([...parts.keys()].filter((id) => this.hasNamespace(id, namespace)));
    const isExported = () =>
      [...parts].some(([id, { exported }]) => exported !== undefined && clusters.has(id));
    const contributions: Contribution[] = [];
    for (const [clusterId, { exported, imported }] of parts) {
      const one = this.#contribution(clusterId, key, exported, imported, isExported);
      if (one !== undefined) contributions.push(one);
    }
    contributions.sort((one, other) => compareText(one.clusterId, other.clusterId));
    return contributions.length === 0 ? undefined : { contributions, clusters };
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
    const bytes = readPodLabel(Uint8Array.of(label.length, ...Array.from(label, (one) => one.charCodeAt(0))));
    if (bytes === undefined || !podLabels(bytes).includes(label)) return [];
    const address = formatAddress(bytes);
    return this.#reader.rowsOf(podsKey(`${namespace}/${address}`)).flatMap((row) => {
      if (row.kind !== Kind.pods || row.cluster !== clusterId) return [];
      return Object.keys(entryValue(row) as object).filter(
        (key) =>
          namespaceOf(key) === namespace &&
          isAddress(nameOf(key), address) &&
          this.#filter?.hasPod(key) !== false,
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
    return this.#reader.claimsOn(address).flatMap(({ cluster, name, isLocal, order }) => {
      return this.#live.has(cluster) ? { clusterId: cluster, key: name, isLocal, order } : [];
    });
  }

  /** Has namespaces of clusters looked up again. */
  namespacesChanged(): void {
    this.#namespaces.clear();
  }

  *serviceKeys(namespace?: string): Iterable<string> {
    if (namespace !== undefined) {
      for (const { kind, cluster, key } of this.#keysIn(namespace))
        if ((kind === Kind.export || kind === Kind.import) && this.#live.has(cluster)) yield key;
      return;
    }
    for (const cluster of this.#live)
      for (const kind of [Kind.export, Kind.import])
        for (const { key, texts } of this.#reader.all(cluster, kind)) if (texts[0] !== "") yield key;
  }

  *localKeys(clusterId: string, namespace: string): Iterable<string> {
    for (const { kind, cluster, key } of this.#keysIn(namespace))
      if (kind === Kind.service && cluster === clusterId) yield key;
  }

  *#keysIn(namespace: string): Generator<Pick<EntryRow, "key" | "kind" | "cluster">> {
    for (let page = this.#reader.keysIn(namespace); page.length > 0; ) {
      yield* page;
      page = this.#reader.keysIn(namespace, page.at(-1)!.key);
    }
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

function isAddress(text: string, canonical: string): boolean {
  const bytes = text === canonical ? undefined : parseAddress(text);
  return text === canonical || (bytes !== undefined && formatAddress(bytes) === canonical);
}
