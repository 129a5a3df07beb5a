import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changePart, PartChangeError, partChange } from "../../../src/transfer/parts/part-change.ts";

const MOST = 1 << 20;

/** A directory of that many hashes of 16 bytes, behind some bytes of tables. */
function rootOf(hashes: number, tables = 40): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: tables + hashes * 16 }, (_, index) => (index * 197) >> 3);
}

describe("a change of a part", () => {
  it("makes the part after of the part before, whatever they are", () => {
    const bytes = fc.uint8Array({ maxLength: 200 });
    const edits = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 });
    const edited = fc.tuple(bytes, edits).map(([before, changes]) => {
      const after = before.slice();
      for (const [at, value] of changes) if (after.length > 0) after[at % after.length] = value;
      return [before, after] as const;
    });
    fc.assert(
      fc.property(fc.oneof(fc.tuple(bytes, bytes), edited), ([before, after]) => {
        expect(changePart(before, partChange(before, after), MOST)).toEqual(Uint8Array.from(after));
      }),
    );
  });

  it.each([1, 64, 8192])("is as long for one of %d entries of the directory as for any", (hashes) => {
    const before = rootOf(hashes);
    const after = before.slice();
    after.fill(0xff, after.length - 16);
    expect(partChange(before, after).length).toBeLessThanOrEqual(4 + 12 + 16 + 12);
  });

  it("has only what is new where the root became longer", () => {
    const before = rootOf(1000);
    const after = new Uint8Array(before.length + 16);
    after.set(before.subarray(0, 5000));
    after.fill(0xaa, 5000, 5016);
    after.set(before.subarray(5000), 5016);
    expect(partChange(before, after).length).toBeLessThan(64);
  });
});

describe("a change that does not fit is rejected", () => {
  const before = rootOf(4);
  const after = before.slice();
  after[50]! ^= 1;
  const change = partChange(before, after);

  it("cut off anywhere", () => {
    for (let length = 0; length < change.length; length++)
      expect(() => changePart(before, change.slice(0, length), MOST), `${length}`).toThrow(PartChangeError);
  });

  it("of a part that is too short", () => {
    expect(() => changePart(before.subarray(0, 60), change, MOST)).toThrow(/does not fit/);
  });

  it("that makes more than a part may have, without taking the memory", () => {
    expect(() => changePart(before, change, before.length - 1)).toThrow(/may have 103 bytes and has 104/);
  });

  it("with any byte flipped it is rejected, or makes another part of the length that it names", () => {
    for (let at = 0; at < change.length; at++) {
      const flipped = change.slice();
      flipped[at]! ^= 0x10;
      let made: Uint8Array | undefined;
      try {
        made = changePart(before, flipped, MOST);
      } catch (error) {
        expect(error).toBeInstanceOf(PartChangeError);
      }
      if (made !== undefined) expect(made).not.toEqual(after);
    }
  });
});
