import fc from "fast-check";
import { expect, it } from "vitest";
import { SegmentCache } from "../../../src/transfer/parts/segment-cache.ts";

const KIBIBYTE = 1024;
const segment = (hash: string, length: number) => ({ hash, bytes: { length } });

it("keeps the segments that were used last, within its bound", () => {
  const cache = new SegmentCache(60 * KIBIBYTE);
  for (const hash of ["a", "b", "c"]) cache.add(segment(hash, 16 * KIBIBYTE));
  cache.get("a");
  cache.add(segment("d", 16 * KIBIBYTE));
  expect(["a", "b", "c", "d"].map((hash) => cache.has(hash))).toEqual([true, false, true, true]);
});

it("counts a segment once", () => {
  const cache = new SegmentCache(60 * KIBIBYTE);
  for (let time = 0; time < 100; time++) cache.add(segment("a", 16 * KIBIBYTE));
  expect([cache.size, cache.bytes]).toEqual([1, 18 * KIBIBYTE]);
});

it("keeps a segment that is longer than its bound alone", () => {
  const cache = new SegmentCache(60 * KIBIBYTE);
  cache.add(segment("a", 16 * KIBIBYTE));
  cache.add(segment("large", 600 * KIBIBYTE));
  expect([cache.size, cache.has("large")]).toEqual([1, true]);
  cache.add(segment("b", 16 * KIBIBYTE));
  expect([cache.size, cache.has("b")]).toEqual([1, true]);
});

it("never has more bytes than its bound, whatever is read", () => {
  const most = 100 * KIBIBYTE;
  const use = fc.record({ hash: fc.integer({ min: 0, max: 30 }), adds: fc.boolean() });
  fc.assert(
    fc.property(fc.array(use, { maxLength: 200 }), (uses) => {
      const cache = new SegmentCache(most);
      for (const { hash, adds } of uses) {
        if (adds) cache.add(segment(`${hash}`, hash * KIBIBYTE));
        expect(cache.get(`${hash}`)?.bytes.length ?? hash * KIBIBYTE).toBe(hash * KIBIBYTE);
        expect(cache.bytes).toBeLessThanOrEqual(most);
        if (adds) expect(cache.has(`${hash}`)).toBe(true);
      }
    }),
  );
});

it("counts what queries found, did not find, and what left for others", () => {
  const cache = new SegmentCache(60 * KIBIBYTE);
  const counts = () => [cache.hits, cache.misses, cache.evictions];
  cache.get("a");
  expect(counts()).toEqual([0, 1, 0]);
  cache.add(segment("a", 16 * KIBIBYTE));
  cache.get("a");
  cache.get("a");
  expect(counts()).toEqual([2, 1, 0]);
  cache.has("a");
  cache.has("b");
  expect(counts()).toEqual([2, 1, 0]);
  for (const hash of ["b", "c", "d", "d"]) cache.add(segment(hash, 16 * KIBIBYTE));
  expect(counts()).toEqual([2, 1, 1]);
  cache.add(segment("large", 600 * KIBIBYTE));
  expect(counts()).toEqual([2, 1, 4]);
});

it("gives segments of one kind only, and counts a hash that it does not have as a miss", () => {
  const cache = new SegmentCache<ReturnType<typeof segment>>(60 * KIBIBYTE);
  const even = cache.of((one): one is ReturnType<typeof segment> => one.bytes.length % 2 === 0);
  even.add(segment("two", 2));
  cache.add(segment("three", 3));
  expect(["two", "three", "none"].map((hash) => even.get(hash)?.hash)).toEqual(["two", undefined, undefined]);
  expect([cache.hits, cache.misses]).toEqual([2, 1]);
});

it("keeps as many segments as have its bound to the byte", () => {
  const cache = new SegmentCache(2 * 18 * KIBIBYTE);
  for (const hash of ["a", "b"]) cache.add(segment(hash, 16 * KIBIBYTE));
  expect([cache.size, cache.bytes]).toEqual([2, 36 * KIBIBYTE]);
});
