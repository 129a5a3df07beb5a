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

/** Thrown by a world where something has to come into memory before a query can be answered. */
export class MissingPart extends Error {}

/** What is found, or `missing` where something has to come into memory first. */
export function unlessMissing<Found>(find: () => Found): Found | "missing" {
  try {
    return find();
  } catch (error) {
    if (error instanceof MissingPart) return "missing";
    throw error;
  }
}

/**
 * What queries are answered from. Views and trees are indices of the frame. Functions that find something
 * throw a `MissingPart` where that is not in memory.
 */
export interface World {
  /** SOA serial (RFC 1035 section 3.3.13). */
  readonly serial: number;
  readonly frame: Frame;
  /** Where a name of a zone is in a view; undefined if it does not exist. */
  locate(zone: Zone, tree: number, name: FoldedName, view: number): Location | undefined;
  /** The apex of a tree. */
  apex(tree: number): Location;
  /** `ns.dns` of a tree. */
  nameServer(tree: number): Location;
  /**
   * The terms of names of pods that exist for every address, if a name is where these are; undefined
   * elsewhere.
   */
  podNames(zone: Zone, tree: number, name: FoldedName): LeasedTtl | undefined;
  /** The target of the PTR record of an address in a view. */
  ptrTarget(address: Uint8Array, view: number): PtrTarget | undefined;
}
