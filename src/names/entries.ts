import { claimsBy, localAddresses } from "../database/claims.ts";
import { type Basis, Kind } from "../database/places.ts";
import { type Claim, type EntryRow, entryValue, type Reader } from "../database/reader.ts";
import { usableAddress } from "../dns/address.ts";
import type { KeyParts } from "../merge/merge-key.ts";
import { nameOf, namespaceOf } from "../merge/order.ts";
import type { EntryFilter } from "../merge/visible.ts";
import type { ExportedService, ImportedService, LocalService } from "../snapshot/schema.ts";
import { podLabels } from "../zone/kinds/endpoint-records.ts";

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

/** Rows of entries: of a database, or those that one would have. */
export type EntryRows = Pick<
  Reader,
  "rowsOf" | "entry" | "all" | "serviceKeys" | "keysOf" | "claimsIn" | "clusters" | "charactersOf" | "history"
>;

/** The keys of the names of a pod. One without an address is a finding, which a key of its own has. @param pod `<namespace>/<address>` */
export function keysOfPod(pod: string): string[] {
  const bytes = usableAddress(nameOf(pod));
  return bytes === undefined ? [pod] : podLabels(bytes).map((label) => `${namespaceOf(pod)}/${label}`);
}

/**
 * Whether a claim on an address (in hex) exists in a scope. Where a scope hides imports, or some addresses of services, entries say whether the cluster reports this one there.
 * @param isExported see `EntryFilter.imported`
 */
export function claimExists(
  rows: Pick<EntryRows, "entry">,
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
    const row = rows.entry(cluster, kind, name);
    return [row, row === undefined || row.texts[0] === "" ? undefined : (entryValue(row) as Value)];
  };
  if (basis === "local") {
    const [, service] = entry<LocalService>(Kind.service);
    const seen = service && filter.local(name, service);
    return seen !== undefined && localAddresses(seen).has(hex);
  }
  const [row, exported] = entry<ExportedService>(Kind.export);
  const [, imported] = entry<ImportedService>(Kind.import);
  const seen = claimsBy(
    row,
    exported && filter.exported(name, exported),
    imported && filter.imported(name, imported, () => isExported(name)),
  );
  return seen.get(basis)?.has(hex) === true;
}
