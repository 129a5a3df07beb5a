import { describe, expect, it } from "vitest";
import { drain } from "../../../src/snapshot/drain.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import { compileSmall, partsOf } from "../parts/keeper-world.ts";
import { FACTS, hashesIn, startStored } from "./stored-world.ts";

const first = compileSmall([], 7);
const changed = compileSmall(
  Array.from({ length: 20 }, (_, index) => index),
  8,
);

const kept = hashesIn(first);
const after = hashesIn(changed);
const replaced = [...kept].filter((hash) => !after.has(hash));

describe("a generation with pages below its tops", () => {
  it("is in rows whole, and is loaded with all its pages; segments are read when they are needed", () => {
    const { database, generations, stored } = startStored();
    generations.keep("", first, FACTS);
    expect(stored()).toEqual(kept);
    const { generations: next, damaged } = startStored(database);
    const loaded = next.load("")!;
    expect(loaded).toMatchObject({ ...FACTS, keptAt: 1_000_000, generationBytes: first.byteLength });
    expect(loaded.generation).toMatchObject({ rootHash: first.rootHash, serial: 7 });
    expect(partsOf(loaded.generation)).toEqual(partsOf(first));
    expect(damaged).toEqual([]);
  });

  it("is not loaded with other settings, in another scope, or where any part but a segment is missing", () => {
    const { database, generations, table } = startStored();
    generations.keep("", first, FACTS);
    expect(startStored(database, "others").generations.load("")).toBeUndefined();
    expect(generations.load("other")).toBeUndefined();
    const { pages, segments } = partsOf(first);
    const { names, reverse, frame, stems } = first;
    const tops = [first.rootHash, ...[names, reverse, frame, stems].map(({ hash }) => hash)];
    for (const hash of [...tops, [...pages.keys()].at(-1)!, [...segments.keys()][0]!]) {
      const bytes = table.read(hash)!;
      table.remove(hash);
      const { generations: next, damaged } = startStored(database);
      expect(next.load("") !== undefined, hash).toBe(segments.has(hash));
      expect(damaged).toEqual(
        segments.has(hash) ? [] : [`${hash} a part of a generation is not served: it is missing`],
      );
      table.write(hash, bytes);
    }
  });
});

describe("parts that no generation has any more", () => {
  it("go with later generations, 30 s after they were replaced", () => {
    const { held, generations, stored } = startStored();
    const keep = (generation: Generation) => generations.keep("", generation, FACTS);
    keep(first);
    keep(changed);
    held.now += 29_999;
    keep(changed);
    expect([...stored()].filter((hash) => replaced.includes(hash))).toHaveLength(replaced.length);
    held.now += 1;
    keep(changed);
    // Ten of them with each generation that replaces only the root, the frame and the stems.
    expect(replaced.length).toBeGreaterThan(20);
    expect([...stored()].filter((hash) => replaced.includes(hash))).toHaveLength(replaced.length - 10);
    while ([...stored()].some((hash) => replaced.includes(hash))) keep(changed);
    expect(stored()).toEqual(after);
  });

  it("stay where they are in a generation again, or in that of another scope", () => {
    const { held, generations, stored } = startStored();
    generations.keep("", first, FACTS);
    generations.keep("other", first, FACTS);
    generations.keep("", changed, FACTS);
    held.now += 30_000;
    for (let count = 0; count < 20; count++) generations.keep("", changed, FACTS);
    expect(stored()).toEqual(new Set([...kept, ...after]));
    generations.keep("other", changed, FACTS);
    generations.keep("other", first, FACTS);
    held.now += 30_000;
    for (let count = 0; count < 20; count++) generations.keep("other", first, FACTS);
    expect(stored()).toEqual(new Set([...kept, ...after]));
  });

  it("are found by a sweep where the process that knew of them died", () => {
    const { database, generations } = startStored();
    generations.keep("", first, FACTS);
    const { held, generations: next, stored } = startStored(database);
    next.keep("", changed, FACTS);
    held.now += 60_000;
    for (let count = 0; count < 20; count++) next.keep("", changed, FACTS);
    expect(stored()).toEqual(new Set([...kept, ...after]));
    drain(next.sweep());
    held.now += 30_000;
    for (let count = 0; count < 20; count++) next.keep("", changed, FACTS);
    expect(stored()).toEqual(after);
  });
});

it("a sweep looks at 256 parts in a step", () => {
  const { table, generations } = startStored();
  for (let part = 0; part < 600; part++)
    table.write(part.toString(16).padStart(32, "0"), Uint8Array.of(part & 255));
  expect([...generations.sweep()]).toHaveLength(2);
});

describe("a segment that was compiled", () => {
  const [segment] = [...first.segments()];

  it("is in rows before its generation is, and a sweep leaves it there", () => {
    const { held, generations, stored } = startStored();
    const branch = generations.hold(segment!);
    expect([...stored()]).toEqual([segment!.hash]);
    expect(branch).toMatchObject({ kind: "segment", hash: segment!.hash, byteLength: segment!.bytes.length });
    expect(branch.segment!.bytes).toEqual(segment!.bytes);
    drain(generations.sweep());
    held.now += 60_000;
    generations.keep("", first, FACTS);
    expect(stored()).toEqual(kept);
  });

  it("of a generation that never came goes after the next sweep", () => {
    const { held, generations, stored } = startStored();
    const only = [...partsOf(changed).segments.keys()].find(
      (hash) => replaced.length > 0 && !kept.has(hash),
    )!;
    const held1 = [...changed.segments()].find(({ hash }) => hash === only)!;
    generations.hold(held1);
    generations.keep("", first, FACTS);
    drain(generations.sweep());
    held.now += 30_000;
    generations.keep("", first, FACTS);
    expect(stored().has(only)).toBe(false);
  });

  it("is read from its row once it is not in memory any more, checked by its hash", () => {
    const { database, generations } = startStored();
    generations.hold(segment!);
    const { parts, damaged } = startStored(database);
    const isAny = (one: unknown): one is never => one !== undefined;
    expect(parts.of(isAny).get(segment!.hash)).toMatchObject({ bytes: segment!.bytes });
    const isNone = (_: unknown): _ is never => false;
    expect(parts.of(isNone).get(segment!.hash)).toBeUndefined();
    expect(damaged).toEqual([]);
    database.sql.exec("UPDATE generation_parts SET body = zeroblob(length(body))");
    const other = startStored(database);
    expect(other.parts.of(isAny).get(segment!.hash)).toBeUndefined();
    expect(other.damaged).toEqual([
      expect.stringMatching(/^[0-9a-f]{32} a part of a generation is not served: /),
    ]);
  });
});
