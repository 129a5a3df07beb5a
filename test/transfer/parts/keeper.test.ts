import { describe, expect, it } from "vitest";
import type { AnySegment } from "../../../src/transfer/parts/any-segment.ts";
import { SegmentCache } from "../../../src/transfer/parts/segment-cache.ts";
import { branchesOf, compileSmall, openKeeper, partsOf } from "./keeper-world.ts";

const first = compileSmall();
const changed = compileSmall([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 2);
const parts = partsOf(first);
const after = partsOf(changed);
const newIn = (now: ReadonlyMap<string, Uint8Array>, before: ReadonlyMap<string, Uint8Array>) =>
  [...now.keys()].filter((hash) => !before.has(hash));
const lengthOf = (hashes: readonly string[]) =>
  hashes.reduce((sum, hash) => sum + (parts.pages.get(hash) ?? parts.segments.get(hash))!.length, 0);

/** A keeper that has taken over the first generation. */
async function openFirst(cache?: SegmentCache<AnySegment>) {
  const opened = openKeeper(cache);
  const fetched = (await opened.fetch(first))!;
  opened.keeper.take(fetched, 0, 0);
  return { ...opened, fetched };
}

describe("a generation with pages below the tops of its directories", () => {
  it("is fetched whole: the root, the pages below the tops, then the segments", async () => {
    const { keeper, events, requests, fetched } = await openFirst();
    expect(parts.pages.size).toBeGreaterThan(5);
    const hashes = requests.map(({ hash }) => hash);
    expect(hashes[0]).toBe(first.rootHash);
    expect(new Set(hashes.slice(1, 1 + parts.pages.size))).toEqual(new Set(parts.pages.keys()));
    expect(new Set(hashes.slice(1 + parts.pages.size))).toEqual(new Set(parts.segments.keys()));
    expect(partsOf(fetched.generation)).toEqual(parts);
    expect(fetched).toMatchObject({
      segments: parts.count,
      bytes: fetched.document.length + lengthOf(hashes.slice(1)),
    });
    keeper.take({ ...fetched, generation: changed }, 1000, 1234);
    expect(events).toMatchObject([
      { event: "transferred", rootHash: first.rootHash },
      { event: "transferred", rootHash: changed.rootHash, milliseconds: 234 },
    ]);
  });

  it("that differs in ten services is fetched as far as it differs, each part as the change of the one in its place", async () => {
    const opened = await openFirst();
    const { requests, fetch } = opened;
    const fetched = (await fetch(changed))!;
    const pages = newIn(after.pages, parts.pages);
    const segments = newIn(after.segments, parts.segments);
    expect(requests.map(({ hash }) => hash)).toEqual([
      changed.rootHash,
      ...pages.map(() => expect.toBeOneOf(pages)),
      ...segments.map(() => expect.toBeOneOf(segments)),
    ]);
    expect(partsOf(fetched.generation)).toEqual(after);
    for (const { hash, since } of requests)
      if (since !== undefined)
        expect([first.rootHash, ...parts.pages.keys(), ...parts.segments.keys()]).toContain(since);
      else expect(segments).toContain(hash);
    expect(requests.filter(({ since }) => since !== undefined).length).toBeGreaterThan(2);
    // What both have is in memory once.
    const held = opened.fetched.generation;
    expect(fetched.generation.trunk).toBe(held.trunk);
    const objectsIn = (generation: typeof held) =>
      new Set([...generation.segments(), ...generation.reverseSegments()]);
    const shared = [...objectsIn(fetched.generation)].filter((segment) => objectsIn(held).has(segment));
    expect(shared).toHaveLength(objectsIn(fetched.generation).size - segments.length);
  });

  it("that was fetched in part before the source failed is fetched from there on", async () => {
    const { requests, served, fetch } = openKeeper();
    const hashes = [...parts.segments.keys()];
    const last = hashes.at(-1)!;
    served.failing = (hash) => hash === last;
    await expect(fetch(first)).rejects.toThrow("connection refused");
    const had = requests.map(({ hash }) => hash).filter((hash) => parts.segments.has(hash) && hash !== last);
    expect(had.length).toBeGreaterThan(10);
    served.failing = () => false;
    const fetched = (await fetch(first))!;
    expect(requests.some(({ hash }) => had.includes(hash))).toBe(false);
    expect(partsOf(fetched.generation)).toEqual(parts);
  });

  it("is kept with another serial, without any request", async () => {
    const { keeper, requests, fetch, fetched } = await openFirst();
    const same = (await fetch(first, 1))!;
    expect(same).toBe(fetched);
    const renewed = (await fetch(first, 9))!;
    expect(requests).toEqual([]);
    expect(renewed.generation).toMatchObject({ serial: 9, rootHash: first.rootHash });
    expect(partsOf(renewed.generation)).toEqual(parts);
    expect(keeper.take(renewed, 0, 0).serial).toBe(9);
  });

  it.each(["pages", "segments"] as const)(
    "one of whose %s is gone is none, and no more is requested",
    async (kind) => {
      const { keeper, requests, served, fetch } = openKeeper();
      const [gone] = parts[kind].keys();
      served.gone = (hash) => hash === gone;
      expect(await fetch(first)).toBeUndefined();
      expect(requests.length).toBeLessThan(1 + parts.pages.size + 20);
      expect(keeper.isEmpty).toBe(true);
    },
  );
});

describe("a keeper whose segments come as queries need them", () => {
  const openPartial = async () => {
    const cache = new SegmentCache<AnySegment>(2 ** 24);
    const opened = await openFirst(cache);
    const bring = (branch: (typeof branches)[number]) => opened.keeper.bring(branch, opened.request);
    const branches = branchesOf(opened.fetched.generation);
    return { ...opened, cache, branches, bring };
  };

  it("fetches the root alone", async () => {
    const { keeper, requests, branches } = await openPartial();
    expect(requests).toHaveLength(1);
    expect(keeper.isPartial).toBe(true);
    expect(branches.some((branch) => keeper.has(branch))).toBe(false);
    expect(openKeeper().keeper.isPartial).toBe(false);
  });

  it("brings a page, and then a segment below it", async () => {
    const { keeper, cache, branches, bring } = await openPartial();
    const page = branches.find(({ kind }) => kind === "page")!;
    expect(await bring(page)).toBe(true);
    expect(keeper.has(page)).toBe(true);
    expect(page.page!.bytes).toEqual(parts.pages.get(page.hash));
    const { branch } = page.page!.entries[0]!;
    expect(keeper.has(branch)).toBe(false);
    expect(await bring(branch)).toBe(true);
    expect([keeper.has(branch), cache.has(branch.hash)]).toEqual([true, true]);
    expect(branch.segment!.bytes).toEqual(parts.segments.get(branch.hash));
  });

  it("brings nothing that the source does not have any more, and rejects what is another part", async () => {
    const { served, events, branches, bring } = await openPartial();
    for (const kind of ["page", "segment"] as const) {
      const branch = branches.find((one) => one.kind === kind)!;
      served.gone = () => true;
      expect(await bring(branch)).toBe(false);
      served.gone = () => false;
      const other = { ...branch, hash: "0".repeat(32), segment: undefined, page: undefined };
      expect(await bring(other)).toBe(false);
    }
    expect(events.map(({ event }) => event)).toEqual(["transferred"]);
  });

  it("fetches after a change what is in place of the pages and segments in use, and nothing else", async () => {
    const { requests, fetch, branches, bring, keeper, cache } = await openPartial();
    const pages = newIn(after.pages, parts.pages);
    const all = branchesOf(changed);
    const used = branches.filter((branch, index) => all[index]!.hash !== branch.hash);
    expect(new Set(used.map(({ kind }) => kind)).size).toBe(2);
    for (const branch of used) await bring(branch);
    const fetched = (await fetch(changed))!;
    const wanted = used.map(({ hash }) => all[branches.findIndex((branch) => branch.hash === hash)]!.hash);
    expect(new Set(requests.map(({ hash }) => hash))).toEqual(new Set([changed.rootHash, ...wanted]));
    expect(wanted.some((hash) => pages.includes(hash))).toBe(true);
    // Changes of segments are of no use to a cache that may have dropped them.
    expect(requests.slice(1).every(({ since }) => since === undefined)).toBe(true);
    keeper.take(fetched, 0, 0);
    for (const hash of wanted) if (!pages.includes(hash)) expect(cache.has(hash)).toBe(true);
  });

  it("fetches at most 64 segments before it answers from a generation", async () => {
    const { requests, fetch, branches, bring } = await openPartial();
    for (const branch of branches) await bring(branch);
    for (const { page } of branches) for (const { branch } of page?.entries ?? []) await bring(branch);
    const everyOther = compileSmall(
      Array.from({ length: 120 }, (_, index) => index),
      3,
    );
    const segments = partsOf(everyOther).segments;
    await fetch(everyOther);
    expect(requests.filter(({ hash }) => segments.has(hash))).toHaveLength(64);
  });
});
