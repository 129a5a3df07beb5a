import { afterEach, describe, expect, it, vi } from "vitest";
import { isOfNames, isOfReverseNames } from "../../../../src/transfer/parts/load-root.ts";
import { holdShared } from "../../../../src/transfer/parts/shared/hold-shared.ts";
import { ownBytes, sharedBytes } from "../../../../src/transfer/parts/shared/shared-bytes.ts";
import { SharedParts } from "../../../../src/transfer/parts/shared/shared-parts.ts";
import type { Generation } from "../../../../src/zone/generation/generation.ts";
import { compileSmall } from "../keeper-world.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

function segmentsOf({ names, reverse }: Generation) {
  const name = names.entries.find(({ branch }) => branch.segment !== undefined)!.branch.segment!;
  const address = reverse.entries.find(({ branch }) => branch.segment !== undefined)!.branch.segment!;
  return { name, address };
}

describe("a part that another thread compiled", () => {
  it("is an object of its kind once it is needed, and the same one each time", () => {
    const { name, address } = segmentsOf(compileSmall());
    const parts = new SharedParts();
    for (const { hash, bytes } of [name, address]) parts.add(hash, bytes);
    const [names, reverse] = [parts.of(isOfNames), parts.of(isOfReverseNames)];
    expect([names.get(name.hash)?.hash, reverse.get(address.hash)?.hash]).toEqual([name.hash, address.hash]);
    expect(names.get(name.hash)).toBe(names.get(name.hash));
    expect(names.get(name.hash)!.bytes).toBe(name.bytes);
  });

  it("is not there as one of the other kind", () => {
    const { name, address } = segmentsOf(compileSmall());
    const parts = new SharedParts();
    for (const { hash, bytes } of [name, address]) parts.add(hash, bytes);
    expect([parts.of(isOfReverseNames).get(name.hash), parts.of(isOfNames).get(address.hash)]).toEqual([
      undefined,
      undefined,
    ]);
  });

  it("is gone once it was dropped, also if it was needed before", () => {
    const { name } = segmentsOf(compileSmall());
    const parts = new SharedParts();
    const names = parts.of(isOfNames);
    expect([names.get(name.hash), parts.read(name.hash)]).toEqual([undefined, undefined]);
    parts.add(name.hash, name.bytes);
    expect([names.get(name.hash) !== undefined, parts.read(name.hash)]).toEqual([true, name.bytes]);
    parts.drop(name.hash);
    expect([names.get(name.hash), parts.read(name.hash)]).toEqual([undefined, undefined]);
  });
});

describe("a segment that is held for threads", () => {
  it("is of the same kind and content, with shared bytes", () => {
    const { name, address } = segmentsOf(compileSmall());
    for (const segment of [name, address]) {
      const held = holdShared(segment as never) as unknown as typeof segment;
      expect(held.constructor).toBe(segment.constructor);
      expect([held.hash, [...held.bytes]]).toEqual([segment.hash, [...segment.bytes]]);
      expect(held.bytes.buffer).toBeInstanceOf(SharedArrayBuffer);
    }
  });
});

describe("bytes", () => {
  const bytes = Uint8Array.of(1, 2, 3);

  it("are copied into shared memory once", () => {
    const shared = sharedBytes(bytes);
    expect([shared.buffer instanceof SharedArrayBuffer, [...shared]]).toEqual([true, [1, 2, 3]]);
    expect(sharedBytes(shared)).toBe(shared);
  });

  it("leave the process as they are, or as a copy if threads share them", () => {
    expect(ownBytes(bytes)).toBe(bytes);
    const own = ownBytes(sharedBytes(bytes));
    expect([own.buffer instanceof ArrayBuffer, [...own]]).toEqual([true, [1, 2, 3]]);
  });

  it("are nobody else's where a host has no shared memory", () => {
    vi.stubGlobal("SharedArrayBuffer", undefined);
    expect(ownBytes(bytes)).toBe(bytes);
  });
});
