import { Trie, type TrieNode } from "../compiler/trie/trie.ts";
import type { Branch } from "../generation/directory.ts";
import type { ReverseSegment } from "../segment/reverse-segment.ts";
import { type AddressId, bytesOfId, hashOfId } from "./address-id.ts";
import { AddressRecord } from "./address-record.ts";
import { AddressTable } from "./address-table.ts";
import type { CandidateSource, ReverseCandidate } from "./reverse-candidate.ts";

/**
 * What is held of an address:
 *
 * - a source: one service wants the address, and its target is in a segment of the leaf. So nearly every address takes 12 bytes;
 * - a candidate: one service wants the address since the last compilation, and nobody did before;
 * - a record: anything else.
 */
export type AddressValue = CandidateSource | ReverseCandidate | AddressRecord;

/** Whether a value is a candidate that was not compiled yet. */
export function isFresh(value: AddressValue): value is ReverseCandidate {
  return "source" in value;
}

/** The addresses of a leaf. */
export class AddressLeaf {
  readonly v4 = new AddressTable<AddressValue>(1);
  readonly v6 = new AddressTable<AddressValue>(4);
  /** The segments that have the targets of its sources: one, unless it was divided or joined since it was compiled. */
  branches: readonly Branch<ReverseSegment>[] = [];

  /** Whether it has addresses that wait for the next decision. */
  get isUndecided(): boolean {
    return [this.v4, this.v6].some(({ values }) =>
      values.some((value) => value instanceof AddressRecord && value.isUndecided),
    );
  }

  /** Gives up the room for more addresses. */
  trim(): void {
    this.v4.trim();
    this.v6.trim();
  }

  tableFor(id: AddressId): AddressTable<AddressValue> {
    return typeof id === "number" ? this.v4 : this.v6;
  }

  get(id: AddressId): AddressValue | undefined {
    const table = this.tableFor(id);
    return table.values[table.find(id)];
  }

  /** All addresses, in the order of their bytes: an IPv4 address before the IPv6 addresses that start with it. */
  *inOrder(): Generator<{ readonly table: AddressTable<AddressValue>; readonly index: number }> {
    const { v4, v6 } = this;
    let six = 0;
    for (let four = 0; four < v4.size; four++) {
      for (; six < v6.size && v6.firstWordAt(six) < v4.firstWordAt(four); six++)
        yield { table: v6, index: six };
      yield { table: v4, index: four };
    }
    for (; six < v6.size; six++) yield { table: v6, index: six };
  }

  /**
   * The segment that has an address, and the offset of its entry.
   * @throws {Error} if a segment cannot be read any more. Then the compilation fails, and the next one compiles everything
   */
  entryOf(bytes: Uint8Array): { readonly segment: ReverseSegment; readonly entry: number } {
    for (const { segment } of this.branches) {
      const entry = segment?.entryOf(bytes, bytes.length) ?? 0;
      if (segment !== undefined && entry !== 0) return { segment, entry };
    }
    throw new Error("no segment of the leaf has the address");
  }
}

/** Addresses in leaves that are reverse segments. It does not weigh what it is given: see `weigh`. */
export class AddressTrie<Result> extends Trie<AddressLeaf, Result> {
  protected override createItems(): AddressLeaf {
    return new AddressLeaf();
  }

  protected override divide(items: AddressLeaf, node: TrieNode<AddressLeaf, Result>): void {
    for (const { items: own } of node.children!) own!.branches = items.branches;
    for (const { table, index } of items.inOrder()) {
      const id = table.idAt(index);
      const value = table.values[index]!;
      const child = node.childFor(hashOfId(id));
      const weight = weightOf(value);
      const own = child.items!.tableFor(id);
      own.insert(own.size, id, value);
      child.weight += weight;
      if (weight > 0) child.count++;
    }
  }

  protected override join(into: AddressLeaf, from: AddressLeaf): void {
    // The segments of a leaf without addresses have nothing to copy: where a cluster leaves, hundreds of leaves become one.
    if (from.v4.size + from.v6.size > 0) into.branches = [...new Set([...into.branches, ...from.branches])];
    for (const { table, index } of from.inOrder()) put(into, table.idAt(index), table.values[index]!);
  }

  /** Takes over that what is held of an address changed, be it that its segment stays. */
  note(id: AddressId): void {
    this.noteLeaf(hashOfId(id));
  }

  /** The leaf in which an address is, or would be. */
  nodeOf(id: AddressId): TrieNode<AddressLeaf, Result> {
    return this.leafFor(hashOfId(id));
  }

  leafOf(id: AddressId): AddressLeaf {
    return this.itemsOf(this.nodeOf(id));
  }

  get(id: AddressId): AddressValue | undefined {
    return this.leafOf(id).get(id);
  }

  /** Adds an address, or replaces its value. */
  put(id: AddressId, value: AddressValue): void {
    put(this.leafOf(id), id, value);
  }

  remove(id: AddressId): void {
    const table = this.leafOf(id).tableFor(id);
    const index = table.find(id);
    if (index >= 0) table.remove(index);
  }

  /** Takes over that the targets of an address changed. @param before how many it had @param now how many it has */
  weigh(id: AddressId, before: number, now: number): void {
    const count = (Math.sign(now) - Math.sign(before)) as -1 | 0 | 1;
    this.settle(this.pass(hashOfId(id), now - before, count));
  }

  /** What one service wanted with an address before, and still does where nothing else is held. */
  candidateOf(id: AddressId, source: CandidateSource): ReverseCandidate {
    const { segment, entry } = this.leafOf(id).entryOf(bytesOfId(id));
    return { source, label: segment.labelOf(segment.firstTarget(entry)) };
  }
}

function put(leaf: AddressLeaf, id: AddressId, value: AddressValue): void {
  const table = leaf.tableFor(id);
  const index = table.find(id);
  if (index >= 0) table.values[index] = value;
  else table.insert(-1 - index, id, value);
}

function weightOf(value: AddressValue): number {
  return value instanceof AddressRecord ? value.winners.length : 1;
}
