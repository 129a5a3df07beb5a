import { claimsBy, localAddresses } from "../database/claims.ts";
import { type Basis, bytesOf, claimBucket, Kind } from "../database/places.ts";
import { type Claim, type EntryRow, entryValue, type Reader } from "../database/reader.ts";
import { usableAddress } from "../dns/address.ts";
import type { PinTable } from "../merge/grants.ts";
import type { KeyParts } from "../merge/merge-key.ts";
import { nameOf, namespaceOf } from "../merge/order.ts";
import type { VisibleAddressSource } from "../merge/visibility.ts";
import type { EntryFilter } from "../merge/visible.ts";
import type { ExportedService, ImportedService, LocalService } from "../snapshot/schema.ts";
import { podLabels } from "../zone/kinds/endpoint-records.ts";

/**
 * What clusters reported for one key, `<namespace>/<label left of it>`, as far as it exists in the scope.
 * Contributions are those of live clusters.
 */
export interface KeyEntries extends KeyParts {
  /**
   * The clusters that have a part in the key, those that are not live too: it changes when they come back.
   */
  readonly parts: readonly string[];
}

/** What a cluster reports an address by, see `Basis`, whether it is an endpoint's or a clusterset IP. */
export const CLAIM_BASES = ["export", "import", "other", "local"] as const;
type ClaimBasis = (typeof CLAIM_BASES)[number];

const COARSE: Readonly<Record<Basis, ClaimBasis>> = {
  exportEndpoint: "export",
  exportIP: "export",
  importEndpoint: "import",
  importIP: "import",
  other: "other",
  local: "local",
};

/** Whether a cluster reports an address by an import of a service that it does not export. */
export function isOfImport(basis: Basis): boolean {
  return COARSE[basis] === "import";
}

/** A service for which a cluster reports an address. */
export interface AddressClaim {
  readonly clusterId: string;
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly basis: ClaimBasis;
  /** See `Claim`; 0 where the first cluster is not known: then the oldest part decides. */
  readonly order: number;
}

/** The claim of a cluster. An export that pins do not allow has no place in the order of claims. */
export function addressClaim({ cluster, name, basis, order }: Claim, pins: PinTable): AddressClaim {
  const coarse = COARSE[basis];
  const isRefused = coarse === "export" && !pins.mayExport(cluster, name);
  return { clusterId: cluster, key: name, basis: isRefused ? "other" : coarse, order };
}

/** Rows of entries: of a database, or those that one would have. */
export type EntryRows = Pick<
  Reader,
  "rowsOf" | "entry" | "all" | "serviceKeys" | "keysOf" | "claimsIn" | "clusters" | "charactersOf" | "history"
>;

/**
 * The keys of the names of a pod. One without an address is a finding, which a key of its own has.
 * @param pod `<namespace>/<address>`
 */
export function keysOfPod(pod: string): string[] {
  const bytes = usableAddress(nameOf(pod));
  return bytes === undefined ? [pod] : podLabels(bytes).map((label) => `${namespaceOf(pod)}/${label}`);
}

/** Where the addresses of claims come from. */
const SOURCES: Readonly<Record<Basis, readonly VisibleAddressSource[]>> = {
  exportEndpoint: ["Endpoint"],
  exportIP: ["ClusterSetIP"],
  importEndpoint: ["Endpoint"],
  importIP: ["ClusterSetIP"],
  other: ["ClusterSetIP", "Endpoint"],
  local: ["ClusterIP", "Endpoint"],
};

/** Whether a claim exists, as far as something else than its entry says. */
export type ClaimJudge = (claim: Pick<Claim, "cluster" | "name" | "basis">) => boolean | undefined;

/**
 * Tells which claims on addresses of a bucket exist in a scope. Where a scope hides imports, or some sources
 * of addresses, entries say whether the cluster reports an address there: each is read once, since it may be
 * large.
 * @param isExported see `EntryFilter.imported`
 * @returns takes a claim, its address in hex, and what may say it instead of the entry
 */
export function createClaimFilter(
  rows: Pick<EntryRows, "entry">,
  filter: EntryFilter | undefined,
  bucket: string,
  isExported: (key: string) => boolean,
): (claim: Parameters<ClaimJudge>[0], hex: string, judge?: ClaimJudge) => boolean {
  if (filter === undefined) return () => true;
  const isHere = (hex: string) => claimBucket(hex) === bucket;
  /** The addresses of the bucket, by basis. */
  const read = (cluster: string, name: string, isLocal: boolean): ReadonlyMap<Basis, ReadonlySet<string>> => {
    const entry = <Value>(kind: Kind): readonly [row: EntryRow | undefined, value: Value | undefined] => {
      const row = rows.entry(cluster, kind, name);
      return [row, row === undefined || row.texts[0] === "" ? undefined : (entryValue(row) as Value)];
    };
    if (isLocal) {
      const [, service] = entry<LocalService>(Kind.service);
      const addresses = localAddresses(service && filter.local(name, service));
      return new Map([["local", new Set([...addresses].filter(isHere))]]);
    }
    const [row, exported] = entry<ExportedService>(Kind.export);
    const [, imported] = entry<ImportedService>(Kind.import);
    const claims = claimsBy(
      row,
      exported && filter.exported(name, exported),
      imported && filter.imported(name, imported, () => isExported(name)),
    );
    return new Map(Array.from(claims, ([basis, all]) => [basis, new Set([...all].filter(isHere))]));
  };
  const known = new Map<string, ReturnType<typeof read>>();
  /** Whether a service exists with all of its visible addresses, by the basis. */
  const isCertain: Readonly<Record<Basis, boolean>> = {
    exportEndpoint: true,
    exportIP: true,
    importEndpoint: !filter.hidesImports,
    importIP: !filter.hidesImports,
    other: !filter.hidesImports,
    local: !filter.hidesAddresses,
  };
  return (claim, hex, judge) => {
    const { cluster, name, basis } = claim;
    if (!filter.hasCluster(cluster) || !filter.hasNamespace(namespaceOf(name))) return false;
    if (!filter.mayHaveAddress(bytesOf(hex))) return false;
    const isShown = filter.hasSources(SOURCES[basis]);
    if (isShown === false || (isShown && isCertain[basis])) return isShown;
    const judged = judge?.(claim);
    if (judged !== undefined) return judged;
    const id = `${cluster} ${name} ${basis === "local"}`;
    const claims = known.get(id) ?? read(cluster, name, basis === "local");
    known.set(id, claims);
    return claims.get(basis)?.has(hex) === true;
  };
}
