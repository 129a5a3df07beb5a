import { formatAddress, parseAddressRange } from "../dns/address.ts";
import type { AddressSource } from "./addresses.ts";

/**
 * Where an address can come from: what a service is answered with, or `ClusterIP`, a Service's address in its
 * own cluster.
 */
export type VisibleAddressSource = AddressSource | "ClusterIP";

/**
 * What exists for a client. Everything else is removed before snapshots are merged, so it is answered like
 * what never existed: by the same code, from a generation that does not hold it.
 */
export interface Visibility {
  /** The one view that exists, a cluster id. Absent: outside, and the view of any visible cluster by path. */
  readonly view?: string | undefined;
  /** The namespaces that exist. Absent: all. */
  readonly namespaces?: readonly string[] | undefined;
  /** The clusters that exist, by id. Absent: all. */
  readonly clusters?: readonly string[] | undefined;
  /** Where addresses may come from. Absent: anywhere. */
  readonly addressSources?: readonly VisibleAddressSource[] | undefined;
  /** Which addresses there are: `10.0.0.0/8`, `fd00::/8`. Absent: all. */
  readonly addressRanges?: readonly string[] | undefined;
  /**
   * The domains whose names exist as CNAME targets: host names of load balancers, targets of ExternalName
   * Services. Absent: all where there are no `addressRanges`, else none, because the addresses of a host name
   * are not known.
   */
  readonly targets?: readonly string[] | undefined;
}

/** The visibility that hides nothing. */
export const EVERYTHING: Visibility = {};

/**
 * Text that is the same for visibilities in which the same exists; empty for the visibility that hides
 * nothing.
 */
export function visibilityKey(visibility: Visibility): string {
  const { view, namespaces, clusters, addressSources, addressRanges, targets } = visibility;
  const parts = {
    ...(view !== undefined && { view }),
    ...(namespaces !== undefined && { namespaces: distinct(namespaces) }),
    ...(clusters !== undefined && { clusters: distinct(clusters) }),
    ...(addressSources !== undefined && { addressSources: distinct(addressSources) }),
    ...(addressRanges !== undefined && { addressRanges: distinct(addressRanges.map(canonicalRange)) }),
    ...(targets !== undefined && { targets: distinct(targets.map(canonicalDomain)) }),
  };
  return Object.keys(parts).length === 0 ? "" : JSON.stringify(parts);
}

/**
 * The visibility of a client, without its source cluster: visibilities that differ in nothing else are
 * answered from one generation.
 */
export function withoutView({ view: _, ...visibility }: Visibility): Visibility {
  return visibility;
}

/** @throws {RangeError} for a visibility that contradicts itself, or has a range that is none */
export function checkVisibility({ view, clusters, addressRanges = [] }: Visibility): void {
  if (view !== undefined && clusters?.includes(view) === false)
    throw new RangeError(
      `the scope's view ${JSON.stringify(view)} is not among its clusters: add it there, or leave clusters out`,
    );
  for (const range of addressRanges)
    if (parseAddressRange(range) === undefined)
      throw new RangeError(
        `${JSON.stringify(range)} is no range of addresses: 10.0.0.0/8, fd00::/8 or 127.0.0.1`,
      );
}

function canonicalRange(text: string): string {
  const range = parseAddressRange(text);
  return range === undefined ? text : `${formatAddress(range.bytes)}/${range.prefixBits}`;
}

/** In lower case, without a trailing dot. */
export function canonicalDomain(text: string): string {
  return text.toLowerCase().replace(/\.$/, "");
}

function distinct(list: readonly string[]): string[] {
  return [...new Set(list)].sort();
}
