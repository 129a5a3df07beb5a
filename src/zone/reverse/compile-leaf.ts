import type { HoldSegment } from "../compiler/held-block.ts";
import type { Branch } from "../generation/directory.ts";
import type { Pace } from "../pace.ts";
import { hashInSteps } from "../segment/hash.ts";
import { ReverseSegment } from "../segment/reverse-segment.ts";
import type { TreeKey } from "../segment/tree-key.ts";
import { writeId } from "./address-id.ts";
import { AddressRecord } from "./address-record.ts";
import { type AddressLeaf, type AddressValue, isFresh } from "./address-trie.ts";
import { ReverseBuilder, type ReverseTarget } from "./reverse-builder.ts";
import type { ReverseCandidate } from "./reverse-candidate.ts";

/** Bytes of new entries, in nearly every compilation. */
const ROOM_FOR_MORE = 4096;
/** What copying an entry costs, in units of a pace; looking for it in a segment costs one. */
const ENTRY_UNITS = 4;

/**
 * Compiles the reverse segment of a leaf, in steps: addresses may be chosen so that a leaf has any number of them. Entries that did not change are
 * copied from its segments before. Equal addresses with equal winners give equal bytes. From then on the segment has what is known of ordinary
 * addresses.
 */
export function* compileLeaf(
  leaf: AddressLeaf,
  pace: Pace,
  hold: HoldSegment,
): Generator<void, Branch<ReverseSegment>> {
  const trees = new Set<TreeKey>();
  for (const { values } of [leaf.v4, leaf.v6])
    for (const value of values) {
      if (pace.isOver(1)) yield;
      addTrees(trees, value);
    }
  // In an order of their own.
  const before = leaf.branches.reduce((sum, { segment }) => sum + (segment?.bytes.length ?? 0), 0);
  const builder = new ReverseBuilder([...trees].sort(), before + ROOM_FOR_MORE);
  // An array for each address would be most of what is allocated.
  const [four, sixteen] = [new Uint8Array(4), new Uint8Array(16)];
  for (const { table, index } of leaf.inOrder()) {
    if (pace.isOver(ENTRY_UNITS + leaf.branches.length)) yield;
    const value = table.values[index]!;
    const address = table === leaf.v4 ? four : sixteen;
    writeId(table.idAt(index), address);
    if (value instanceof AddressRecord) {
      if (value.winners.length > 0) builder.write(address, value.winners.map(targetOf));
      if (value.isOrdinary) table.values[index] = value.winners[0]!.source;
    } else if (isFresh(value)) {
      builder.write(address, [targetOf(value)]);
      table.values[index] = value.source;
    } else {
      const { segment, entry } = leaf.entryOf(address);
      builder.copy(segment, entry);
    }
  }
  const { bytes, tables } = yield* builder.finish(pace);
  const branch = hold(ReverseSegment.compiled(bytes, yield* hashInSteps(bytes), tables));
  leaf.branches = [branch];
  leaf.trim();
  return branch;
}

function addTrees(trees: Set<TreeKey>, value: AddressValue): void {
  if (value instanceof AddressRecord) for (const { source } of value.winners) trees.add(source.tree);
  else trees.add((isFresh(value) ? value.source : value).tree);
}

function targetOf({ source, label }: ReverseCandidate): ReverseTarget {
  const { view, ttl, clusters, tree, above } = source;
  return { view, ttl, clusters, tree, label, above };
}
