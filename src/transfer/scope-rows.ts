import { Kind } from "../database/places.ts";
import { claimedAddressesIn, entryValue, type Reader, readClaims } from "../database/reader.ts";
import { formatAddress, parseAddress } from "../dns/address.ts";
import { nameOf, namespaceOf } from "../merge/service-key.ts";
import type { Visibility } from "../merge/visibility/visibility.ts";
import { createEntryFilter, type EntryFilter } from "../merge/visibility/visible.ts";
import type { AddressClaim } from "../names/entries.ts";
import { withFirstOrders } from "../names/reverse-names.ts";
import { claimExists } from "../names/visible-claims.ts";
import type { NameList, SentClaims } from "./part-forms.ts";
import type { ListKind } from "./part-names.ts";

/** Names of one list. With more, it says how they begin, and names are asked for by one character more. */
const MOST_NAMES = 4096;
/** Stands for any name, in a list that would be too long. */
export const ANY_NAME = "*";

/** Lists what exists in a scope, whichever clusters are live: so a list stays right when one comes back. */
export class ScopeRows {
  readonly #reader: Reader;
  readonly #filter: EntryFilter | undefined;
  readonly #hidesClusters: boolean;

  constructor(reader: Reader, visibility: Visibility) {
    this.#reader = reader;
    this.#filter = createEntryFilter(visibility);
    this.#hidesClusters = visibility.clusters !== undefined;
  }

  /** @param of a namespace, or the key of a bucket of pods @param prefix how the names begin */
  list(list: ListKind, of: string, prefix: string): NameList | undefined {
    switch (list) {
      case "namespaces":
        return this.#namespaces(prefix);
      case "labels":
        return this.#labels(of, prefix);
      case "pods":
        return { names: this.#pods(of) };
      case "ranges": {
        const names = this.#reader.claimedRanges(MOST_NAMES + 1);
        return { names: names.length > MOST_NAMES ? [ANY_NAME] : names };
      }
      default:
        return undefined;
    }
  }

  claims(bucket: string): SentClaims {
    const found = new Map<string, AddressClaim[]>();
    for (const { cluster, text } of this.#reader.claimsIn(bucket)) {
      if (!this.hasCluster(cluster)) continue;
      const claims = JSON.parse(text);
      for (const hex of claimedAddressesIn(claims))
        for (const { name: key, basis, order } of readClaims(cluster, claims, hex))
          if (
            claimExists(this.#reader, this.#filter, { cluster, name: key, basis }, hex, (one) =>
              this.#isExported(one),
            )
          )
            found.set(hex, [...(found.get(hex) ?? []), { clusterId: cluster, key, basis, order }]);
    }
    const sent = Array.from(found, ([hex, claims]) => [
      hex,
      withFirstOrders(claims).map(({ clusterId, key, basis, order }) => [clusterId, key, basis, order]),
    ]);
    return Object.fromEntries(sent);
  }

  /** Whether a cluster of the scope exports a service, live or not. */
  #isExported(key: string): boolean {
    return this.#reader.exportersOf(key).some((cluster) => this.hasCluster(cluster));
  }

  hasCluster(cluster: string): boolean {
    return this.#filter?.hasCluster(cluster) !== false;
  }

  /** Whether a key of the log may concern what exists. */
  hasKey(key: string): boolean {
    const slash = key.indexOf("/");
    return !key.startsWith("!") && (slash < 0 || this.#hasNamespace(key.slice(0, slash)));
  }

  #namespaces(prefix: string): NameList {
    // Keys of buckets come before all namespaces.
    const [from, to] = [prefix === "" ? "-" : prefix, `${prefix}\x7f`];
    const all = this.#reader.namespacesFrom(from, to, MOST_NAMES + 1);
    if (all.length > MOST_NAMES) return split(all[0]!, namespaceOf(this.#reader.lastKey(from, to)!));
    const names = all.filter((namespace) => this.#hasNamespace(namespace) && this.#isAnywhere(namespace));
    return { names };
  }

  #labels(namespace: string, prefix: string): NameList {
    const clusters = this.#hasNamespace(namespace)
      ? this.#reader.clustersWith(namespace).filter((id) => this.hasCluster(id))
      : [];
    if (!this.#hasNamespace(namespace)) return { names: [], clusters };
    // The key of the namespace itself ends with the slash.
    const [from, to] = [`${namespace}/${prefix === "" ? "!" : prefix}`, `${namespace}/${prefix}\x7f`];
    const rows = this.#reader.keysFrom(from, to, MOST_NAMES + 1);
    if (rows.length > MOST_NAMES)
      return { ...split(nameOf(rows[0]!.key), nameOf(this.#reader.lastKey(from, to)!)), clusters };
    const names = new Set<string>();
    for (const { key, cluster } of rows) if (this.hasCluster(cluster)) names.add(nameOf(key));
    return { names: [...names], clusters };
  }

  /** Each as its cluster, a space, and its key with the address in its usual form. */
  #pods(bucket: string): string[] {
    const found = new Set<string>();
    for (const row of this.#reader.rowsOf(bucket)) {
      if (row.kind !== Kind.pods || !this.hasCluster(row.cluster)) continue;
      for (const key of Object.keys(entryValue(row) as object)) {
        const bytes = parseAddress(nameOf(key));
        if (bytes === undefined || this.#filter?.hasPod(key) === false) continue;
        found.add(`${row.cluster} ${namespaceOf(key)}/${formatAddress(bytes)}`);
      }
    }
    return [...found];
  }

  #hasNamespace(namespace: string): boolean {
    return this.#filter?.hasNamespace(namespace) !== false;
  }

  #isAnywhere(namespace: string): boolean {
    if (!this.#hidesClusters) return true;
    const clusters = this.#reader.clusters().filter(({ id }) => this.hasCluster(id));
    return clusters.some(({ id }) => this.#reader.hasAny(id, namespace));
  }
}

/** A list that is too long: how the names between two begin. */
function split(first: string, last: string): NameList {
  let length = 0;
  while (length < first.length && first[length] === last[length]) length++;
  const common = first.slice(0, length);
  return { names: first === common ? [common] : [], common };
}
