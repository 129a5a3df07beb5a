import type { RecordSets } from "../record-sets.ts";
import { ReverseClaims } from "../reverse/reverse-claims.ts";
import { ReverseTable } from "../reverse/reverse-table.ts";
import { fillContentHash } from "./content-hash.ts";
import { HeapWriter } from "./heap-writer.ts";
import { HEADER_WORDS, Header, IMAGE_FORMAT_VERSION, IMAGE_MAGIC, type ImageTables } from "./layout.ts";
import { NodeTable } from "./node-table.ts";

const NO_VARIANTS: ReadonlyMap<number, RecordSets> = new Map();

/** An image is full: one more entry would exceed a limit of the format. */
export class CapacityError extends Error {
  readonly code = "IMAGE_CAPACITY";
}

/** Collects names, RRsets and reverse targets, then packs them into the bytes of a ZoneImage. */
export class ImageBuilder {
  readonly heap = new HeapWriter();
  readonly nodes: NodeTable;
  readonly reverse = new ReverseTable();
  /** Which clusters claim its addresses. */
  readonly claims = new ReverseClaims(this.reverse);
  readonly #namespaces = new Map<string, number>();
  readonly #leaseGroups = new Map<string, number>([["", 0]]);
  readonly #leaseMembers: (readonly string[])[] = [[]];
  readonly #ttls: number[] = [];
  readonly #trees: number;

  /** @param trees the number of trees of names in the image; the apex of tree n is node n. */
  constructor(trees: number) {
    this.#trees = trees;
    this.nodes = new NodeTable(this.heap, trees);
  }

  /** The index + 1 of a namespace, for nodes that exist only if the namespace exists. */
  namespace(name: string): number {
    return this.#intern(this.#namespaces, name, name, "namespaces", 0xffff) + 1;
  }

  /** The index of a TTL in seconds. */
  ttl(seconds: number): number {
    const known = this.#ttls.indexOf(seconds);
    return known >= 0 ? known : this.#ttls.push(seconds) - 1;
  }

  /** The index of the lease group of these clusters. */
  leaseGroup(clusterIds: readonly string[]): number {
    const members = clusterIds.length === 1 ? clusterIds : [...new Set(clusterIds)].sort();
    const before = this.#leaseGroups.size;
    const group = this.#intern(this.#leaseGroups, members.join(" "), members, "sets of clusters", 0xffff);
    if (group === before) this.#leaseMembers.push(members);
    return group;
  }

  #intern(into: Map<string, number>, key: string, what: unknown, kind: string, most: number): number {
    const known = into.get(key);
    if (known !== undefined) return known;
    if (into.size >= most)
      throw new CapacityError(`an image holds at most ${most} ${kind}; ${String(what)} is one more`);
    into.set(key, into.size);
    return into.size - 1;
  }

  /** Writes the record block of a node: the sets of all views, and the sets that replace them in single views. */
  setRecords(node: number, sets: RecordSets, variants: ReadonlyMap<number, RecordSets> = NO_VARIANTS): void {
    this.nodes.setRecords(node, this.heap.length);
    sets.write(this.heap);
    this.heap.writeCount(variants.size);
    if (variants.size === 0) return;
    for (const [view, own] of [...variants].sort(([one], [other]) => one - other)) {
      this.heap.write16(view);
      own.write(this.heap);
    }
  }

  /** Packs everything. `lacks` says for each view which namespaces its cluster lacks. */
  finish(
    options: Pick<ImageTables, "zones" | "nameServers" | "podNames" | "views" | "negativeTtl"> & {
      readonly serial: number;
      readonly lacks: (view: string, namespace: string) => boolean;
    },
  ): Uint8Array<ArrayBuffer> {
    const reverseSlots = this.reverse.write(this.heap);
    const lackingBytes = (this.#namespaces.size + 7) >> 3;
    const lacking = new Uint8Array(lackingBytes * options.views.length);
    for (const [view, clusterId] of options.views.entries())
      for (const [namespace, bit] of this.#namespaces)
        if (options.lacks(clusterId, namespace)) lacking[view * lackingBytes + (bit >> 3)]! |= 1 << (bit & 7);
    const tables: ImageTables = {
      zones: options.zones,
      nameServers: options.nameServers,
      podNames: options.podNames,
      views: options.views,
      leaseGroups: this.#leaseMembers,
      ttls: this.#ttls,
      negativeTtl: options.negativeTtl,
    };
    const tableWriter = new HeapWriter();
    tableWriter.writeAscii(JSON.stringify(tables));
    const tableBytes = tableWriter.bytes.subarray(1);
    const { slots, parent, label, records, namespace } = this.nodes.sections();
    const heap = this.heap.bytes;
    const sections: [field: number | undefined, bytes: Uint8Array][] = [
      [Header.slotsAt, octetsOf(slots)],
      [Header.nodesAt, octetsOf(parent)],
      [undefined, octetsOf(label)],
      [undefined, octetsOf(records)],
      [Header.reverseSlotsAt, octetsOf(reverseSlots)],
      [Header.nodeNamespaceAt, octetsOf(namespace)],
      [Header.lackingAt, lacking],
      [Header.tablesAt, tableBytes],
      [Header.heapAt, heap],
    ];
    const total = sections.reduce((sum, [, bytes]) => sum + align(bytes.length), HEADER_WORDS * 4);
    const image = new Uint8Array(total);
    const header = new Uint32Array(image.buffer, 0, HEADER_WORDS);
    let at = HEADER_WORDS * 4;
    for (const [field, bytes] of sections) {
      if (field !== undefined) header[field] = at;
      image.set(bytes, at);
      at += align(bytes.length);
    }
    header[Header.magic] = IMAGE_MAGIC;
    header[Header.version] = IMAGE_FORMAT_VERSION;
    header[Header.totalBytes] = total;
    header[Header.serial] = options.serial;
    header[Header.nodes] = this.nodes.count;
    header[Header.slots] = slots.length;
    header[Header.reverseSlots] = reverseSlots.length;
    header[Header.namespaces] = this.#namespaces.size;
    header[Header.trees] = this.#trees;
    header[Header.tablesBytes] = tableBytes.length;
    fillContentHash(image);
    return image;
  }
}

function align(length: number): number {
  return (length + 3) & ~3;
}

function octetsOf(array: Uint32Array | Uint16Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
