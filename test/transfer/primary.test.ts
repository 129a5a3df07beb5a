import { describe, expect, it } from "vitest";
import { changePart } from "../../src/transfer/parts/part-change.ts";
import { readRootDocument, readRootNews } from "../../src/transfer/parts/root-responses.ts";
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

describe("what a secondary has already", () => {
  it("is not sent again with a root: the change is one entry of the directory", () => {
    const { everything, held } = openPrimary();
    const segments = Array.from({ length: 256 }, (_, index) => segmentOf(`segment ${index}`));
    const before = generationOf(pageOf(segments));
    held.all = before;
    everything.state();
    const whole = everything.root(before.rootHash, "")!;
    held.all = generationOf(pageOf(segments.with(100, segmentOf("changed"))));
    everything.state();
    const change = everything.root(held.all.rootHash, before.rootHash)!;
    expect(change.since).toBe(before.rootHash);
    const news = readRootNews(change.bytes);
    expect(news.change.length).toBeLessThan(120);
    expect(news.segments).toEqual([segmentOf("changed").bytes]);
    const made = changePart(whole.bytes, news.change, MEBIBYTE);
    expect(made).toEqual(everything.root(held.all.rootHash, "")!.bytes);
    expect(hashBlob(readRootDocument(made).root)).toBe(held.all.rootHash);
  });

  it("is not sent again after several changes, nor are segments that were replaced meanwhile", () => {
    const { everything, held } = openPrimary();
    const serve = (texts: readonly string[]) => {
      held.all = generationOf(pageOf(texts.map((text) => segmentOf(text))));
      everything.state();
      return held.all.rootHash;
    };
    const first = serve(["a", "b", "c", "d"]);
    serve(["a", "b2", "c", "d"]);
    serve(["a", "b2", "c2", "d"]);
    const last = serve(["a", "b3", "c2", "d"]);
    const { segments } = readRootNews(everything.root(last, first)!.bytes);
    expect(segments.map((bytes) => hashBlob(bytes)).sort()).toEqual(
      ["b3", "c2"].map((text) => segmentOf(text).hash).sort(),
    );
  });

  it("is sent with at most 128 KiB of new segments", () => {
    const { everything, serve } = openSerial();
    const one = serve("one", 100 * 1024);
    everything.state();
    const other = serve("other", 129 * 1024);
    everything.state();
    expect(readRootNews(everything.root(other.root, one.root)!.bytes).segments).toEqual([]);
  });

  it("is sent with 128 KiB of new segments, and no byte more", () => {
    const { everything, held, serve } = openSerial();
    const one = serve("one", 100 * 1024);
    everything.state();
    const page = pageOf([segmentOf("other", 128 * 1024)]);
    held.all = generationOf(page);
    everything.state();
    const segmentsOf = (hash: string) => readRootNews(everything.root(hash, one.root)!.bytes).segments;
    expect(segmentsOf(held.all.rootHash).map(({ length }) => length)).toEqual([128 * 1024]);
    const last = serve("last", 128 * 1024 + 1);
    everything.state();
    expect(segmentsOf(last.root)).toEqual([]);
  });

  it("is sent without segments where a newer generation is served: they may be gone from it", () => {
    const { everything, serve } = openSerial();
    const [one, two] = ["one", "two", "three"].map((text) => {
      const served = serve(text);
      everything.state();
      return served;
    });
    const sent = everything.root(two!.root, one!.root)!;
    expect(sent.since).toBe(one!.root);
    expect(readRootNews(sent.bytes).segments).toEqual([]);
  });

  it("is no base of a part that differs in most of its bytes: the change would be longer", () => {
    const { everything, serve } = openSerial();
    const random = (seed: number) =>
      Array.from({ length: 30 }, (_, index) => String.fromCharCode(65 + ((index * seed) % 57))).join("");
    const one = serve(random(7), 30);
    everything.state();
    const other = serve(random(11), 31);
    everything.state();
    expect(everything.segment(other.segment, one.segment)).toEqual({ bytes: other.bytes, since: "" });
    expect(everything.segment("0".repeat(32), one.segment)).toBeUndefined();
  });

  it("is of no use where the primary does not know it any more, or it is another part", () => {
    const { everything, serve } = openSerial();
    const { root, segment } = serve("one");
    everything.state();
    for (const since of ["0".repeat(32), root, segment, "__proto__"])
      expect(everything.root(root, since)?.since).toBe("");
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
