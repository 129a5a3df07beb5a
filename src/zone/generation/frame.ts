import { parseZoneName, type ZoneName } from "../../dns/folded-name.ts";
import { ABSENT_CLUSTER } from "../../merge/clusterset.ts";
import { isLocalityView } from "../locality.ts";
import { align, check, createBlob, readBlob, readJson, writeJson } from "../segment/blob.ts";
import { isNames } from "../segment/block-checks.ts";
import { BLOB_WORDS, BlobKind } from "../segment/layout.ts";
import { treeHash } from "../segment/name-hash.ts";
import type { LeaseMemo } from "../segment/segment.ts";
import { stemDepths, type TreeKey } from "../segment/tree-key.ts";

/** The trees of a zone name. */
export interface ZoneTable {
  /** Zone name in text with the trailing dot. */
  readonly name: string;
  /** The tree for queries without a view and for views without a tree of their own; -1 if the zone does not exist for them. */
  readonly tree: number;
  /** Trees of single views, by view index. */
  readonly byView: readonly (readonly [view: number, tree: number])[];
}

/** What a generation has that is not of one service, besides the stems. */
export interface FrameTables {
  /** The keys of all trees; tree 0 is the clusterset's. */
  readonly trees: readonly TreeKey[];
  /** The first zone of a tree is its canonical one, which owns PTR targets. */
  readonly zones: readonly ZoneTable[];
  /** Cluster ids in the order of view indices; then localities of clients outside, named by `localityView`. */
  readonly views: readonly string[];
  /** The namespaces of the live clusters. */
  readonly namespaces: readonly string[];
  /** Whether a name has the marker `POD_NAMES`. */
  readonly podNames: boolean;
  /** Negative TTL and SOA MINIMUM in seconds (RFC 2308). */
  readonly negativeTtl: number;
}

/** The lease group of a frame that has all clusters: no lease group of a segment expires before it. */
export const ALL_CLUSTERS = 1;

/** A zone. */
export interface Zone extends ZoneName {
  readonly name: string;
  /** The tree for queries without a view and for views without a tree of their own, or -1. */
  readonly tree: number;
  /** Trees of single views, by view index; undefined if no view has one. */
  readonly treeByView: ReadonlyMap<number, number> | undefined;
}

/** A tree of names, as look-ups need it. */
export interface Tree {
  readonly key: TreeKey;
  /** See `treeHash`. */
  readonly hash: number;
  /** See `stemDepths`. */
  readonly depths: readonly number[];
  /** The zone that owns its PTR targets. */
  readonly canonicalZone: Zone;
}

/**
 * Zones, trees, views, and which views lack a namespace. Its blob has, after the first words: the length of the tables u32, the tables (ASCII
 * JSON, `FrameTables`), aligned; then u8[views][ceil(namespaces / 8)]: a bit is set where the view's cluster lacks the namespace.
 */
export class Frame {
  readonly hash: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Zones with the most labels first, so that the first match is the closest. */
  readonly zones: readonly Zone[];
  readonly trees: readonly Tree[];
  readonly treeByKey: ReadonlyMap<TreeKey, Tree>;
  readonly views: readonly string[];
  readonly namespaces: readonly string[];
  readonly podNames: boolean;
  readonly negativeTtl: number;
  /** By `ALL_CLUSTERS`. */
  readonly leaseGroups: readonly (readonly string[])[];
  /** See `Segment`. */
  leaseMemo: LeaseMemo | undefined = undefined;
  readonly #lacking: Uint8Array;
  readonly #lackingBytes: number;
  /** By view: 1 if it lacks any namespace. */
  readonly #lackingViews: Uint8Array;
  readonly #viewIndex: ReadonlyMap<string, number>;
  readonly #namespaceIndex: ReadonlyMap<string, number>;
  readonly #absentView: number;

  private constructor(
    bytes: Uint8Array<ArrayBuffer>,
    hash: string,
    tables: FrameTables,
    zones: readonly Zone[],
    lacking: Uint8Array,
  ) {
    this.bytes = bytes;
    this.hash = hash;
    this.views = tables.views;
    this.namespaces = tables.namespaces;
    this.podNames = tables.podNames;
    this.negativeTtl = tables.negativeTtl;
    this.leaseGroups = [[], tables.views.filter((view) => view !== ABSENT_CLUSTER && !isLocalityView(view))];
    this.#lacking = lacking;
    const lackingBytes = (tables.namespaces.length + 7) >> 3;
    this.#lackingBytes = lackingBytes;
    this.#lackingViews = Uint8Array.from(tables.views, (_, view) =>
      lacking.subarray(view * lackingBytes, (view + 1) * lackingBytes).some((bits) => bits !== 0) ? 1 : 0,
    );
    this.#viewIndex = new Map(tables.views.map((view, index) => [view, index]));
    this.#namespaceIndex = new Map(tables.namespaces.map((namespace, index) => [namespace, index]));
    this.#absentView = this.#viewIndex.get(ABSENT_CLUSTER) ?? -1;
    this.trees = tables.trees.map((key, tree) => {
      const canonicalZone = zones.find((zone) => isTreeOf(zone, tree));
      check(canonicalZone !== undefined, `tree ${key} has no zone`);
      return { key, hash: treeHash(key), depths: stemDepths(key), canonicalZone };
    });
    this.treeByKey = new Map(this.trees.map((tree) => [tree.key, tree]));
    this.zones = zones.toSorted((one, other) => other.labels - one.labels);
  }

  /** The bytes of a frame, in a step for each view. @param lacks whether the cluster of a view lacks a namespace */
  static *write(
    tables: FrameTables,
    lacks: (view: string, namespace: string) => boolean,
  ): Generator<void, Uint8Array<ArrayBuffer>> {
    const { views, namespaces } = tables;
    const json = writeJson(tables);
    const lackingBytes = (namespaces.length + 7) >> 3;
    const start = BLOB_WORDS * 4 + 4;
    const lackingAt = align(start + json.length);
    const { bytes, words } = createBlob(BlobKind.frame, lackingAt + lackingBytes * views.length);
    words[BLOB_WORDS] = json.length;
    bytes.set(json, start);
    for (const [view, name] of views.entries()) {
      for (const [bit, namespace] of namespaces.entries())
        if (lacks(name, namespace)) bytes[lackingAt + view * lackingBytes + (bit >> 3)]! |= 1 << (bit & 7);
      yield;
    }
    return bytes;
  }

  /**
   * @param hash that of the bytes, which the caller knows or has checked
   * @throws {FormatError} for bytes that are not a well-formed frame
   */
  static load(bytes: Uint8Array<ArrayBuffer>, hash: string): Frame {
    const words = readBlob(bytes, BlobKind.frame, "a frame");
    check(words.length > BLOB_WORDS, "a frame has no tables");
    const start = BLOB_WORDS * 4 + 4;
    const length = words[BLOB_WORDS]!;
    check(start + length <= bytes.length, "the tables of a frame end behind it");
    const tables = readTables(readJson(bytes, start, length, "a frame"));
    const lackingAt = align(start + length);
    const lackingEnd = lackingAt + ((tables.namespaces.length + 7) >> 3) * tables.views.length;
    check(align(lackingEnd) === bytes.length, "a frame has a wrong length");
    let zones: Zone[];
    try {
      zones = tables.zones.map(loadZone);
    } catch (error) {
      check(false, `a frame has no table of zones: ${(error as Error).message}`);
    }
    return new Frame(bytes, hash, tables, zones, bytes.subarray(lackingAt, lackingEnd));
  }

  /**
   * The index of the view of a source cluster or a locality. A cluster that is not known has the view of clusters that are not live, if there
   * is one; otherwise -1.
   */
  viewOf(clusterId: string | undefined): number {
    if (clusterId === undefined) return -1;
    return this.#viewIndex.get(clusterId) ?? (isLocalityView(clusterId) ? -1 : this.#absentView);
  }

  /** The name of a view, by its index. Undefined for index -1, which an array would look up as the property "-1": that costs a tenth of an answer. */
  viewName(view: number): string | undefined {
    return view < 0 ? undefined : this.views[view];
  }

  /** The tree that a zone is for a view index, or -1 if the zone does not exist for it. */
  treeFor(zone: Zone, view: number): number {
    if (view < 0 || zone.treeByView === undefined) return zone.tree;
    return zone.treeByView.get(view) ?? zone.tree;
  }

  /** The index of a namespace; -1 where no cluster has it. */
  namespaceOf(name: string): number {
    return this.#namespaceIndex.get(name) ?? -1;
  }

  /** Whether a view, by its index, lacks any namespace. */
  lacksAny(view: number): boolean {
    return view >= 0 && this.#lackingViews[view] === 1;
  }

  /** Whether a view, by its index, lacks a namespace, by its index. Index -1 is lacked by none. */
  lacks(view: number, namespace: number): boolean {
    if (view < 0 || namespace < 0) return false;
    return (this.#lacking[view * this.#lackingBytes + (namespace >> 3)]! & (1 << (namespace & 7))) !== 0;
  }
}

function isTreeOf({ tree, treeByView }: Zone, wanted: number): boolean {
  return tree === wanted || [...(treeByView?.values() ?? [])].includes(wanted);
}

function loadZone({ name, tree, byView }: ZoneTable): Zone {
  const treeByView = byView.length > 0 ? new Map(byView) : undefined;
  return { name, ...parseZoneName(name), tree, treeByView };
}

function readTables(value: unknown): FrameTables {
  const tables = (value ?? {}) as Partial<Record<keyof FrameTables, unknown>>;
  const { trees, zones, views, namespaces, podNames, negativeTtl } = tables;
  check(isNames(trees) && trees.length > 0, "a frame has no table of trees");
  check(isNames(views), "a frame has no table of views");
  check(isNames(namespaces), "a frame has no table of namespaces");
  check(typeof podNames === "boolean", "a frame does not say whether there are pod names");
  check(isIndex(negativeTtl, 0x80000000), "a frame has no negative TTL");
  const isZone = (zone: Partial<ZoneTable> | null) =>
    typeof zone?.name === "string" &&
    isIndex((zone.tree as number) + 1, trees.length + 1) &&
    Array.isArray(zone.byView) &&
    zone.byView.every(
      (pair) => Array.isArray(pair) && isIndex(pair[0], views.length) && isIndex(pair[1], trees.length),
    );
  check(Array.isArray(zones) && zones.every(isZone), "a frame has no table of zones");
  return { trees, zones, views, namespaces, podNames, negativeTtl };
}

function isIndex(value: unknown, below: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < below;
}
