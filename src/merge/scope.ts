import type { AddressSource } from "./addresses.ts";

/**
 * What exists for somebody. What is outside of it is taken away before snapshots are merged, so that it is answered as what was never
 * there: by the same code, from an image that does not hold it.
 */
export interface Scope {
  /** The cluster that they ask as, always; no other view exists. Absent: outside, and the view of any visible cluster by path. */
  readonly view?: string | undefined;
  /** The namespaces that exist. Absent: all. */
  readonly namespaces?: readonly string[] | undefined;
  /** The clusters that exist, by id. Absent: all. */
  readonly clusters?: readonly string[] | undefined;
  /** Where addresses may come from. Absent: anywhere. */
  readonly addressSources?: readonly AddressSource[] | undefined;
  /** Which addresses there are: `10.0.0.0/8`, `fd00::/8`. Absent: all. */
  readonly addressRanges?: readonly string[] | undefined;
}

/** The scope that hides nothing. */
export const EVERYTHING: Scope = {};

/** Text that is the same for scopes in which the same exists; empty for the scope that hides nothing. */
export function scopeKey(scope: Scope): string {
  const { view, namespaces, clusters, addressSources, addressRanges } = scope;
  const parts = {
    ...(view !== undefined && { view }),
    ...(namespaces !== undefined && { namespaces: distinct(namespaces) }),
    ...(clusters !== undefined && { clusters: distinct(clusters) }),
    ...(addressSources !== undefined && { addressSources: distinct(addressSources) }),
    ...(addressRanges !== undefined && { addressRanges: distinct(addressRanges) }),
  };
  return Object.keys(parts).length === 0 ? "" : JSON.stringify(parts);
}

function distinct(list: readonly string[]): string[] {
  return [...new Set(list)].sort();
}
