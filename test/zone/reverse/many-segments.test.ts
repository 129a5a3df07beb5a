import { describe, expect, it } from "vitest";
import { drain } from "../../../src/snapshot/drain.ts";
import { holdInBranch } from "../../../src/zone/compiler/held-block.ts";
import type { Branch } from "../../../src/zone/generation/directory.ts";
import { Pace, UNITS_IN_STEP } from "../../../src/zone/pace.ts";
import { addressId } from "../../../src/zone/reverse/address-id.ts";
import { AddressLeaf, AddressTrie } from "../../../src/zone/reverse/address-trie.ts";
import { compileLeaf } from "../../../src/zone/reverse/compile-leaf.ts";
import type { ReverseCandidate } from "../../../src/zone/reverse/reverse-candidate.ts";
import type { ReverseSegment } from "../../../src/zone/segment/reverse-segment.ts";

const SEGMENTS = 100;
const ADDRESSES = 2000;

const names = { namespace: "shop", name: "web", above: ["web", "shop", "svc"], tree: "clusterset", ttl: 5 };
const cluster = { clusters: ["east"], claimants: ["east"], since: 0, view: undefined, rank: 2 as const };
const candidate: ReverseCandidate = { source: { ...names, ...cluster }, label: undefined };

function leafWith(addresses: number): AddressLeaf {
  const leaf = new AddressLeaf();
  for (let index = 0; index < addresses; index++)
    leaf.v4.insert(index, addressId(Uint8Array.of(10, 0, index >> 8, index)), candidate);
  return leaf;
}

class JoinedTrie extends AddressTrie<undefined> {
  joinLeaf(into: AddressLeaf, from: AddressLeaf): void {
    this.join(into, from);
  }
}

describe("a leaf that many leaves became", () => {
  it("has no segment of a leaf without addresses", () => {
    const trie = new JoinedTrie(16);
    const [into, empty, full] = [new AddressLeaf(), leafWith(0), leafWith(1)];
    const branchOf = () => ({ segment: undefined }) as unknown as Branch<ReverseSegment>;
    empty.branches = [branchOf()];
    full.branches = [branchOf()];
    trie.joinLeaf(into, empty);
    trie.joinLeaf(into, full);
    expect(into.branches).toHaveLength(1);
    expect(into.branches[0]).toBe(full.branches[0]);
  });

  it("is compiled in steps of few looks into segments", () => {
    const leaf = leafWith(ADDRESSES);
    const own = drain(compileLeaf(leaf, new Pace(), holdInBranch));
    let [most, looks] = [0, 0];
    const entryOf = () => {
      most = Math.max(most, ++looks);
      return 0;
    };
    const segment = { bytes: new Uint8Array(0), entryOf } as unknown as ReverseSegment;
    leaf.branches = [...Array.from({ length: SEGMENTS }, () => ({ ...own, segment })), own];
    for (const _ of compileLeaf(leaf, new Pace(), holdInBranch)) looks = 0;
    expect(most).toBeGreaterThan(SEGMENTS);
    expect(most).toBeLessThanOrEqual(UNITS_IN_STEP + SEGMENTS);
    expect([...leaf.branches[0]!.segment!.addresses()]).toHaveLength(ADDRESSES);
  });
});
