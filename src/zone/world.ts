import type { FoldedName } from "../dns/name.ts";
import type { Frame, LeaseMemo, Zone } from "./frame.ts";

/** What has lease groups. */
export interface Leased {
  /** The cluster ids on which the records of each lease group depend; group 0 depends on none. */
  readonly leaseGroups: readonly (readonly string[])[];
  /** The table that was used last. */
  leaseMemo?: LeaseMemo | undefined;
}

/** Names with their RRsets in bytes that answers are copied from. A node is the offset of a name. */
export interface Names extends Leased {
  readonly bytes: Uint8Array;
  /** The index of a view by its name; -1 where all its records are those of queries without a view. */
  viewOf(name: string | undefined): number;
  /** The offset of a node's set list for a view by its index here, or 0 for an empty non-terminal. */
  setListOf(node: number, view: number): number;
  /** The TTL of a set in seconds, with KEEP_ORDER if the order of its records matters. */
  ttlOf(set: number): number;
  leaseGroupOf(set: number): number;
  /** The length in bytes of a node's name relative to its zone, without the root label. */
  nameBytes(node: number): number;
  /** Copies a node's relative name to an offset of other bytes. */
  copyName(node: number, into: Uint8Array, at: number): void;
}

/** Where a name is. */
export interface Location {
  readonly names: Names;
  readonly node: number;
}

/** The terms of a record that is in no set. */
export interface LeasedTtl {
  readonly leased: Leased;
  readonly leaseGroup: number;
  /** In seconds. */
  readonly ttl: number;
}

/** The target of a PTR record. */
export interface PtrTarget extends LeasedTtl {
  /** In wire form. */
  readonly name: Uint8Array;
  readonly zone: Zone;
}

/** What has to come into memory before a query can be answered. */
export interface Missing {
  readonly missing: MissingPart;
}

/** A part of what a primary has (docs/reference/transfer.md). */
export interface MissingPart {
  readonly kind: "part";
  /** Its name. */
  readonly hash: string;
}

/** What was found, in a world in which nothing has to be fetched. */
export function present<Found>(found: Found | Missing): Found {
  if (typeof found === "object" && found !== null && "missing" in found)
    throw new Error("a part of a world is missing");
  return found as Found;
}

/** What queries are answered from. Views and trees are indices of the frame. */
export interface World {
  /** SOA serial (RFC 1035 section 3.3.13). */
  readonly serial: number;
  readonly frame: Frame;
  /** Where a name of a zone is in a view; undefined if it does not exist. */
  locate(zone: Zone, tree: number, name: FoldedName, view: number): Location | Missing | undefined;
  /** The apex of a tree. */
  apex(tree: number): Location;
  /** `ns.dns` of a tree. */
  nameServer(tree: number): Location;
  /** The terms of names of pods that exist for every address, if a name is where these are; undefined elsewhere. */
  podNames(zone: Zone, tree: number, name: FoldedName): LeasedTtl | Missing | undefined;
  /** The target of the PTR record of an address in a view. */
  ptrTarget(address: Uint8Array, view: number): PtrTarget | Missing | undefined;
}
