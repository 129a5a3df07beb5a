import { type FoldedName, RecordType, type ZoneName } from "../dns/name.ts";
import { ABSENT_CLUSTER } from "../merge/clusterset.ts";

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

/** When lease groups expire, and for whom that was looked up. */
export interface LeaseMemo {
  readonly owner: object;
  readonly table: Float64Array;
}

/** What zones, trees and views there are. */
interface FrameTables {
  /** Tree 0 is the clusterset's. */
  readonly trees: readonly Tree[];
  readonly zones: readonly Zone[];
  /**
   * Cluster ids in the order of view indices; then localities of clients outside, named by `localityView`.
   */
  readonly views: readonly string[];
  /** Clusters whose lease expired: exports name them, and nothing depends on their leases. */
  readonly lapsed?: readonly string[];
  /** Negative TTL and SOA MINIMUM in seconds (RFC 2308). */
  readonly negativeTtl: number;
}

/** The lease group of a frame that has all clusters: no lease group of a name expires before it. */
export const ALL_CLUSTERS = 1;

/** A zone. */
export interface Zone extends ZoneName {
  readonly name: string;
  /** The tree for queries without a view and for views without a tree of their own, or -1. */
  readonly tree: number;
  /** Trees of single views, by view index. */
  readonly treeByView: ReadonlyMap<number, number>;
}

/** A tree of names by a stable key: `clusterset`, `local:<cluster id>`, or `federation:<zone name>`. */
export type TreeKey = string;

/** A tree of names, as look-ups need it. */
export interface Tree {
  readonly key: TreeKey;
  /** The zone that owns its PTR targets. */
  readonly canonicalZone: Zone;
}

/** Zones, trees and views. */
export class Frame {
  /** Zones with the most labels first, so that the first match is the closest. */
  readonly zones: readonly Zone[];
  readonly trees: readonly Tree[];
  readonly views: readonly string[];
  readonly negativeTtl: number;
  /** By `ALL_CLUSTERS`. */
  readonly leaseGroups: readonly (readonly string[])[];
  /** See `Leased`. */
  leaseMemo: LeaseMemo | undefined = undefined;
  readonly #viewIndex: ReadonlyMap<string, number>;
  readonly #absentView: number;

  constructor({ trees, zones, views: own, lapsed = [], negativeTtl }: FrameTables) {
    const views = [...own, ...lapsed];
    this.views = views;
    this.negativeTtl = negativeTtl;
    this.leaseGroups = [[], own.filter((view) => view !== ABSENT_CLUSTER && !isLocalityView(view))];
    this.#viewIndex = new Map(views.map((view, index) => [view, index]));
    this.#absentView = this.#viewIndex.get(ABSENT_CLUSTER) ?? -1;
    this.trees = trees;
    this.zones = zones.toSorted((one, other) => other.labels - one.labels);
  }

  /**
   * The index of the view of a source cluster or a locality. A cluster that is not known has the view of
   * clusters that are not live, if there is one; otherwise -1.
   */
  viewOf(clusterId: string | undefined): number {
    if (clusterId === undefined) return -1;
    return this.#viewIndex.get(clusterId) ?? (isLocalityView(clusterId) ? -1 : this.#absentView);
  }

  /**
   * The name of a view, by its index. Undefined for index -1, which an array would look up as the property
   * "-1": that costs a tenth of an answer.
   */
  viewName(view: number): string | undefined {
    return view < 0 ? undefined : this.views[view];
  }

  /** The tree that a zone is for a view index, or -1 if the zone does not exist for it. */
  treeFor(zone: Zone, view: number): number {
    if (view < 0 || zone.treeByView.size === 0) return zone.tree;
    return zone.treeByView.get(view) ?? zone.tree;
  }
}

/** Whether a zone has a tree, for any view. */
export function isTreeOf({ tree, treeByView }: Zone, wanted: number): boolean {
  return tree === wanted || [...treeByView.values()].includes(wanted);
}

/**
 * The region and zone of a client outside every cluster, with the values of nodes' labels
 * (`topology.kubernetes.io/region` and `/zone`).
 */
export interface Locality {
  readonly region: string;
  readonly zone?: string | undefined;
}

/** The name of a view for a locality. A cluster id never contains a colon. */
export function localityView({ region, zone }: Locality): string {
  return zone === undefined ? `region:${region}` : `zone:${region}/${zone}`;
}

/** Whether a view is that of a locality. */
export function isLocalityView(view: string): boolean {
  return view.includes(":");
}

/*
 * Record blocks: the RRsets of one name as bytes, from which answers are copied. Numbers are big-endian, as
 * in DNS.
 *
 *   block set count u8, sets; if the name's form says so, variant count, variants (view u16, set count u8,
 *   sets) set type u8, terms u16, count, data: A 4, AAAA 16, SRV 6 bytes each (port u16; where its target's
 *   name is, from the start of the record on, i32); other types: length u16 and RDATA for each count u8; if
 *   it is 255, the count is in the u16 after it
 */

/** The mark of a count whose number is in the next two bytes. */
export const LONG_COUNT = 255;
/** Offset of each field of a set after its type. */
export const SetField = { terms: 1, count: 3 } as const;
/** The bit of a set's TTL that disables the rotation of its records. */
export const KEEP_ORDER = 0x80000000;

/** The size in bytes of each record's data in a set of this type, or 0 if each has its own length. */
export function fixedDataBytes(type: number): number {
  switch (type) {
    case RecordType.A:
      return 4;
    case RecordType.AAAA:
      return 16;
    case RecordType.SRV:
      return 6;
    default:
      return 0;
  }
}

/** Reads a big-endian 16-bit number. */
export function read16(bytes: Uint8Array, position: number): number {
  return (bytes[position]! << 8) | bytes[position + 1]!;
}

/** Reads a big-endian 32-bit number. */
export function read32(bytes: Uint8Array, position: number): number {
  return (
    ((bytes[position]! << 24) |
      (bytes[position + 1]! << 16) |
      (bytes[position + 2]! << 8) |
      bytes[position + 3]!) >>>
    0
  );
}

/** Writes a big-endian 16-bit number. */
export function write16(bytes: Uint8Array, position: number, value: number): void {
  bytes[position] = value >>> 8;
  bytes[position + 1] = value;
}

/** Writes a big-endian 32-bit number. */
export function write32(bytes: Uint8Array, position: number, value: number): void {
  bytes[position] = value >>> 24;
  bytes[position + 1] = value >>> 16;
  bytes[position + 2] = value >>> 8;
  bytes[position + 3] = value;
}

/** Reads a count. */
export function readCount(bytes: Uint8Array, position: number): number {
  const count = bytes[position]!;
  return count < LONG_COUNT ? count : read16(bytes, position + 1);
}

/** The offset after a count. */
export function countEnd(bytes: Uint8Array, position: number): number {
  return position + (bytes[position]! < LONG_COUNT ? 1 : 3);
}

/** The number of records of a set. */
export function recordCount(heap: Uint8Array, set: number): number {
  return readCount(heap, set + SetField.count);
}

/** The offset of the first record of a set. */
export function recordsOf(heap: Uint8Array, set: number): number {
  return countEnd(heap, set + SetField.count);
}

/** The offset after the set at `set`. */
export function setEnd(heap: Uint8Array, set: number): number {
  const fixed = fixedDataBytes(heap[set]!);
  const count = recordCount(heap, set);
  let position = recordsOf(heap, set);
  if (fixed > 0) return position + fixed * count;
  for (let index = 0; index < count; index++) position += 2 + read16(heap, position);
  return position;
}

/** The offset of the name that an SRV record at `record` has as its target. */
export function targetOf(heap: Uint8Array, record: number): number {
  return record + (read32(heap, record + 2) | 0);
}

/** The offset of the set of `type` in the set list at `list` (its count byte), or 0 if it has none. */
export function findSet(heap: Uint8Array, list: number, type: number): number {
  let set = list + 1;
  for (let left = heap[list]!; left > 0; left--) {
    if (heap[set] === type) return set;
    set = setEnd(heap, set);
  }
  return 0;
}

/** The offset after the set list at `list`. */
function listEnd(heap: Uint8Array, list: number): number {
  let position = list + 1;
  for (let left = heap[list]!; left > 0; left--) position = setEnd(heap, position);
  return position;
}

/** The set list of a record block with variants for a view index. */
export function listForView(heap: Uint8Array, block: number, view: number): number {
  let position = listEnd(heap, block);
  let left = readCount(heap, position);
  position = countEnd(heap, position);
  for (; left > 0; left--) {
    if (read16(heap, position) === view) return position + 2;
    position = listEnd(heap, position + 2);
  }
  return block;
}

/** The most records of one RRset. */
const MAX_SET_RECORDS = 0xffff;
/** Up to so many records are compared one by one; more records are hashed. */
const MAX_COMPARED = 32;

/** The records of one type, in the form of a record block. The targets of SRV records are nodes. */
class RecordSet {
  readonly type: number;
  /** In seconds, with KEEP_ORDER if the order of records matters. */
  readonly ttl: number;
  readonly leaseGroup: number;
  data: number[] = [];
  count = 0;
  #known: Set<string> | undefined;

  constructor(type: number, ttl: number, leaseGroup: number) {
    this.type = type;
    this.ttl = ttl;
    this.leaseGroup = leaseGroup;
  }

  /** Adds a record unless the set has it: equal bytes are equal records (RFC 2181 section 5). */
  add(record: ArrayLike<number>): void {
    if (this.count >= MAX_SET_RECORDS || this.#has(record)) return;
    for (let index = 0; index < record.length; index++) this.data.push(record[index]!);
    this.count++;
  }

  /** Takes over the records of another set of the same type, for a set without any. */
  adopt({ data, count }: RecordSet): void {
    this.data = [...data];
    this.count = count;
  }

  #has(record: ArrayLike<number>): boolean {
    if (this.count < MAX_COMPARED && fixedDataBytes(this.type) > 0) return this.#find(record);
    this.#known ??= new Set(Array.from(this.records(), keyOf));
    const key = keyOf(record);
    if (this.#known.has(key)) return true;
    this.#known.add(key);
    return false;
  }

  #find(record: ArrayLike<number>): boolean {
    const { data } = this;
    const size = record.length;
    for (let start = 0; start < data.length; start += size) {
      // Records of one set usually differ in their last bytes.
      let index = size - 1;
      while (index >= 0 && data[start + index] === record[index]) index--;
      if (index < 0) return true;
    }
    return false;
  }

  *records(): Generator<number[]> {
    const fixed = fixedDataBytes(this.type);
    for (let start = 0; start < this.data.length; ) {
      const end = start + (fixed > 0 ? fixed : 2 + ((this.data[start]! << 8) | this.data[start + 1]!));
      yield this.data.slice(start, end);
      start = end;
    }
  }
}

function keyOf(record: ArrayLike<number>): string {
  let key = "";
  for (let index = 0; index < record.length; index++) key += String.fromCharCode(record[index]!);
  return key;
}

/** The RRsets of one name; duplicates collapse. */
export class RecordSets {
  readonly sets: RecordSet[] = [];

  get isEmpty(): boolean {
    return this.sets.length === 0;
  }

  /** Adds an A or AAAA record, by the length of the address. */
  addAddress(bytes: Uint8Array, ttl: number, leaseGroup: number): void {
    this.#set(bytes.length === 4 ? RecordType.A : RecordType.AAAA, ttl, leaseGroup).add(bytes);
  }

  /** Adds an SRV record (RFC 2782) whose target is a name of the same zone. */
  addService(port: number, node: number, ttl: number, leaseGroup: number): void {
    const record = [port >>> 8, port & 255, node >>> 24, (node >>> 16) & 255, (node >>> 8) & 255, node & 255];
    this.#set(RecordType.SRV, ttl, leaseGroup).add(record);
  }

  /** Adds a record with plain RDATA. */
  addRdata(type: number, bytes: Uint8Array, ttl: number, leaseGroup: number): void {
    this.#set(type, ttl, leaseGroup).add([bytes.length >>> 8, bytes.length & 255, ...bytes]);
  }

  /** Adds all records of other sets. */
  addAll(other: RecordSets): void {
    for (const set of other.sets) {
      const own = this.#set(set.type, set.ttl, set.leaseGroup);
      if (own.count === 0) own.adopt(set);
      else for (const record of set.records()) own.add(record);
    }
  }

  #set(type: number, ttl: number, leaseGroup: number): RecordSet {
    for (const set of this.sets) if (set.type === type) return set;
    const set = new RecordSet(type, ttl, leaseGroup);
    this.sets.push(set);
    return set;
  }
}

/** The weight of each of so many SRV records (RFC 2782): they are equal, share 100, and none is 0. */
export function srvWeight(count: number): number {
  return Math.max(1, Math.floor(100 / count));
}
