import { claimsBy, localAddresses } from "../database/claims.ts";
import { BASES, claimBucket, findingsKey, Kind, podsKey } from "../database/places.ts";
import { type Claims, type EntryRow, entryValue, factsOf } from "../database/reader.ts";
import { compareText, namespaceOf } from "../merge/order.ts";
import type { ClusterSnapshot, ExportedService, ImportedService, LocalService } from "../snapshot/schema.ts";
import type { EntryRows } from "./entries.ts";

type Table = Readonly<Record<string, unknown>>;
type ClaimRows = ReturnType<EntryRows["claimsIn"]>;

/** The rows that a database would have of snapshots, at most one of each cluster: for hosts without one. */
export class SnapshotRows implements EntryRows {
  readonly #rows: readonly EntryRow[];
  readonly #byTable: ReadonlyMap<string, readonly EntryRow[]>;
  readonly #byKey: ReadonlyMap<string, EntryRow[]>;
  readonly #byName: ReadonlyMap<string, EntryRow>;
  #claims: ReadonlyMap<string, ClaimRows> | undefined;

  constructor(snapshots: readonly ClusterSnapshot[]) {
    const inOrder = snapshots.toSorted((one, other) => compareText(one.clusterId, other.clusterId));
    this.#rows = inOrder.flatMap(rowsOf).sort((one, other) => one.kind - other.kind);
    this.#byTable = Map.groupBy(this.#rows, ({ cluster, kind }) => `${cluster} ${kind}`);
    this.#byKey = Map.groupBy(this.#rows, ({ key }) => key);
    this.#byName = new Map(this.#rows.map((row) => [`${row.cluster} ${row.kind} ${row.name}`, row]));
  }

  clusters(): never[] {
    return [];
  }

  history(): never[] {
    return [];
  }

  rowsOf(key: string): EntryRow[] {
    return this.#byKey.get(key) ?? [];
  }

  entry(cluster: string, kind: Kind, name: string): EntryRow | undefined {
    return this.#byName.get(`${cluster} ${kind} ${name}`);
  }

  *all(cluster: string, kind: Kind): Generator<EntryRow> {
    yield* this.#byTable.get(`${cluster} ${kind}`) ?? [];
  }

  *keysOf(cluster: string, kind: Kind, namespace?: string): Generator<string[]> {
    const keys = Array.from(this.all(cluster, kind), ({ key }) => key);
    yield keys.filter((key) => namespace === undefined || namespaceOf(key) === namespace);
  }

  *serviceKeys(clusters: Iterable<string>, namespace?: string): Generator<string[]> {
    const keys = [...clusters].flatMap((cluster) =>
      [Kind.export, Kind.import].flatMap((kind) => [...this.keysOf(cluster, kind, namespace)].flat()),
    );
    yield [...new Set(keys)].sort(compareText);
  }

  charactersOf(key: string): number {
    return this.rowsOf(key).reduce((sum, { texts }) => sum + texts[0]!.length, 0);
  }

  /**
   * Which cluster was first with an address, and by what, is not known: all that is not local counts as
   * exported.
   */
  claimsIn(bucket: string): ClaimRows {
    this.#claims ??= this.#readClaims();
    return this.#claims.get(bucket) ?? [];
  }

  #readClaims(): Map<string, ClaimRows> {
    const buckets = new Map<string, Map<string, Claims>>();
    for (const row of this.#rows)
      for (const [place, hex] of addressesOf(row)) {
        const bucket = buckets.get(claimBucket(hex)) ?? new Map<string, Claims>();
        buckets.set(claimBucket(hex), bucket);
        const own = bucket.get(row.cluster) ?? {};
        bucket.set(row.cluster, own);
        own[place + hex] = [...(own[place + hex] ?? [0]), row.name];
      }
    return new Map(
      Array.from(buckets, ([bucket, byCluster]) => [
        bucket,
        Array.from(byCluster, ([cluster, claims]) => ({ cluster, text: JSON.stringify(claims) })),
      ]),
    );
  }
}

function rowsOf({ clusterId: cluster, topology, clusterZone, ...snapshot }: ClusterSnapshot): EntryRow[] {
  const { namespaces, exports, imports, services, pods, findings } = snapshot;
  const rows = (kind: Kind, table: Table) =>
    Object.entries(table).flatMap(([name, value]): EntryRow[] => {
      if (value === undefined) return [];
      const { key, reported } = factsOf(kind, name, value);
      // The age of an import is not known.
      const counts = kind === Kind.export ? reported : null;
      const texts = [JSON.stringify(value)];
      return [{ key, kind, cluster, name, texts, reported, counts }];
    });
  return [
    ...rows(Kind.single, { topology, clusterZone }),
    ...rows(Kind.namespace, namespaces),
    ...rows(Kind.export, exports),
    ...rows(Kind.import, imports),
    ...rows(Kind.service, services),
    ...rows(Kind.pods, inBuckets(pods, podsKey)),
    ...rows(Kind.findings, inBuckets(findings, findingsKey)),
  ];
}

/** Entries that share rows, by the keys of these. */
function inBuckets(table: Table, keyOf: (name: string) => string): Table {
  const buckets = Map.groupBy(Object.entries(table), ([name]) => keyOf(name));
  return Object.fromEntries(Array.from(buckets, ([key, members]) => [key, Object.fromEntries(members)]));
}

/** Addresses in hex, with what stands in front of each in the text of claims. */
function addressesOf(row: EntryRow): (readonly [place: string, hex: string])[] {
  const at = (place: string, addresses: ReadonlySet<string> = new Set()) =>
    [...addresses].map((hex) => [place, hex] as const);
  if (row.kind === Kind.service) return at(BASES.local, localAddresses(entryValue(row) as LocalService));
  const exported = row.kind === Kind.export ? (entryValue(row) as ExportedService) : undefined;
  const imported = row.kind === Kind.import ? (entryValue(row) as ImportedService) : undefined;
  const { importIP, importEndpoint, other } = Object.fromEntries(claimsBy(undefined, exported, imported));
  return [
    ...at(BASES.exportIP, importIP),
    ...at(BASES.exportEndpoint, importEndpoint),
    // Endpoints of an export, or clusterset IPs of an import that the cluster's worker made.
    ...at(exported === undefined ? BASES.exportIP : BASES.exportEndpoint, other),
  ];
}
