import { describe, expect, it } from "vitest";
import { drain } from "../../../src/snapshot/drain.ts";
import { Pace } from "../../../src/zone/pace.ts";
import { bytesOfId } from "../../../src/zone/reverse/address-id.ts";
import { AddressLeaf } from "../../../src/zone/reverse/address-trie.ts";
import { PostponedReplacements } from "../../../src/zone/reverse/postponed-replacements.ts";
import { ReverseBuilder, type ReverseTarget } from "../../../src/zone/reverse/reverse-builder.ts";
import type { CandidateSource } from "../../../src/zone/reverse/reverse-candidate.ts";
import { AddressList, WantedAddresses } from "../../../src/zone/reverse/wanted-addresses.ts";
import { HEAP_START, SegmentHeader } from "../../../src/zone/segment/layout.ts";
import { ReverseSegment } from "../../../src/zone/segment/reverse-segment.ts";

const ascii = (text: string) => Array.from(text, (character) => character.charCodeAt(0));
const V4 = Uint8Array.of(10, 0, 0, 1);
const V6 = Uint8Array.of(0xfd, ...new Array(14).fill(0), 1);
const SERVICE = [3, ...ascii("web"), 4, ...ascii("shop"), 3, ...ascii("svc")];
const target = (changed: Partial<ReverseTarget> = {}): ReverseTarget => ({
  ...{ view: undefined, ttl: 5, clusters: [], tree: "clusterset", label: "web", above: ["shop", "svc"] },
  ...changed,
});
const endpoint = (clusters: string[], above: string[], label?: string) =>
  target({ clusters, above: [...above, "web", "shop", "svc"], label });

function build(fill: (builder: ReverseBuilder) => void) {
  const builder = new ReverseBuilder(["clusterset", "local:east"]);
  fill(builder);
  const { bytes, tables } = drain(builder.finish(new Pace()));
  const heapEnd = new Uint32Array(bytes.buffer)[SegmentHeader.heapEnd]!;
  return { bytes, tables, heapEnd, heap: [...bytes.subarray(HEAP_START, heapEnd)] };
}

describe("a reverse segment that is built", () => {
  it("has entries, terms and tables in the bytes of the format", () => {
    const { heap, bytes, heapEnd, tables } = build((builder) => {
      builder.write(V4, [
        target(),
        target({ view: "east", ttl: 0x01020304, tree: "local:east", clusters: ["east"] }),
      ]);
      builder.write(V6, [target({ clusters: ["west", "east"] })]);
    });
    expect(heap).toEqual([
      ...[4, 10, 0, 0, 1, 2],
      ...[0, 0, 0, 0, 0, 13, 3, ...ascii("web"), 4, ...ascii("shop"), 3, ...ascii("svc")],
      ...[0, 1, 0, 1, 0, 13, 3, ...ascii("web"), 4, ...ascii("shop"), 3, ...ascii("svc")],
      ...[16, ...V6, 1],
      ...[0, 0, 0, 2, 0, 13, 3, ...ascii("web"), 4, ...ascii("shop"), 3, ...ascii("svc")],
    ]);
    expect([...bytes.subarray(heapEnd, heapEnd + 16)]).toEqual([
      0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 1, 2, 3, 4, 0, 1,
    ]);
    expect(tables).toEqual({
      ...{ trees: ["clusterset", "local:east"], views: ["east"] },
      leaseGroups: [[], ["east"], ["east", "west"]],
    });
    const words = new Uint32Array(bytes.buffer);
    expect([words[SegmentHeader.names], words[SegmentHeader.terms], words[SegmentHeader.seed]]).toEqual([
      2, 2, 1,
    ]);
  });

  it.each([
    ["the address", endpoint(["east"], ["other"]), 1, [5, ...ascii("other")]],
    ["an address as its own label", endpoint([], ["other"], "10-0-0-1"), 1, [5, ...ascii("other")]],
    ["the cluster", endpoint(["east"], ["east"], "a"), 2, [1, 97]],
    ["a cluster of two labels", endpoint(["eu.east"], ["eu", "east"], "a"), 2, [1, 97]],
    ["both", endpoint(["east"], ["east"]), 3, []],
    ["no cluster of several", endpoint(["east", "west"], ["east"], "a"), 0, [1, 97, 4, ...ascii("east")]],
    ["no other cluster", endpoint(["west"], ["east"], "a"), 0, [1, 97, 4, ...ascii("east")]],
  ])("leaves out of a target %s", (_, given, form, labels) => {
    const { heap, bytes } = build((builder) => builder.write(V4, [given]));
    const all = [...labels, ...SERVICE];
    expect(heap.slice(10)).toEqual([form, all.length, ...all]);
    const segment = ReverseSegment.load(bytes, "");
    const name = segment.nameOf(segment.firstTarget(HEAP_START), V4);
    const first = given.label ?? "10-0-0-1";
    expect([...name]).toEqual([first, ...given.above].flatMap((label) => [label.length, ...ascii(label)]));
  });

  it("equals one whose entries are copied from segments with other tables", () => {
    const entries: readonly (readonly [Uint8Array, readonly ReverseTarget[]])[] = [
      [
        V4,
        [target({ view: "west", clusters: ["west"] }), target({ view: "east", ttl: 7, clusters: ["east"] })],
      ],
      [V6, [endpoint(["east"], ["east"]), target({ view: "west", clusters: ["west"], tree: "local:east" })]],
    ];
    const whole = build((builder) => {
      for (const [address, targets] of entries) builder.write(address, targets);
    });
    const apart = entries.map(([address, targets]) => {
      const extra = target({ view: "north", ttl: 99, clusters: ["north"] });
      const { bytes } = build((builder) => {
        builder.write(Uint8Array.of(9, 9, 9, 9), [extra]);
        builder.write(address, targets);
      });
      return ReverseSegment.load(bytes, "");
    });
    const copied = build((builder) => {
      for (const [index, segment] of apart.entries()) {
        const [address] = entries[index]!;
        builder.copy(segment, segment.entryOf(address, address.length));
      }
    });
    expect(copied).toEqual(whole);
    const again = ReverseSegment.load(whole.bytes, "");
    const twice = build((builder) => {
      for (const [address] of entries) builder.copy(again, again.entryOf(address, address.length));
    });
    expect(twice.bytes).toEqual(whole.bytes);
  });
});

describe("the addresses that a service wants", () => {
  const source = (name: string): CandidateSource => ({
    ...{ namespace: "shop", name, tree: "clusterset", view: undefined, rank: 2, since: 5, ttl: 9 },
    ...{ clusters: ["east"], above: ["shop", "svc"], claimants: ["east"] },
  });

  it("have each candidate once", () => {
    const wanted = new WantedAddresses();
    const [web, db] = [source("web"), source("db")];
    for (const label of ["a", "b", "a"]) wanted.add(V4, { source: web, label });
    wanted.add(V4, { source: db, label: "a" });
    wanted.add(V6, { source: web, label: "a" });
    expect(
      Array.from(wanted, ([id, candidates]) => [
        [...bytesOfId(id)],
        candidates.map((own) => `${own.label} of ${own.source.name}`),
      ]),
    ).toEqual([
      [[...V4], ["a of web", "b of web", "a of db"]],
      [[...V6], ["a of web"]],
    ]);
    const ids = Array.from(wanted, ([id]) => id);
    expect([...wanted.list]).toEqual(ids);
    expect([ids.every((id) => wanted.has(id)), wanted.has(7)]).toEqual([true, false]);
    expect(WantedAddresses.none.list).toBe(AddressList.none);
  });

  it("are replaced leaf by leaf, each in its order", () => {
    const postponed = new PostponedReplacements();
    const [one, other] = [new AddressLeaf(), new AddressLeaf()];
    const replacement = (id: number) => ({ service: "shop/web", id, candidates: [] });
    for (const [leaf, id] of [
      [one, 1],
      [other, 2],
      [one, 3],
    ] as const)
      postponed.add(leaf, replacement(id));
    expect(postponed.size).toBe(3);
    expect(Array.from(postponed.take(), (own) => own.map(({ id }) => id))).toEqual([[1, 3], [2]]);
    expect([postponed.size, [...postponed.take()]]).toEqual([0, []]);
  });
});
