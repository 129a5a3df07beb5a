import { LRUCache } from "lru-cache";
import { BASES, claimBucket, hexOf, Kind, podsKey } from "../database/places.ts";
import { whyAdjusted } from "../database/ranks.ts";
import {
  type Claims,
  type EntryRow,
  entryValue,
  exportersOf,
  type HistoryEntry,
  readClaims,
} from "../database/reader.ts";
import { formatAddress, readPodLabel } from "../dns/address.ts";
import { finish, type Steps } from "../dns/steps.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import type { AdjustedTime, Contribution } from "../merge/declaration.ts";
import type { PinTable } from "../merge/grants.ts";
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
  addressClaim,
  type ClaimJudge,
  createClaimFilter,
  type EntryRows,
  isOfImport,
  type KeyEntries,
  keysOfPod,
} from "./entries.ts";
import { withFirstOrders } from "./reverse-names.ts";

/** How much of a cluster exists in a scope. */
export interface EntryCounts {
  readonly exports: number;
  readonly imports: number;
}

/** Rows that are counted in one step: an import that may be hidden takes some 17 µs. */
const ROWS_AT_ONCE = 16;
/** Namespaces of clusters of which the answer is kept. */
const MOST_NAMESPACES = 16_384;
/** Characters of claims that are kept. */
const MOST_CLAIM_CHARACTERS = 4 * 1024 * 1024;
/** What a bucket takes beside its claims, about. */
const BUCKET_CHARACTERS = 512;

/** What live clusters report of the addresses of a bucket. */
interface ClaimBucket {
  readonly rows: readonly { readonly cluster: string; readonly text: string }[];
  /** By cluster, what has been parsed. */
  readonly read: Map<string, Claims>;
}

const NOT_CONTESTED: ReadonlyMap<string, readonly string[]> = new Map();

/**
 * Reads what clusters reported, of one scope: the rows as far as they count, those of live clusters that
 * exist there. Labels are in lower case, of letters, digits, dashes and underscores.
 */
export class DatabaseEntries {
  readonly #rows: EntryRows;
  readonly #live: ReadonlySet<string>;
  readonly #filter: EntryFilter | undefined;
  /**
   * Whether a cluster has a namespace, by both: looking four of them up takes as long as all rows of a key.
   */
  readonly #namespaces = new LRUCache<string, boolean>({ max: MOST_NAMESPACES });
  /** Buckets of claims that queries used last: to read one of a megabyte takes 6 ms. */
  readonly #buckets = new LRUCache<string, ClaimBucket>({
    maxSize: MOST_CLAIM_CHARACTERS,
    sizeCalculation: ({ rows }) => rows.reduce((sum, { text }) => sum + text.length, BUCKET_CHARACTERS),
  });

  /** @param live ids of the live clusters @param filter default: everything exists */
  constructor(rows: EntryRows, live: Iterable<string>, filter?: EntryFilter) {
    this.#rows = rows;
    this.#filter = filter;
    this.#live = new Set(filter === undefined ? live : [...live].filter(filter.hasCluster));
  }

  /** The live clusters by ascending id. */
  clusters(): readonly ZoneCluster[] {
    const singles = new Map<string, unknown>();
    for (const row of this.#rows.rowsOf("")) singles.set(`${row.name} ${row.cluster}`, entryValue(row));
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

  /** How many exports and imports of a cluster exist in the scope, in steps. */
  *countsOf(clusterId: string): Steps<EntryCounts> {
    const counts = { exports: 0, imports: 0 };
    let looked = 0;
    for (const kind of [Kind.export, Kind.import])
      for (const row of this.#rows.all(clusterId, kind)) {
        if (++looked % ROWS_AT_ONCE === 0) yield;
        const { name: key, texts, reported } = row;
        if (texts[0] === "" || this.#filter?.hasNamespace(namespaceOf(key)) === false) continue;
        if (kind === Kind.export) counts.exports++;
        // Nor do those count that the cluster's own worker made.
        else if (reported !== null && this.#hasImport(row)) counts.imports++;
      }
    return counts;
  }

  /** Clusters that are live, or whose lease expired. */
  heldClusters(): readonly string[] {
    return this.#rows
      .clusters()
      .flatMap(({ id, state }) => ((state === "live" || state === "expired") && this.#has(id) ? id : []));
  }

  /** Clusters whose lease expired. */
  lapsedClusters(): readonly string[] {
    return this.heldClusters().filter((id) => !this.#live.has(id));
  }

  /**
   * What happened to clusters, the newest first. Whether and how much a cluster changes is also a matter of
   * what does not exist in a scope, or in a view: there it is only shown that the cluster came, went or
   * pushed in full.
   * @param view its name; undefined for outside
   */
  history(most: number, view: string | undefined): HistoryEntry[] {
    const filter = this.#filter;
    if (filter === undefined && view === undefined) return this.#rows.history(most);
    const entries = this.#rows.history(Number.MAX_SAFE_INTEGER, filter?.hasCluster);
    return entries
      .filter(({ kind }) => kind !== "changes")
      .slice(0, most)
      .map((entry) => ({ ...entry, keys: [], count: 1, ranked: 0 }));
  }

  /** What clusters export and import of a service; undefined where no cluster has a part in it. */
  service(namespace: string, name: string): KeyEntries | undefined {
    return finish(this.read(namespace, name));
  }

  /** The same, in a step for each cluster. */
  *read(namespace: string, name: string): Steps<KeyEntries | undefined> {
    if (this.#filter?.hasNamespace(namespace) === false) return undefined;
    const key = `${namespace}/${name}`;
    const parts = new Map<string, { exported?: EntryRow; imported?: EntryRow }>();
    for (const row of this.#rows.rowsOf(key)) {
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
      if (ids.length > 0) yield;
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

  /**
   * Services of a cluster with names that begin with a label (or end a dotted name), by `<namespace>/<name>`.
   */
  localServices(clusterId: string, namespace: string, label: string): ReadonlyMap<string, LocalService> {
    const found = new Map<string, LocalService>();
    for (const row of this.#rows.rowsOf(`${namespace}/${label}`)) {
      if (row.kind !== Kind.service || row.cluster !== clusterId) continue;
      const reported = entryValue(row) as LocalService;
      const service = this.#filter === undefined ? reported : this.#filter.local(row.name, reported);
      if (service !== undefined) found.set(row.name, service);
    }
    return found;
  }

  /** The pods of a cluster of which `keysOfPod` has a key: `<namespace>/<address>` as reported. */
  localPods(clusterId: string, namespace: string, label: string): readonly string[] {
    const key = `${namespace}/${label}`;
    const bytes = readPodLabel(Uint8Array.of(label.length, ...Array.from(label, (one) => one.charCodeAt(0))));
    const isPodLabel = bytes !== undefined && podLabels(bytes).includes(label);
    const row = podsKey(isPodLabel ? `${namespace}/${formatAddress(bytes)}` : key);
    return this.podsAt(clusterId, row).filter((pod) => keysOfPod(pod).includes(key));
  }

  hasNamespace(clusterId: string, namespace: string): boolean {
    if (this.#filter?.hasNamespace(namespace) === false || !this.#live.has(clusterId)) return false;
    const id = `${clusterId} ${namespace}`;
    let has = this.#namespaces.get(id);
    if (has === undefined) {
      has = this.#rows.entry(clusterId, Kind.namespace, namespace) !== undefined;
      this.#namespaces.set(id, has);
    }
    return has;
  }

  /**
   * The services for which clusters report an address that could have its reverse name.
   * @param pins what clusters may export
   * @param judgeImport says of imports that their entries need not be read
   */
  claimsOn(address: Uint8Array, pins: PinTable, judgeImport?: ClaimJudge): readonly AddressClaim[] {
    const hex = hexOf(address);
    return this.claimsIn(claimBucket(hex)).on(hex, pins, judgeImport);
  }

  /**
   * What clusters report of the addresses of a bucket: how many clusters, and for which services each
   * address.
   */
  claimsIn(bucket: string) {
    const { rows, read } = this.#bucketOf(bucket);
    const claimsOf = (cluster: string, text: string): Claims => {
      const claims = read.get(cluster) ?? (JSON.parse(text) as Claims);
      read.set(cluster, claims);
      return claims;
    };
    const exists = createClaimFilter(this.#rows, this.#filter, bucket, (key) => this.isExported(key));
    const on = (hex: string, pins: PinTable, judgeImport?: ClaimJudge): readonly AddressClaim[] => {
      // Those of other bases have no place in an order: they count as far as the compiled names of the scope
      // want the address, which do not have what is hidden.
      const judge: ClaimJudge = (claim) => (isOfImport(claim.basis) ? judgeImport?.(claim) : true);
      const claims = rows.flatMap(({ cluster, text }) =>
        // Most rows have other addresses.
        read.has(cluster) || text.includes(hex) ? readClaims(cluster, claimsOf(cluster, text), hex) : [],
      );
      const seen = claims.filter((claim) => exists(claim, hex, judge));
      return withFirstOrders(seen.map((claim) => addressClaim(claim, pins)));
    };
    return { clusters: rows.length, on };
  }

  #bucketOf(bucket: string): ClaimBucket {
    const known = this.#buckets.get(bucket);
    if (known !== undefined) return known;
    const rows = this.#rows.claimsIn(bucket).filter(({ cluster }) => this.#live.has(cluster));
    const found: ClaimBucket = { rows, read: new Map() };
    this.#buckets.set(bucket, found);
    return found;
  }

  /** Has a bucket of claims read again. */
  claimsChanged(bucket: string): void {
    this.#buckets.delete(bucket);
  }

  /** Has namespaces of clusters looked up again. */
  namespacesChanged(): void {
    this.#namespaces.clear();
  }

  /**
   * Keys with exports or imports, `<namespace>/<name>`, of one namespace or of all, each once, in order.
   * @param withHidden also those of imports that do not exist in the scope: to know which, it reads them
   */
  *serviceKeys(namespace?: string, withHidden = false): Iterable<string> {
    const filter = this.#filter;
    const clusters = [...this.#live].filter((id) => this.#has(id));
    for (const page of this.#rows.serviceKeys(clusters, namespace))
      for (const key of page)
        if (
          filter === undefined ||
          (filter.hasNamespace(namespaceOf(key)) &&
            (withHidden || !filter.hidesImports || this.#isReported(key)))
        )
          yield key;
  }

  /** Whether a live cluster of the scope, or this one, exports a service, in a namespace that it has. */
  isExported(key: string, own?: string): boolean {
    return exportersOf(this.#rows, key).some((id) => id === own || (this.#live.has(id) && this.#has(id)));
  }

  #isReported(key: string): boolean {
    const reported = this.service(namespaceOf(key), nameOf(key));
    return reported !== undefined && reported.contributions.length > 0;
  }

  /** Whether a cluster exists in the scope. */
  #has(clusterId: string): boolean {
    return this.#filter?.hasCluster(clusterId) !== false;
  }

  /** Keys with names of a cluster's pods. */
  *podKeys(clusterId: string): Iterable<string> {
    for (const row of this.#rows.all(clusterId, Kind.pods))
      for (const pod of Object.keys(entryValue(row) as object)) yield* keysOfPod(pod);
  }

  /**
   * Keys of a cluster's entries of one kind, of one namespace or of all, whatever the state of its lease;
   * also of gone ones with a rank.
   */
  *keysOf(clusterId: string, kind: Kind, namespace?: string): Iterable<string> {
    if (this.#filter?.hasCluster(clusterId) === false) return;
    for (const page of this.#rows.keysOf(clusterId, kind, namespace))
      for (const key of page)
        if (!key.includes("/") || this.#filter?.hasNamespace(namespaceOf(key)) !== false) yield key;
  }

  /**
   * What a cluster reports that it does not serve, of one row.
   * @param key a `findingsKey` @param isForItself whether the cluster itself reads them: whatever the scope
   * is
   */
  findingsAt(clusterId: string, key: string, isForItself = false): readonly ClusterFinding[] {
    const row = this.#live.has(clusterId) ? this.#rows.entry(clusterId, Kind.findings, key) : undefined;
    const all = row === undefined ? [] : Object.values(entryValue(row) as Record<string, Finding>);
    const isThere = (one: Finding) => isForItself || this.#filter?.hasFinding(one) !== false;
    return all.flatMap((one) => (isThere(one) ? { ...one, clusterId } : []));
  }

  /** The pods of a cluster in one row. @param key a `podsKey` */
  podsAt(clusterId: string, key: string): readonly string[] {
    const row = this.#live.has(clusterId) ? this.#rows.entry(clusterId, Kind.pods, key) : undefined;
    const all = row === undefined ? [] : Object.keys(entryValue(row) as object);
    return all.filter((pod) => this.#filter?.hasPod(pod) !== false);
  }

  /**
   * The addresses of a bucket of claims, in hex, that several clusters report for several services of the
   * clusterset, with these services.
   */
  contestedIn(bucket: string): ReadonlyMap<string, readonly string[]> {
    const rows = this.#rows.claimsIn(bucket).filter(({ cluster }) => this.#live.has(cluster));
    if (rows.length < 2) return NOT_CONTESTED;
    const byAddress = new Map<string, { readonly clusters: Set<string>; readonly keys: Set<string> }>();
    for (const { cluster, text } of rows)
      for (const [place, names] of Object.entries(JSON.parse(text) as Claims)) {
        // Each cluster has its own zone for itself.
        if (place.startsWith(BASES.local)) continue;
        const hex = place.replace(/^[^0-9a-f]/, "");
        const { clusters, keys } = byAddress.get(hex) ?? { clusters: new Set(), keys: new Set() };
        byAddress.set(hex, { clusters: clusters.add(cluster), keys });
        for (const name of names) if (typeof name === "string") keys.add(name);
      }
    const contested = [...byAddress].filter(([, { clusters, keys }]) => clusters.size > 1 && keys.size > 1);
    return new Map(contested.map(([hex, { keys }]) => [hex, [...keys]]));
  }

  /** Characters of what clusters report under a key, about: of what they cost to merge. */
  charactersOf(key: string): number {
    return this.#rows.charactersOf(key);
  }

  /** Whether an import exists in the scope. */
  #hasImport(row: EntryRow): boolean {
    const filter = this.#filter;
    if (filter === undefined) return true;
    const { cluster, name } = row;
    const isExported = () => this.isExported(name, cluster);
    return filter.imported(name, entryValue(row) as ImportedService, isExported) !== undefined;
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
