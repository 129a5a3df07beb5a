import { expect, test } from "vitest";
import { readReverse, writeReverse } from "../../../../src/zone/compiler/notes/reverse-note.ts";
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

/** What is read of the note of a leaf whose addresses ascend, one for each source. */
function reread(sources: readonly CandidateSource[]): CandidateSource[] {
  const leaf = new AddressLeaf();
  for (const [index, source] of sources.entries()) leaf.v4.insert(index, index, source);
  const text = writeReverse({ weight: sources.length, count: sources.length }, leaf, branch);
  const read = readReverse(text, new HeldSources(), (hash) => ({ ...branch, hash }));
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

test("equal sources of a leaf are one object, and others are not", () => {
  const own = [
    sourceOf("east", 1000),
    sourceOf("west", 1000),
    sourceOf("east", 2000),
    sourceOf("east", 1000, "db"),
    sourceOf("east", 1000, "web", "bar"),
  ];
  const read = reread([...own, ...own]);
  expect(new Set(read).size).toBe(own.length);
  expect(read.map(fieldsOf)).toEqual([...own, ...own].map(fieldsOf));
});
