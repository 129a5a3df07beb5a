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
});

/** A change as `part-change.ts` describes it: the length, then the steps. */
function changeOf(
  length: number,
  ...steps: readonly [from: number, copied: number, added: readonly number[]][]
) {
  const words = (...values: number[]) => [...new Uint8Array(Uint32Array.from(values).buffer)];
  return Uint8Array.from([
    ...words(length),
    ...steps.flatMap(([from, copied, added]) => [...words(from, copied, added.length), ...added]),
  ]);
}

describe("a change that does not fit is rejected", () => {
  const before = rootOf(4);
  const after = before.slice();
  after[50]! ^= 1;
  const change = partChange(before, after);

  it("cut off anywhere", () => {
    for (let length = 0; length < change.length; length++)
      expect(() => changePart(before, change.slice(0, length), MOST), `${length}`).toThrow(PartChangeError);
  });

  it.each([
    ["without its length", Uint8Array.of(1, 0, 0), "the change is cut off"],
    ["with half a step", changeOf(4, [0, 4, []]).slice(0, 12), "the change is cut off"],
    [
      "that copies bytes behind the end",
      changeOf(4, [101, 4, []]),
      "the change does not fit the part before it",
    ],
    [
      "that adds bytes that do not come",
      changeOf(4, [0, 0, [1, 2, 3, 4]]).slice(0, -1),
      "the change does not fit the part before it",
    ],
    [
      "that copies more than its length",
      changeOf(4, [0, 5, []]),
      "the change does not fit the part before it",
    ],
    [
      "that adds more than its length",
      changeOf(4, [0, 3, [1, 2]]),
      "the change does not fit the part before it",
    ],
    [
      "whose second step is too long",
      changeOf(4, [0, 3, []], [0, 1, [1]]),
      "the change does not fit the part before it",
    ],
    [
      "that makes less than its length",
      changeOf(4, [0, 3, []]),
      "the change makes 3 of the 4 bytes of its part",
    ],
    ["that makes nothing", changeOf(4), "the change makes 0 of the 4 bytes of its part"],
    [
      "of more than a part may have",
      changeOf(MOST + 1),
      `the part may have ${MOST} bytes and has ${MOST + 1}`,
    ],
  ])("%s", (_, bad, message) => {
    expect(() => changePart(before, bad, MOST)).toThrow(new PartChangeError(message));
  });

  it("a change that makes as much as a part may have is not", () => {
    expect(changePart(before, change, before.length)).toEqual(after);
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
