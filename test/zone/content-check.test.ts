import { expect, it } from "vitest";
import { loadBundle } from "../../src/zone/generation/bundle.ts";
import { compileWorld } from "../resolve/ask.ts";
import { twoClusters } from "../resolve/world.ts";

const { bytes } = compileWorld(twoClusters()).generation;

/** Whether the bytes load and have their hashes, checked in slices. */
function check(bundle: Uint8Array<ArrayBuffer>, slice: number): boolean {
  let content: ReturnType<typeof loadBundle>["check"];
  try {
    content = loadBundle(bundle).check;
  } catch {
    return false;
  }
  for (let read = 0; read <= bundle.length; read += Math.max(4, slice)) {
    const right = content.advance(slice);
    if (right !== undefined) return right;
  }
  throw new Error("the check does not end");
}

it.each([4, 20, 64, 1000, 4096, 1 << 20])(
  "slices of %d bytes have the result of the whole check",
  (slice) => {
    expect(check(bytes, slice)).toBe(true);
    for (let at = 0; at < bytes.length; at += 101) {
      const torn = bytes.slice();
      torn[at]! ^= 0x10;
      expect([at, check(torn, slice)]).toEqual([at, false]);
    }
  },
);
