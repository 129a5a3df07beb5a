import { RecordType } from "../dns/codes.ts";
import type { HeapWriter } from "./heap-writer.ts";
import { fixedDataBytes } from "./record-block.ts";

/** RDATA of one record before it is packed; equal keys are equal records (RFC 2181 section 5). */
type Rdata =
  | { readonly key: string; readonly octets: Uint8Array }
  | { readonly key: string; readonly port: number; readonly node: number };

interface RecordSet {
  /** Index of the TTL, with KEEP_ORDER where the order of records matters. */
  readonly ttl: number;
  readonly leaseGroup: number;
  readonly records: Map<string, Rdata>;
}

/** The most records that one RRset holds. */
export const MAX_SET_RECORDS = 0xffff;

/** The RRsets of one name while an image is built; duplicates collapse. */
export class RecordSets {
  readonly #sets = new Map<number, RecordSet>();

  get isEmpty(): boolean {
    return this.#sets.size === 0;
  }

  /** Adds an A or AAAA record, by the length of the address. */
  addAddress(octets: Uint8Array, ttl: number, leaseGroup: number): void {
    this.#add(octets.length === 4 ? RecordType.A : RecordType.AAAA, ttl, leaseGroup, {
      key: String.fromCharCode(...octets),
      octets,
    });
  }

  /** Adds an SRV record (RFC 2782) whose target is a name of the same zone. */
  addService(port: number, node: number, ttl: number, leaseGroup: number): void {
    this.#add(RecordType.SRV, ttl, leaseGroup, { key: `${port} ${node}`, port, node });
  }

  /** Adds a record of a type that carries plain RDATA. */
  addRdata(type: number, octets: Uint8Array, ttl: number, leaseGroup: number): void {
    this.#add(type, ttl, leaseGroup, { key: octets.join(" "), octets });
  }

  /** Adds an empty set: something that resolve/ knows to do at this name. */
  addMarker(type: number, ttl: number, leaseGroup: number): void {
    this.#sets.set(type, { ttl, leaseGroup, records: new Map() });
  }

  /** Adds everything that other sets hold. */
  addAll(other: RecordSets): void {
    for (const [type, { ttl, leaseGroup, records }] of other.#sets)
      for (const rdata of records.values()) this.#add(type, ttl, leaseGroup, rdata);
  }

  #add(type: number, ttl: number, leaseGroup: number, rdata: Rdata): void {
    let set = this.#sets.get(type);
    if (set === undefined) {
      set = { ttl, leaseGroup, records: new Map() };
      this.#sets.set(type, set);
    }
    if (set.records.size < MAX_SET_RECORDS && !set.records.has(rdata.key)) set.records.set(rdata.key, rdata);
  }

  /** Writes a set list: the count, then the sets. */
  write(heap: HeapWriter): void {
    heap.write8(this.#sets.size);
    for (const [type, { ttl, leaseGroup, records }] of this.#sets) {
      heap.write16(type);
      heap.write8(ttl);
      heap.write16(leaseGroup);
      heap.write16(records.size);
      const fixed = fixedDataBytes(type);
      for (const rdata of records.values()) {
        if ("port" in rdata) {
          heap.write16(rdata.port);
          heap.write32(rdata.node);
        } else {
          if (fixed === 0) heap.write16(rdata.octets.length);
          heap.writeOctets(rdata.octets);
        }
      }
    }
  }
}
