import { claimedAddresses, claimsOfService } from "../database/claims.ts";
import { type Basis, Kind } from "../database/places.ts";
import { type Claim, type EntryRow, entryValue, type HistoryEntry, type Reader } from "../database/reader.ts";
import { usableAddress } from "../dns/address.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import type { KeyParts } from "../merge/merge-key.ts";
import { nameOf, namespaceOf } from "../merge/order.ts";
import type { EntryFilter } from "../merge/visible.ts";
import type { ExportedService, ImportedService, LocalService } from "../snapshot/schema.ts";
import { podLabels } from "../zone/kinds/endpoint-records.ts";
import type { ZoneCluster } from "../zone/zone-plan.ts";

/** What clusters reported for one key, `<namespace>/<label left of it>`, as far as it exists in the scope. Contributions are those of live clusters. */
export interface KeyEntries extends KeyParts {
  /** The clusters that have a part in the key, those that are not live too: it changes when they come back. */
  readonly parts: readonly string[];
}

/** A service for which a cluster reports an address. */
export interface AddressClaim {
  readonly clusterId: string;
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly basis: Basis;
  /** See `Claim`; 0 where nobody knows which cluster was first: then the oldest part decides. */
  readonly order: number;
}

/** Reads what clusters reported, of one scope. Labels are in lower case, of letters, digits, dashes and underscores. */
export interface EntryReader {
  /** The live clusters by ascending id. */
  clusters(): readonly ZoneCluster[];
  /** Clusters whose lease expired. */
  lapsedClusters(): readonly string[];
  /** What clusters export and import of a service; undefined where no cluster has a part in it. */
  service(namespace: string, name: string): KeyEntries | undefined;
  /** Services of a cluster with names that begin with a label (or end a dotted name), by `<namespace>/<name>`. */
  localServices(clusterId: string, namespace: string, label: string): ReadonlyMap<string, LocalService>;
  /** The pods of a cluster of which `keysOfPod` has a key: `<namespace>/<address>` as reported. */
  localPods(clusterId: string, namespace: string, label: string): readonly string[];
  hasNamespace(clusterId: string, namespace: string): boolean;
  /** The services for which clusters report an address that could have its reverse name. */
  claimsOn(address: Uint8Array): readonly AddressClaim[];
  /** Keys with exports or imports, `<namespace>/<name>`, of one namespace or of all, each once, in order. */
  serviceKeys(namespace?: string): Iterable<string>;
  /** Keys with names of a cluster's services, of one namespace or of all. One may come several times. */
  localKeys(clusterId: string, namespace?: string): Iterable<string>;
  /**
   * Keys of a cluster's entries of one kind, of one namespace or of all, whatever the state of its lease; also of gone ones with a rank.
   */
  keysOf(clusterId: string, kind: Kind, namespace?: string): Iterable<string>;
  /** What a cluster reports that it does not serve, of one row. @param key a `findingsKey` @param isForItself whether the cluster itself reads them: whatever the scope is */
  findingsAt(clusterId: string, key: string, isForItself?: boolean): readonly ClusterFinding[];
  /** The pods of a cluster in one row. @param key a `podsKey` */
  podsAt(clusterId: string, key: string): readonly string[];
  /** The addresses of a bucket of claims, in hex, that several clusters report for several services of the clusterset, with these services. */
  contestedIn(bucket: string): ReadonlyMap<string, readonly string[]>;
  /** Characters of what clusters report under a key, about: of what they cost to merge. */
  charactersOf(key: string): number;
  /** Keys with names of a cluster's pods. */
  podKeys(clusterId: string): Iterable<string>;
  /** What clusters report that they do not serve. */
  findings(): Iterable<ClusterFinding>;
  /** What happened to clusters, the newest first. */
  history(most: number): readonly HistoryEntry[];
}

/** The keys of the names of a pod. One without an address is a finding, which a key of its own has. @param pod `<namespace>/<address>` */
export function keysOfPod(pod: string): string[] {
  const bytes = usableAddress(nameOf(pod));
  return bytes === undefined ? [pod] : podLabels(bytes).map((label) => `${namespaceOf(pod)}/${label}`);
}

/** Finds the addresses that several clusters report for several services of the clusterset. */
export class ClaimsByAddress {
  readonly #claims = new Map<string, { readonly clusters: Set<string>; readonly keys: Set<string> }>();

  /** @param hex the address @param key `<namespace>/<name>` of a service of the clusterset */
  add(hex: string, cluster: string, key: string): void {
    const claims = this.#claims.get(hex) ?? { clusters: new Set(), keys: new Set() };
    this.#claims.set(hex, claims);
    claims.clusters.add(cluster);
    claims.keys.add(key);
  }

  /** By address in hex: the services. */
  contested(): ReadonlyMap<string, readonly string[]> {
    const contested = new Map<string, readonly string[]>();
    for (const [hex, { clusters, keys }] of this.#claims)
      if (clusters.size > 1 && keys.size > 1) contested.set(hex, [...keys]);
    return contested;
  }
}

/**
 * Whether a claim on an address (in hex) exists in a scope. Where a scope hides imports, or some addresses of services, entries say whether the cluster reports this one there.
 * @param isExported see `EntryFilter.imported`
 */
export function claimExists(
  reader: Reader,
  filter: EntryFilter | undefined,
  { cluster, name, basis }: Pick<Claim, "cluster" | "name" | "basis">,
  hex: string,
  isExported: (key: string) => boolean,
): boolean {
  if (filter === undefined) return true;
  if (!filter.hasCluster(cluster) || !filter.hasNamespace(namespaceOf(name))) return false;
  const isOfImport = basis === "import" || basis === "other";
  if (!filter.hidesAddresses && !(filter.hidesImports && isOfImport)) return true;
  const entry = <Value>(kind: Kind): readonly [row: EntryRow | undefined, value: Value | undefined] => {
    const row = reader.entry(cluster, kind, name);
    return [row, row === undefined || row.texts[0] === "" ? undefined : (entryValue(row) as Value)];
  };
  if (basis === "local") {
    const [, service] = entry<LocalService>(Kind.service);
    const seen = service && filter.local(name, service);
    return seen !== undefined && claimedAddresses(Kind.service, seen).has(hex);
  }
  const [row, exported] = entry<ExportedService>(Kind.export);
  const [, imported] = entry<ImportedService>(Kind.import);
  const seen = claimsOfService(
    row,
    exported && filter.exported(name, exported),
    imported && filter.imported(name, imported, () => isExported(name)),
  );
  return seen.get(basis)?.has(hex) === true;
}
