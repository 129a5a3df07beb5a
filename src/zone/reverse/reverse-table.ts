import { AddressIndex, grown } from "../image/address-index.ts";
import type { HeapWriter } from "../image/heap-writer.ts";
import { hashAddress, spread } from "../image/name-hash.ts";

const FIRST_ENTRIES = 1 << 10;
/** The most targets of one address. */
const MAX_TARGETS = 0xffff;
/** Words of one target: asker, TTL index, lease group, node, index + 1 of the next one, claim. */
const TARGET_WORDS = 6;
const NEXT = 4;
const CLAIM = 5;

/** A PTR target of an address, before it is packed. */
export interface ReverseTarget {
  readonly asker: number;
  readonly ttl: number;
  readonly leaseGroup: number;
  readonly node: number;
  /** The number of a claim (`ReverseClaims`). Targets of single views have none: they concern their own cluster alone. */
  readonly claim?: number | undefined;
  /** Without a claim: from when the cluster has it, in Unix milliseconds. Default: always. */
  readonly since?: number | undefined;
}

/** A target with a claim. */
export type Contender = ReverseTarget & { readonly claim: number };

/** An address on which several claims are made. */
export interface ContestedAddress {
  readonly entry: number;
  readonly octets: Uint8Array;
  readonly contenders: readonly Contender[];
}

/** The addresses with their PTR targets while an image is built. */
export class ReverseTable {
  readonly #addresses = new AddressIndex();
  /** By address: index + 1 of its first target, and how many there are. */
  #first = new Uint32Array(FIRST_ENTRIES);
  #targetCount = new Uint16Array(FIRST_ENTRIES);
  #targets = new Uint32Array(FIRST_ENTRIES * TARGET_WORDS);
  #since = new Float64Array(FIRST_ENTRIES);
  #targetsUsed = 0;
  /** By address: targets with other claims than the one in the table. */
  readonly #contested = new Map<number, Map<number, Contender>>();

  /**
   * Adds a target. An address has one for each asker (specification 2.3.3: one PTR per address): the oldest, then the first. Where several
   * claims are made on it, `decide` says later which one it is.
   */
  add(octets: Uint8Array, target: ReverseTarget): void {
    const since = target.since ?? Number.NEGATIVE_INFINITY;
    const entry = this.#addresses.entryOf(octets);
    if (entry === this.#first.length) {
      this.#first = grown(this.#first);
      this.#targetCount = grown(this.#targetCount);
    }
    let last = -1;
    for (let next = this.#first[entry]!; next !== 0; next = this.#targets[last + NEXT]!) {
      last = (next - 1) * TARGET_WORDS;
      if (this.#targets[last] !== target.asker) continue;
      const claim = this.#targets[last + CLAIM]!;
      if (claim !== 0) this.#contest(entry, claim, target as Contender);
      else if (since < this.#since[next - 1]!) this.#set(next - 1, target, since);
      return;
    }
    if (this.#targetCount[entry] === MAX_TARGETS) return;
    if (this.#targetsUsed * TARGET_WORDS === this.#targets.length) {
      this.#targets = grown(this.#targets);
      this.#since = grown(this.#since);
    }
    this.#set(this.#targetsUsed, target, since);
    this.#targetsUsed++;
    this.#targetCount[entry]!++;
    if (last < 0) this.#first[entry] = this.#targetsUsed;
    else this.#targets[last + NEXT] = this.#targetsUsed;
  }

  /** The claim on an address that is answered from; 0 for none. */
  claimOn(octets: Uint8Array): number {
    const entry = this.#addresses.find(octets);
    const index = entry < 0 ? -1 : this.#claimed(entry);
    return index < 0 ? 0 : this.#targets[index * TARGET_WORDS + CLAIM]!;
  }

  /** Every address on which several claims are made. */
  *contested(): Generator<ContestedAddress> {
    for (const [entry, others] of this.#contested) {
      const standing = this.#contenderAt(this.#claimed(entry));
      yield {
        entry,
        octets: this.#addresses.octetsOf(entry),
        contenders: [standing, ...others.values()],
      };
    }
  }

  /** Gives a contested address to one of its contenders, or to nobody. */
  decide({ entry }: ContestedAddress, winner: Contender | undefined): void {
    const index = this.#claimed(entry);
    if (winner !== undefined) this.#set(index, winner, Number.NEGATIVE_INFINITY);
    else this.#unlink(entry, index);
  }

  /** Lets go of what only deciding needs. */
  settled(): void {
    this.#contested.clear();
  }

  /** Writes the reverse entries to the heap; gives back the hash table of their offsets. */
  write(heap: HeapWriter): Uint32Array {
    let size = 4;
    while (size * 3 < this.#addresses.count * 4) size *= 2;
    const slots = new Uint32Array(size);
    for (let entry = 0; entry < this.#addresses.count; entry++) {
      if (this.#targetCount[entry] === 0) continue;
      const octets = this.#addresses.octetsOf(entry);
      let slot = spread(hashAddress(octets, 0, octets.length)) & (size - 1);
      while (slots[slot] !== 0) slot = (slot + 1) & (size - 1);
      slots[slot] = heap.length;
      heap.write8(octets.length);
      heap.writeOctets(octets);
      heap.writeCount(this.#targetCount[entry]!);
      this.#writeTargets(heap, this.#first[entry]!);
    }
    return slots;
  }

  #writeTargets(heap: HeapWriter, first: number): void {
    const targets = this.#targets;
    for (let next = first; next !== 0; ) {
      const at = (next - 1) * TARGET_WORDS;
      heap.write16(targets[at]!);
      heap.write8(targets[at + 1]!);
      heap.write16(targets[at + 2]!);
      heap.write32(targets[at + 3]!);
      next = targets[at + NEXT]!;
    }
  }

  #contest(entry: number, claim: number, target: Contender): void {
    if (claim === target.claim) return;
    const others = this.#contested.get(entry) ?? new Map<number, Contender>();
    this.#contested.set(entry, others);
    if (!others.has(target.claim)) others.set(target.claim, target);
  }

  /** The index of the target of an address that has a claim; -1 for none. */
  #claimed(entry: number): number {
    let next = this.#first[entry]!;
    while (next !== 0 && this.#targets[(next - 1) * TARGET_WORDS + CLAIM] === 0)
      next = this.#targets[(next - 1) * TARGET_WORDS + NEXT]!;
    return next - 1;
  }

  #contenderAt(index: number): Contender {
    const at = index * TARGET_WORDS;
    const [asker, ttl, leaseGroup, node] = this.#targets.subarray(at, at + NEXT) as unknown as TargetWords;
    return { asker, ttl, leaseGroup, node, claim: this.#targets[at + CLAIM]! };
  }

  #set(index: number, { asker, ttl, leaseGroup, node, claim = 0 }: ReverseTarget, since: number): void {
    const at = index * TARGET_WORDS;
    this.#targets[at] = asker;
    this.#targets[at + 1] = ttl;
    this.#targets[at + 2] = leaseGroup;
    this.#targets[at + 3] = node;
    this.#targets[at + CLAIM] = claim;
    this.#since[index] = since;
  }

  #unlink(entry: number, index: number): void {
    const after = this.#targets[index * TARGET_WORDS + NEXT]!;
    let before = this.#first[entry]! - 1;
    if (before === index) this.#first[entry] = after;
    else {
      while (this.#targets[before * TARGET_WORDS + NEXT] !== index + 1)
        before = this.#targets[before * TARGET_WORDS + NEXT]! - 1;
      this.#targets[before * TARGET_WORDS + NEXT] = after;
    }
    this.#targetCount[entry]!--;
  }
}

type TargetWords = [asker: number, ttl: number, leaseGroup: number, node: number];
