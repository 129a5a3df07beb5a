import { describe, expect, it } from "vitest";
import { drain } from "../../../src/snapshot/drain.ts";
import { Pace } from "../../../src/zone/pace.ts";
import { ReverseBuilder } from "../../../src/zone/reverse/reverse-builder.ts";
import { joinBlocks } from "../../../src/zone/segment/blocks/join-blocks.ts";
import { MOST_PROBES, SegmentHeader } from "../../../src/zone/segment/layout.ts";
import { apexHash, hashAddress, hashLabel, treeHash } from "../../../src/zone/segment/name-hash.ts";
import { ReverseSegment } from "../../../src/zone/segment/reverse-segment.ts";
import { Segment } from "../../../src/zone/segment/segment.ts";
import { SegmentBuilder } from "../../../src/zone/segment/segment-builder.ts";

const TREE = "clusterset";
/** More than a search looks at. */
const COLLIDING = MOST_PROBES + 60;
/** All these bits of the hashes are equal: the names have one slot, or two. */
const SLOT_BITS = 0xff800000;
const CHOSEN = 0x03800000;

const encode = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

/** Labels whose hashes with seed 0 take one slot, as somebody who knows the hash chooses them. */
function collidingLabels(): string[] {
  const labels: string[] = [];
  for (let index = 0; labels.length < COLLIDING; index++) {
    const label = `pod-${index}`;
    const hash = hashLabel(apexHash(treeHash(TREE), 0), encode(label), 0, label.length);
    if ((hash & SLOT_BITS) === CHOSEN) labels.push(label);
  }
  return labels;
}

function find(segment: Segment, label: string): number {
  const start = apexHash(treeHash(TREE), segment.seed);
  const name = Uint8Array.of(label.length, ...encode(label));
  return segment.findNode(0, name, 0, name.length, hashLabel(start, name, 1, label.length));
}

describe("names that were chosen so that their hashes collide", () => {
  const labels = collidingLabels();
  const build = () => {
    const builder = new SegmentBuilder([TREE]);
    for (const label of labels) builder.nodes.child(0, label);
    const pace = new Pace();
    return drain(joinBlocks([drain(builder.block(pace))], pace)).bytes;
  };
  const segment = Segment.load(build(), "");

  it("are hashed with another seed, and found", () => {
    expect(segment.seed).toBeGreaterThan(0);
    expect(labels.map((label) => find(segment, label))).toEqual([...segment.nodes()]);
    expect(find(segment, "absent")).toBe(-1);
  });

  it("give equal bytes each time", () => {
    expect(build()).toEqual(build());
  });

  it("are not all found in a segment that was forged with seed 0, where a search still ends", () => {
    const forged = build();
    new Uint32Array(forged.buffer)[SegmentHeader.seed] = 0;
    const loaded = Segment.load(forged, "");
    expect(labels.some((label) => find(loaded, label) === -1)).toBe(true);
  });
});

describe("addresses that were chosen so that their hashes collide", () => {
  /** IPv6 addresses whose hashes with the first seed of a segment take one slot. */
  const addresses: Uint8Array[] = [];
  for (let index = 0; addresses.length < COLLIDING; index++) {
    const address = Uint8Array.of(0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, index >> 16, index >> 8, index);
    if ((hashAddress(address, 16, 1) & SLOT_BITS) === CHOSEN) addresses.push(address);
  }
  const target = { view: undefined, ttl: 5, clusters: [], tree: TREE, label: "web", above: ["shop", "svc"] };
  const builder = new ReverseBuilder([TREE]);
  for (const address of addresses) builder.write(address, [target]);
  const { bytes } = drain(builder.finish(new Pace()));

  it("are hashed with another seed, and found", () => {
    const segment = ReverseSegment.load(bytes, "");
    expect(new Uint32Array(bytes.buffer)[SegmentHeader.seed]).toBeGreaterThan(1);
    for (const address of addresses) expect(segment.find(address, 16, undefined)).toBeGreaterThan(0);
  });
});
