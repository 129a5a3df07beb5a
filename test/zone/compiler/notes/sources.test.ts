import { expect, test } from "vitest";
import { ReverseReader, writeReverse } from "../../../../src/zone/compiler/notes/reverse-note.ts";
import type { Branch } from "../../../../src/zone/generation/directory.ts";
import { AddressLeaf } from "../../../../src/zone/reverse/address-trie.ts";
import { HeldSources } from "../../../../src/zone/reverse/held-sources.ts";
import type { CandidateSource } from "../../../../src/zone/reverse/reverse-candidate.ts";
import type { ReverseSegment } from "../../../../src/zone/segment/reverse-segment.ts";

const branch = { hash: "a segment" } as Branch<ReverseSegment>;

function sourceOf(cluster: string, since: number, name = "web", namespace = "shop"): CandidateSource {
  return {
    ...{ namespace, name, tree: "clusterset", view: undefined, rank: 0, since, ttl: 30 },
    ...{ clusters: [cluster], above: [name, namespace, "svc"], claimants: [cluster] },
  };
}

/** What a reader reads of the note of a leaf whose addresses ascend, one for each source. */
function reread(reader: ReverseReader, sources: readonly CandidateSource[]): CandidateSource[] {
  const leaf = new AddressLeaf();
  for (const [index, source] of sources.entries()) leaf.v4.insert(index, index, source);
  const read = reader.read(writeReverse(leaf, branch), (hash) => ({ ...branch, hash }));
  expect(read.branches).toEqual([branch]);
  expect([read.v4.size, read.v6.size]).toEqual([sources.length, 0]);
  return read.v4.values as CandidateSource[];
}

const fieldsOf = ({
  namespace,
  name,
  tree,
  view,
  rank,
  since,
  ttl,
  clusters,
  above,
  claimants,
}: CandidateSource) => ({
  ...{ namespace, name, tree, view, rank, since, ttl, clusters, above, claimants },
});

test("equal sources of one service are one object, whichever leaves they are in, and others are not", () => {
  const own = [
    sourceOf("east", 1000),
    sourceOf("west", 1000),
    sourceOf("east", 2000),
    sourceOf("east", 1000, "db"),
    sourceOf("east", 1000, "web", "bar"),
  ];
  const reader = new ReverseReader(new HeldSources());
  const first = reread(reader, own);
  // The kinds of this leaf have other numbers in its note.
  const second = reread(reader, [...own].reverse());
  expect(new Set([...first, ...second]).size).toBe(own.length);
  expect(first.map(fieldsOf)).toEqual(own.map(fieldsOf));
  expect(second.map(fieldsOf)).toEqual([...own].reverse().map(fieldsOf));
});
