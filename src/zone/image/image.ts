import { parseZoneName, type ZoneName } from "../../dns/folded-name.ts";
import { FOLD } from "../../dns/name.ts";
import { ABSENT_CLUSTER } from "../../merge/clusterset.ts";
import { isLocalityView } from "../locality.ts";
import { countEnd, listForView, read16, readCount } from "../record-block.ts";
import {
  ANY_ASKER,
  HEADER_WORDS,
  Header,
  IMAGE_FORMAT_VERSION,
  IMAGE_MAGIC,
  type ImageTables,
  REVERSE_TARGET_BYTES,
  type ZoneTable,
} from "./layout.ts";
import { hashAddress, spread } from "./name-hash.ts";

/** An image cannot be loaded: foreign bytes, another format version, or cut off. */
export class ImageError extends Error {
  readonly code = "INVALID_IMAGE";
}

/** An image has another format version: another version of the program wrote it. */
export class ImageVersionError extends ImageError {}

/** A zone of the image. */
export interface ImageZone extends ZoneName {
  readonly name: string;
  /** The tree for queries without a view and for views without a tree of their own, or -1. */
  readonly tree: number;
  /** Trees of single views, by view index; undefined if no view has one. */
  readonly treeByView: ReadonlyMap<number, number> | undefined;
}

/**
 * All data of the gateway's answers as one immutable byte array: a hash table from names to RRsets
 * (byte layout in layout.ts).
 */
export class ZoneImage {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Hex; equal for equal content, independent of the serial. */
  readonly contentHash: string;
  /** SOA serial (RFC 1035 section 3.3.13). */
  readonly serial: number;
  /** Zones with the most labels first, so that the first match is the closest. */
  readonly zones: readonly ImageZone[];
  /** The zone that owns the PTR targets of each tree. */
  readonly canonicalZones: readonly ImageZone[];
  readonly views: readonly string[];
  readonly leaseGroups: readonly (readonly string[])[];
  readonly ttls: readonly number[];
  readonly negativeTtl: number;
  readonly nodes: number;
  /** The number of trees; the nodes below this number are their apexes. */
  readonly trees: number;
  /** Whether pod names exist that are not listed, see `POD_NAMES`. */
  readonly podNames: boolean;
  /** The node of `ns.dns`, the name server's name, in each tree. */
  readonly nameServers: readonly number[];
  readonly heap: Uint8Array;
  readonly nodeParent: Uint32Array;
  readonly nodeLabel: Uint32Array;
  readonly nodeRecords: Uint32Array;
  readonly nodeNamespace: Uint16Array;
  readonly #slots: Uint32Array;
  readonly #reverseSlots: Uint32Array;
  readonly #lacking: Uint8Array;
  readonly #lackingBytes: number;
  readonly #viewIndex: ReadonlyMap<string, number>;
  readonly #absentView: number;

  private constructor(bytes: Uint8Array<ArrayBuffer>, header: Uint32Array) {
    const field = (index: number) => header[index]!;
    const { buffer, byteOffset } = bytes;
    this.bytes = bytes;
    this.contentHash = [0, 1, 2, 3]
      .map((word) =>
        field(Header.contentHash + word)
          .toString(16)
          .padStart(8, "0"),
      )
      .join("");
    this.serial = field(Header.serial);
    this.trees = field(Header.trees);
    this.nodes = field(Header.nodes);
    const words = (at: number, count: number) => new Uint32Array(buffer, byteOffset + at, count);
    this.#slots = words(field(Header.slotsAt), field(Header.slots));
    this.nodeParent = words(field(Header.nodesAt), this.nodes);
    this.nodeLabel = words(field(Header.nodesAt) + this.nodes * 4, this.nodes);
    this.nodeRecords = words(field(Header.nodesAt) + this.nodes * 8, this.nodes);
    this.#reverseSlots = words(field(Header.reverseSlotsAt), field(Header.reverseSlots));
    this.nodeNamespace = new Uint16Array(buffer, byteOffset + field(Header.nodeNamespaceAt), this.nodes);
    this.#lackingBytes = (field(Header.namespaces) + 7) >> 3;
    this.heap = bytes.subarray(field(Header.heapAt));
    const tables = readTables(bytes, field(Header.tablesAt), field(Header.tablesBytes));
    this.views = tables.views;
    this.leaseGroups = tables.leaseGroups;
    this.ttls = tables.ttls;
    this.negativeTtl = tables.negativeTtl;
    this.#lacking = bytes.subarray(
      field(Header.lackingAt),
      field(Header.lackingAt) + this.#lackingBytes * tables.views.length,
    );
    this.#viewIndex = new Map(tables.views.map((clusterId, index) => [clusterId, index]));
    this.#absentView = this.#viewIndex.get(ABSENT_CLUSTER) ?? -1;
    this.nameServers = tables.nameServers;
    this.podNames = tables.podNames;
    const zones = tables.zones.map(loadZone);
    this.canonicalZones = Array.from({ length: this.trees }, (_, tree) => {
      const own = zones.find(
        (zone) => zone.tree === tree || [...(zone.treeByView?.values() ?? [])].includes(tree),
      );
      if (own === undefined) throw new ImageError(`tree ${tree} has no zone`);
      return own;
    });
    this.zones = zones.toSorted((one, other) => other.labels - one.labels);
  }

  /**
   * Loads bytes as an image without copying them; `bytes` must start at a multiple of 4 in its buffer.
   * @throws {ImageError} for foreign bytes, another format version, or a length that does not fit.
   */
  static load(bytes: Uint8Array<ArrayBuffer>): ZoneImage {
    if (bytes.byteOffset % 4 !== 0) throw new ImageError("the image does not start at a multiple of 4");
    if (bytes.length < HEADER_WORDS * 4)
      throw new ImageError(`${bytes.length} bytes are too few for an image`);
    const header = new Uint32Array(bytes.buffer, bytes.byteOffset, HEADER_WORDS);
    if (header[Header.magic] !== IMAGE_MAGIC) throw new ImageError("these bytes are not a zone image");
    if (header[Header.version] !== IMAGE_FORMAT_VERSION)
      throw new ImageVersionError(
        `the image has format version ${header[Header.version]}; this program reads ${IMAGE_FORMAT_VERSION}`,
      );
    if (header[Header.totalBytes] !== bytes.length)
      throw new ImageError(
        `the image should have ${header[Header.totalBytes]} bytes and has ${bytes.length}`,
      );
    return new ZoneImage(bytes, header);
  }

  /**
   * The index of the view of a source cluster or a locality. A cluster that the image does not know has the view of clusters that are not
   * live, if the image has one; otherwise -1.
   */
  viewOf(clusterId: string | undefined): number {
    if (clusterId === undefined) return -1;
    return this.#viewIndex.get(clusterId) ?? (isLocalityView(clusterId) ? -1 : this.#absentView);
  }

  /** The tree that a zone is for a view index, or -1 if the zone does not exist for it. */
  treeFor(zone: ImageZone, view: number): number {
    if (view < 0 || zone.treeByView === undefined) return zone.tree;
    return zone.treeByView.get(view) ?? zone.tree;
  }

  /** The tree of a node. */
  treeOf(start: number): number {
    let node = start;
    while (node >= this.trees) node = this.nodeParent[node]!;
    return node;
  }

  /**
   * The node of a folded relative name (labels only, no root label, from `start` to `end` in `name`) in a tree, or -1.
   * `hash` is that of the name, see name-hash.ts.
   */
  findNode(tree: number, name: Uint8Array, start: number, end: number, hash: number): number {
    if (end === start) return tree;
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = spread(hash) & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot]!;
      if (entry === 0) return -1;
      if (this.#hasName(entry - 1, tree, name, start, end)) return entry - 1;
    }
  }

  #hasName(deepest: number, tree: number, name: Uint8Array, start: number, end: number): boolean {
    const { heap, nodeLabel, nodeParent, trees } = this;
    let node = deepest;
    let position = start;
    while (node >= trees) {
      if (position >= end) return false;
      let at = nodeLabel[node]!;
      const length = heap[at]!;
      if (name[position] !== length) return false;
      const stop = position + length;
      while (position < stop) if (FOLD[heap[++at]!] !== name[++position]) return false;
      position++;
      node = nodeParent[node]!;
    }
    return node === tree && position === end;
  }

  /** Whether a node exists for a view: false if its namespace does not exist in the view's cluster. */
  existsIn(node: number, view: number): boolean {
    if (view < 0) return true;
    const namespace = this.nodeNamespace[node]!;
    if (namespace === 0) return true;
    const bit = namespace - 1;
    return (this.#lacking[view * this.#lackingBytes + (bit >> 3)]! & (1 << (bit & 7))) === 0;
  }

  /** The heap offset of the node's set list for a view, or 0 for an empty non-terminal. */
  setListOf(node: number, view: number): number {
    const block = this.nodeRecords[node]!;
    return block === 0 ? 0 : listForView(this.heap, block, view);
  }

  /** The heap offset of the reverse target of an address for a view (view, ttl, lease group, node), or 0. */
  findReverse(octets: Uint8Array, length: number, view: number): number {
    const { heap } = this;
    const slots = this.#reverseSlots;
    const mask = slots.length - 1;
    for (let slot = spread(hashAddress(octets, 0, length)) & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot]!;
      if (entry === 0) return 0;
      if (heap[entry] !== length) continue;
      let index = 0;
      while (index < length && heap[entry + 1 + index] === octets[index]) index++;
      if (index === length) return targetFor(heap, entry + 1 + length, view < 0 ? ANY_ASKER : view + 1);
    }
  }

  /** The heap offsets of all reverse entries (length byte, address, targets). */
  *reverseEntries(): Generator<number> {
    for (const entry of this.#reverseSlots) if (entry !== 0) yield entry;
  }
}

function targetFor(heap: Uint8Array, targets: number, asker: number): number {
  let forAnyone = 0;
  let position = countEnd(heap, targets);
  for (let left = readCount(heap, targets); left > 0; left--, position += REVERSE_TARGET_BYTES) {
    const who = read16(heap, position);
    if (who === asker) return position;
    if (who === ANY_ASKER) forAnyone = position;
  }
  return forAnyone;
}

function loadZone({ name, tree, byView }: ZoneTable): ImageZone {
  const treeByView = byView.length > 0 ? new Map(byView) : undefined;
  return { name, ...parseZoneName(name), tree, treeByView };
}

function readTables(bytes: Uint8Array, at: number, length: number): ImageTables {
  let text = "";
  for (let index = at; index < at + length; index++) text += String.fromCharCode(bytes[index]!);
  return JSON.parse(text) as ImageTables;
}
