import { describe, expect, it } from "vitest";
import { HEAP_START } from "../../../src/zone/segment/layout.ts";
import { Segment } from "../../../src/zone/segment/segment.ts";
import {
  type Accepted,
  type Around,
  type Heap,
  handWritten,
  itIsLoadedWith,
  itIsRejectedWith,
  labelsOfBytes,
  type Rejected,
} from "./hand-written.ts";

const load = (heap: Heap, around?: Around) => Segment.load(handWritten("segment", heap, around), "");

/** `web` below the apex of tree 0, and the form of a name with records. */
const WEB = [3, 119, 101, 98];
const top = (form = 0, labels: Heap = WEB, tree = 0) => [form, 0, tree, labels.length, ...labels];
const child = (distance: number, labels: Heap, form = 0) => [form | 1, distance, labels.length, ...labels];
const RECORDS = 4;
const VARIANTS = 8;
const A = [1, 0, 0, 1, 10, 0, 0, 1];
/** A name with these sets. */
const withSets = (...sets: readonly Heap[]) => [...top(RECORDS), sets.length, ...sets.flat()];
const cname = (...rdata: Heap) => withSets([5, 0, 0, 1, rdata.length >> 8, rdata.length & 255, ...rdata]);
/** An SRV record whose target is its own name, in the first set of a name of `web`. */
const service = (target: number) => [0, 80, 0xff, 0xff, 0xff, target];
const FIRST_RECORD = 13;
const two = { names: 2 };

const accepted: readonly Accepted[] = [
  ["no names", [], { names: 0, slots: [0] }],
  ["an apex, whose run is empty", top(0, [])],
  ["a name in the last of its trees", top(0, WEB, 1), { tables: { trees: ["clusterset", "local:a"] } }],
  [
    "a slot for the second of two names",
    [...top(), ...top(0, [1, 97])],
    { ...two, slots: [0, HEAP_START + 8] },
  ],
  ["a name of a label of 63 bytes", top(0, labelsOfBytes(64))],
  ["a name of 254 bytes", top(0, labelsOfBytes(254))],
  [
    "a name of 254 bytes with its parent",
    [...top(0, labelsOfBytes(192)), ...child(196, labelsOfBytes(62))],
    two,
  ],
  ["every form of a parent", parents(), { names: 4 }],
  ["all flags", top(0x30)],
  ["a set of addresses", withSets(A)],
  ["no sets", withSets()],
  ["an empty set", withSets([0, 0, 0, 0])],
  ["a long count", withSets([1, 0, 0, 255, 0, 1, 10, 0, 0, 1])],
  [
    "the last of its terms",
    withSets([1, 0, 1, 0]),
    {
      terms: [
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 5, 0, 0],
      ],
    },
  ],
  [
    "the last of its lease groups",
    withSets(),
    { terms: [[0, 0, 0, 5, 0, 1]], tables: { leaseGroups: [[], ["a"]] } },
  ],
  ["variants for its views", variants(0, 1), { tables: { views: ["a", "b"] } }],
  ["a CNAME record for the root", cname(0)],
  ["a CNAME record for a name of 255 bytes", cname(...labelsOfBytes(254), 0)],
  ["other RDATA that is no name", withSets([16, 0, 0, 1, 0, 2, 64, 64])],
  ["an SRV record for its own name", withSets([33, 0, 0, 1, ...service(256 - FIRST_RECORD)])],
];

const rejected: readonly Rejected[] = [
  ["fewer names", top(), "there are 1 names and not 2", two],
  ["a name of one byte", [0], "a name ends outside the heap"],
  ["an unknown form, bit 6", top(0x40), "a name has an unknown form"],
  ["an unknown form, bit 7", top(0x80), "a name has an unknown form"],
  ["an unknown tree", top(0, WEB, 1), "a name has an unknown tree"],
  [
    "a run that ends one byte after the heap",
    [0, 0, 0, 5, 3, 119, 101, 98],
    "a run of 5 bytes ends outside the heap",
  ],
  ["a label that ends one byte after its run", top(0, [4, 119, 101, 98]), "a label ends outside the heap"],
  ["an empty label", top(0, [1, 97, 0]), "a label has 0 bytes"],
  ["a label of 64 bytes", top(0, [64, ...labelsOfBytes(64)]), "a label has 64 bytes"],
  ["a child with an empty run", [...top(), ...child(8, [])], "a run of 0 bytes is empty", two],
  [
    "a child that is its own parent",
    [...top(), ...child(0, [1, 97])],
    "a parent is no name in front of its child",
    two,
  ],
  [
    "a parent inside of a name",
    [...top(), ...child(7, [1, 97])],
    "a parent is no name in front of its child",
    two,
  ],
  [
    "a parent in the header",
    [...top(), ...child(12, [1, 97])],
    "a parent is no name in front of its child",
    two,
  ],
  ["a name of 255 bytes", top(0, labelsOfBytes(255)), "a name is too long"],
  [
    "a name of 255 bytes with its parent",
    [...top(0, labelsOfBytes(192)), ...child(196, labelsOfBytes(63))],
    ...(["a name is too long", two] as const),
  ],
  [
    "a name of 256 bytes with all above it",
    [...top(0, labelsOfBytes(128)), ...child(132, labelsOfBytes(64)), ...child(67, labelsOfBytes(64))],
    ...(["a name is too long", { names: 3 }] as const),
  ],
  ["unknown terms", withSets([1, 0, 1, 0]), "a set has unknown terms"],
  ["unknown terms of its second set", withSets(A, [1, 1, 0, 0]), "a set has unknown terms"],
  [
    "terms with an unknown lease group",
    top(),
    "a set has an unknown lease group",
    { terms: [[0, 0, 0, 0, 0, 1]] },
  ],
  [
    "second terms with an unknown lease group",
    top(),
    ...([
      "a set has an unknown lease group",
      {
        terms: [
          [9, 9, 9, 9, 0, 0],
          [0, 0, 0, 0, 1, 0],
        ],
      },
    ] as const),
  ],
  [
    "a variant for an unknown view",
    variants(0, 1),
    "a record block has an unknown view",
    { tables: { views: ["a"] } },
  ],
  ["an empty CNAME record", cname(), "a CNAME record has no name"],
  ["a CNAME record without a root label", cname(1, 97), "a CNAME record has no name"],
  ["a CNAME record with bytes after its name", cname(1, 97, 0, 0), "a CNAME record has no name"],
  ["a CNAME record that ends in a label", cname(3, 97, 0), "a CNAME record has no name"],
  [
    "a CNAME record with a label of 64 bytes",
    cname(64, ...labelsOfBytes(64), 0),
    "a CNAME record has no name",
  ],
  ["a CNAME record for a name of 256 bytes", cname(...labelsOfBytes(255), 0), "a CNAME record has no name"],
  [
    "an SRV target inside of a name",
    withSets([33, 0, 0, 1, ...service(257 - FIRST_RECORD)]),
    "unknown target",
  ],
  [
    "a second SRV record without a target",
    withSets([33, 0, 0, 2, ...service(256 - FIRST_RECORD), ...service(256 - FIRST_RECORD)]),
    "an SRV record has an unknown target",
  ],
  ["a slot for a byte of a name", top(), "a slot refers to nothing", { slots: [0, HEAP_START + 1] }],
  ["a slot for the end of its heap", top(), "a slot refers to nothing", { slots: [0, HEAP_START + 8] }],
  ["no empty slot", top(), "no slot is empty", { slots: [HEAP_START, HEAP_START] }],
];

/** Names whose parents are 1, 2 and 4 bytes of distance in front of them. */
function parents(): number[] {
  return [...top(), ...child(8, [1, 97]), 2, 0, 13, 2, 1, 98, 3, 0, 0, 0, 19, 2, 1, 99];
}

/** A name with an address, and with another one in each of these views. */
function variants(...views: readonly number[]): number[] {
  const each = views.flatMap((view) => [0, view, 1, ...A]);
  return [...top(RECORDS | VARIANTS), 1, ...A, views.length, ...each];
}

describe("a segment whose bytes fit together", () => {
  itIsLoadedWith(accepted, (heap, around) => load(heap, around).nodes());
});

describe("a segment that a lookup could leave", () => {
  itIsRejectedWith(rejected, load);

  it.each([
    ["the parents of its names", parents(), 4, {}],
    ["variants", variants(0, 1), 1, { views: ["a", "b"] }],
    [
      "a long count of variants",
      [...top(RECORDS | VARIANTS), 0, 255, 0, 1, 0, 0, 1, ...A],
      1,
      { views: ["a"] },
    ],
    ["addresses", withSets(A, [28, 0, 0, 1, ...new Array(16).fill(7)]), 1, {}],
    ["long counts", withSets([1, 0, 0, 255, 0, 2, 10, 0, 0, 1, 10, 0, 0, 2]), 1, {}],
    ["RDATA", withSets([16, 0, 0, 2, 0, 2, 1, 97, 0, 3, 2, 97, 98]), 1, {}],
    ["a CNAME record", cname(1, 97, 0), 1, {}],
    ["SRV records", withSets([33, 0, 0, 1, ...service(256 - FIRST_RECORD)]), 1, {}],
  ])("is rejected wherever its heap ends in %s", (_, heap, names, tables) => {
    load(heap, { names, tables });
    for (let length = 1; length < heap.length; length++)
      expect(() => load(heap.slice(0, length), { names, tables }), `${length} bytes`).toThrow(
        /ends outside the heap|outside the heap|names and not/,
      );
  });
});
