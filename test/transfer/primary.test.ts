import { describe, expect, it } from "vitest";
import { Primary, type TransferGateway } from "../../src/transfer/primary.ts";
import { type Branch, Page } from "../../src/zone/generation/directory.ts";
import type { Generation } from "../../src/zone/generation/generation.ts";
import { writeRoot } from "../../src/zone/generation/root.ts";
import { hashBlob } from "../../src/zone/segment/hash.ts";

type Bytes = Uint8Array<ArrayBuffer>;
type Segment = { readonly hash: string; readonly bytes: Bytes };

const MEBIBYTE = 1024 * 1024;
const encode = (text: string) => new TextEncoder().encode(text);
const blob = (bytes: Bytes): Segment => ({ hash: hashBlob(bytes), bytes });
const segmentOf = (text: string, bytes = 64) => {
  const content = new Uint8Array(bytes);
  content.set(encode(text));
  return blob(content);
};

/** A page with that many segments, a power of two of them. */
function pageOf(segments: readonly Segment[]): Page<Segment> {
  const bits = Math.log2(segments.length);
  return Page.of(segments.map((segment, slot) => ({ slot, bits, branch: branchTo(segment) })));
}

function branchTo(segment: Segment): Branch<Segment> {
  return { kind: "segment", hash: segment.hash, segment, page: undefined };
}

/** A generation of segments; one page is shared as compilers share it. */
function generationOf(names: Page<Segment>, frame = "frame"): Generation {
  const parts = { frame: blob(encode(frame)), stems: blob(encode("stems")) };
  const reverse = pageOf([segmentOf("reverse")]);
  const root = writeRoot({
    ...{ frame: parts.frame.hash, stems: parts.stems.hash },
    ...{ names: names.hash, reverse: reverse.hash },
  });
  return { rootHash: hashBlob(root), serial: 7, root, ...parts, names, reverse } as unknown as Generation;
}

/** A primary whose gateway serves one generation after the other, in a scope of its own where `scoped` says so. */
function openPrimary(keptBytes?: number) {
  const held = {
    now: 1_000_000,
    all: undefined as Generation | undefined,
    scoped: undefined as Generation | undefined,
  };
  const gatewayOf = (generation: () => Generation | undefined) =>
    ({
      status: () => ({
        ready: generation() !== undefined,
        rootHash: generation()?.rootHash,
        generationBytes: 0,
        services: 0,
        clusters: [],
        conflicts: [],
        findings: [],
      }),
      current: () => generation() && { generation: generation() },
    }) as unknown as TransferGateway;
  const gateway = { ...gatewayOf(() => held.all), scopes: new Map([["west", gatewayOf(() => held.scoped)]]) };
  const primary = new Primary(gateway, () => held.now, keptBytes);
  return { primary, held, everything: primary.of("")!, west: primary.of("west")! };
}

/** A primary that serves `names[0]`, `names[1]` and so on as the only segment. */
function openSerial(keptBytes?: number) {
  const opened = openPrimary(keptBytes);
  const serve = (text: string, bytes?: number) => {
    const segment = segmentOf(text, bytes);
    opened.held.all = generationOf(pageOf([segment]));
    return { root: opened.held.all.rootHash, segment: segment.hash, bytes: segment.bytes };
  };
  return { ...opened, serve };
}

describe("parts that states named", () => {
  it("are there under a storm of changes, each for as long as a secondary needs", () => {
    const { everything, held, serve } = openSerial();
    const served: ReturnType<typeof serve>[] = [];
    for (let change = 0; change < 500; change++) {
      served.push(serve(`segment-${change}`));
      everything.state();
      held.now += 10;
      const early = served[Math.max(0, change - 50)]!;
      expect(everything.segment(early.segment, "")).toBeDefined();
      expect(everything.root(early.root, "")).toBeDefined();
      expect(everything.segment(served[change]!.segment, "")?.bytes).toBe(served[change]!.bytes);
    }
    held.now += 10_000;
    for (const [index, isThere] of [
      [498, false],
      [499, true],
    ] as const) {
      expect(everything.segment(served[index]!.segment, "") !== undefined).toBe(isThere);
      expect(everything.root(served[index]!.root, "") !== undefined).toBe(isThere);
    }
  });

  it("that no secondary was answered with are not kept", () => {
    const { everything, serve } = openSerial();
    const one = serve("one");
    serve("other");
    expect(everything.segment(one.segment, "")).toBeUndefined();
    expect(everything.root(one.root, "")).toBeUndefined();
  });

  it("take no more room than they may", () => {
    const { everything, serve } = openSerial(16 * MEBIBYTE);
    const served = ["one", "two", "three", "four"].map((name) => {
      const one = serve(name, 7 * MEBIBYTE);
      everything.state();
      return one;
    });
    const isThere = served.map(({ segment }) => everything.segment(segment, "") !== undefined);
    expect(isThere).toEqual([false, true, true, true]);
  });

  it("one larger than that is served as long as it is in the newest generation", () => {
    const { everything, serve } = openSerial(MEBIBYTE);
    const large = serve("large", 2 * MEBIBYTE);
    everything.state();
    expect(everything.segment(large.segment, "")).toBeDefined();
    const next = serve("next", 2 * MEBIBYTE);
    everything.state();
    expect(everything.segment(large.segment, "")).toBeUndefined();
    expect(everything.segment(next.segment, "")).toBeDefined();
  });

  it("are there as often as the newest generation has them, however often that changes", () => {
    const { everything, held } = openPrimary();
    const twin = segmentOf("twin");
    for (const texts of [
      ["twin", "twin", "a", "b"],
      ["twin", "c", "a", "b"],
      ["c", "c", "twin", "b"],
      ["c", "d", "e", "f"],
      ["twin", "c", "d", "e"],
    ]) {
      held.all = generationOf(pageOf(texts.map((text) => segmentOf(text))));
      everything.state();
      held.now += 20_000;
      for (const text of ["twin", "a", "b", "c", "d", "e", "f"])
        expect(everything.segment(segmentOf(text).hash, "") !== undefined, `${text} of ${texts}`).toBe(
          texts.includes(text),
        );
    }
    expect(everything.segment(twin.hash, "")).toBeDefined();
  });
});

describe("scopes", () => {
  it("have their own parts, and what others have as well by the same hash", () => {
    const { everything, west, held } = openPrimary();
    const [shared, hidden, own] = ["shared", "hidden", "own"].map((text) => segmentOf(text)) as [
      Segment,
      Segment,
      Segment,
    ];
    held.all = generationOf(pageOf([shared, hidden]), "frame of all");
    held.scoped = generationOf(pageOf([shared, own]), "frame of west");
    const all = held.all;
    const state = () => [everything.state(), west.state()];
    state();
    expect(west.segment(shared.hash, "")?.bytes).toBe(shared.bytes);
    const ofAll = [all.rootHash, all.names.hash, all.frame.hash, hidden.hash];
    for (const hash of ofAll) {
      expect(west.segment(hash, "")).toBeUndefined();
      expect(west.root(hash, "")).toBeUndefined();
    }
    // Nor as what a change is of, which would say what is in it, nor once it is replaced.
    expect(west.root(held.scoped.rootHash, all.rootHash)?.since).toBe("");
    expect(west.segment(own.hash, hidden.hash)?.since).toBe("");
    held.all = generationOf(pageOf([shared, segmentOf("next")]), "frame of all");
    state();
    expect(everything.segment(hidden.hash, "")).toBeDefined();
    expect(west.segment(hidden.hash, "")).toBeUndefined();
  });

  it("that the gateway was not opened with do not exist", () => {
    const { primary } = openPrimary();
    for (const scope of ["east", "__proto__", "WEST"]) expect(primary.of(scope)).toBeUndefined();
  });
});

it("a primary that is not ready serves no parts", () => {
  const { everything } = openPrimary();
  expect(everything.state()).toMatchObject({ status: { ready: false } });
  expect(everything.state()).not.toHaveProperty("serial");
  expect(everything.root("0".repeat(32), "")).toBeUndefined();
});
