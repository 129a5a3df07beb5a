import { hashBlob } from "../segment/hash.ts";
import { ReverseBuilder, type ReverseTarget } from "../segment/reverse-builder.ts";
import { ReverseSegment } from "../segment/reverse-segment.ts";
import type { TreeKey } from "../segment/tree-key.ts";
import { octetsOfId } from "./address-id.ts";
import { AddressRecord } from "./address-record.ts";
import { type AddressLeaf, isFresh } from "./address-trie.ts";
import type { ReverseCandidate } from "./reverse-candidate.ts";

/**
 * Compiles the reverse segment of a leaf: entries that did not change are copied from its segments before. Equal addresses with equal winners give
 * equal bytes. From then on the segment has what is known of ordinary addresses.
 */
export function compileLeaf(leaf: AddressLeaf): ReverseSegment {
  const builder = new ReverseBuilder(treesOf(leaf));
  leaf.forEach((table, index) => {
    const value = table.values[index]!;
    const octets = octetsOfId(table.idAt(index));
    if (value instanceof AddressRecord) {
      if (value.winners.length > 0) builder.write(octets, value.winners.map(targetOf));
      if (value.isOrdinary) table.values[index] = value.winners[0]!.source;
    } else if (isFresh(value)) {
      builder.write(octets, [targetOf(value)]);
      table.values[index] = value.source;
    } else {
      const { segment, entry } = leaf.entryOf(octets);
      builder.copy(segment, entry);
    }
  });
  const { bytes, tables } = builder.finish();
  const segment = ReverseSegment.compiled(bytes, hashBlob(bytes), tables);
  leaf.segments = [segment];
  leaf.v4.trim();
  leaf.v6.trim();
  return segment;
}

/** The trees of all targets, in an order of their own. */
function treesOf(leaf: AddressLeaf): TreeKey[] {
  const trees = new Set<TreeKey>();
  for (const { values } of [leaf.v4, leaf.v6])
    for (const value of values)
      if (value instanceof AddressRecord) for (const { source } of value.winners) trees.add(source.tree);
      else trees.add((isFresh(value) ? value.source : value).tree);
  return [...trees].sort();
}

function targetOf({ source, label }: ReverseCandidate): ReverseTarget {
  const { view, ttl, clusters, tree, above } = source;
  return { view, ttl, clusters, tree, label, above };
}
