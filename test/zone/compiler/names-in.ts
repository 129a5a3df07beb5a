import { runLabels } from "../../../src/zone/segment/blocks/label-run.ts";
import { NodeFlag } from "../../../src/zone/segment/layout.ts";
import type { Segment } from "../../../src/zone/segment/segment.ts";

/** All names of a segment, sorted: `<tree> <name> <flags>`, with `records` for names that have records in any view. */
export function namesIn(segment: Segment): string[] {
  const labelsOf = (node: number): string[] =>
    node < 0 ? [] : [...runLabels(segment.bytes, segment.runOf(node)), ...labelsOf(segment.parentOf(node))];
  return [...segment.nodes()]
    .map((node) => {
      const flags = Object.entries(NodeFlag).flatMap(([name, flag]) =>
        segment.hasFlag(node, flag) ? name : [],
      );
      const records = segment.setListOf(node, -1) > 0 ? ["records"] : [];
      const tree = segment.trees[segment.treeAbove(node)]!;
      return [tree, labelsOf(node).join(".") || "@", ...flags, ...records].join(" ");
    })
    .sort();
}
