import { describe, expect, it } from "vitest";
import type { UsedPart } from "../../../src/transfer/parts/follow-parts.ts";
import { KeptParts } from "../../../src/transfer/parts/kept-parts.ts";
import { readRootNews } from "../../../src/transfer/parts/root-responses.ts";
import { Primary, type TransferGateway } from "../../../src/transfer/primary.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import { hashBlob } from "../../../src/zone/segment/hash.ts";
import { compileSmall, partsOf } from "./keeper-world.ts";

const first = compileSmall();
const changed = compileSmall([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 2);
const hashesIn = (generation: Generation) => {
  const { pages, segments } = partsOf(generation);
  const { names, reverse, frame, stems } = generation;
  return new Set([
    ...pages.keys(),
    ...segments.keys(),
    ...[names, reverse, frame, stems].map(({ hash }) => hash),
  ]);
};
const before = hashesIn(first);
const after = hashesIn(changed);
const gone = [...before].filter((hash) => !after.has(hash));
const added = [...after].filter((hash) => !before.has(hash));

/** A primary that serves what `served` says. */
function open() {
  const served: { now: number; generation?: Generation | undefined } = { now: 1_000_000 };
  const gateway = {
    status: () => ({ ready: true, generationBytes: 0, services: 0, clusters: [] }),
    current: () => (served.generation === undefined ? undefined : served),
  } as unknown as TransferGateway;
  const primary = new Primary(gateway, () => served.now).of("")!;
  const serve = (generation: Generation | undefined) => {
    served.generation = generation;
    primary.state();
  };
  const lacking = (hashes: Iterable<string>) =>
    [...hashes].filter((hash) => primary.segment(hash, "") === undefined);
  return { primary, served, serve, lacking };
}

describe("the parts of a generation with pages below its tops", () => {
  it("are all served, and those that were replaced for ten seconds more", () => {
    const { served, serve, lacking } = open();
    expect(partsOf(first).pages.size).toBeGreaterThan(3);
    serve(first);
    expect(lacking(before)).toEqual([]);
    expect(lacking(added)).toEqual(added);
    serve(changed);
    served.now += 9_999;
    expect(lacking(new Set([...before, ...after]))).toEqual([]);
    served.now += 1;
    expect(lacking(after)).toEqual([]);
    expect(lacking(gone)).toEqual(gone);
    serve(first);
    served.now += 20_000;
    expect(lacking(before)).toEqual([]);
    expect(lacking(added)).toEqual(added);
  });

  it("go when nothing is served any more, and are all there when it is served again", () => {
    const { served, serve, lacking } = open();
    serve(first);
    serve(undefined);
    expect(lacking(before)).toEqual([]);
    served.now += 10_000;
    expect(lacking(before)).toEqual([...before]);
    serve(changed);
    served.now += 10_000;
    expect(lacking(after)).toEqual([]);
  });

  it("that are new come with the change of the root, pages as well, but not the tops", () => {
    const { primary, serve } = open();
    serve(first);
    serve(changed);
    const { bytes, since } = primary.root(changed.rootHash, first.rootHash)!;
    expect(since).toBe(first.rootHash);
    const tops = [changed.names.hash, changed.reverse.hash];
    const { pages } = partsOf(changed);
    const sent = readRootNews(bytes).segments.map((part) => hashBlob(part));
    expect(sent.sort()).toEqual(added.filter((hash) => !tops.includes(hash)).sort());
    expect(sent.some((hash) => pages.has(hash))).toBe(true);
  });

  it("are not sent again after a change and its inverse, nor to a secondary of long ago", () => {
    const { primary, served, serve } = open();
    serve(first);
    serve(changed);
    serve(first);
    expect(primary.root(first.rootHash, changed.rootHash)!.since).toBe(changed.rootHash);
    for (let count = 0; count < 32; count++) serve(count % 2 === 0 ? changed : first);
    // What was served in between nothing is not known any more.
    serve(undefined);
    serve(changed);
    served.now += 1;
    expect(readRootNews(primary.root(changed.rootHash, first.rootHash)!.bytes).segments).toEqual([]);
  });
});

describe("parts that are kept for a while", () => {
  const part = (heldBytes: number): UsedPart => ({ heldBytes, byteLength: heldBytes, read: () => undefined });

  it("go the oldest first once they have more bytes than they may", () => {
    const kept = new KeptParts(100, 1000);
    const parts = ["a", "b", "c"].map((key, at) => {
      const one = part(50);
      kept.keep(key, one, at);
      return one;
    });
    expect(["a", "b", "c"].map((key) => kept.get(key, 2))).toEqual([undefined, parts[1], parts[2]]);
    kept.keep("d", part(0), 3);
    expect(kept.get("b", 3)).toBe(parts[1]);
  });

  it("count once where one is kept again, and are as young as then", () => {
    const kept = new KeptParts(100, 1000);
    const [one, other] = [part(50), part(50)];
    kept.keep("a", one, 0);
    kept.keep("b", other, 1);
    kept.keep("a", one, 2);
    expect([kept.get("a", 2), kept.get("b", 2)]).toEqual([one, other]);
    kept.keep("c", part(50), 3);
    expect([kept.get("a", 3), kept.get("b", 3)]).toEqual([one, undefined]);
  });

  it("leave their bytes to others when their time is over, or when they are dropped", () => {
    const kept = new KeptParts(100, 1000);
    const last = part(100);
    kept.keep("a", part(100), 0);
    kept.keep("b", last, 1000);
    expect([kept.get("a", 1000), kept.get("b", 1999), kept.get("b", 2000)]).toEqual([
      undefined,
      last,
      undefined,
    ]);
    kept.drop("b");
    kept.drop("b");
    kept.keep("c", last, 1001);
    expect(kept.get("c", 1001)).toBe(last);
  });
});
