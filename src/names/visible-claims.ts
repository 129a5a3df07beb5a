import { claimedAddresses, claimsOfService } from "../database/claims.ts";
import { Kind } from "../database/places.ts";
import { type Claim, type EntryRow, entryValue, type Reader } from "../database/reader.ts";
import { namespaceOf } from "../merge/service-key.ts";
import type { EntryFilter } from "../merge/visibility/visible.ts";
import type { ExportedService, ImportedService, LocalService } from "../snapshot/schema.ts";

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
