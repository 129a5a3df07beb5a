import { expect, it } from "vitest";
import { ContentCheck, verifyContentHash } from "../../src/zone/image/content-hash.ts";
import { compileWorld } from "../resolve/ask.ts";
import { twoClusters } from "../resolve/world.ts";

const { bytes } = compileWorld(twoClusters()).image;

function check(image: Uint8Array<ArrayBuffer>, slice: number): boolean {
  const content = new ContentCheck(image);
  for (let read = 0; read <= image.length; read += Math.max(4, slice)) {
    const right = content.advance(slice);
    if (right !== undefined) return right;
  }
  throw new Error("the check does not end");
}

it.each([4, 20, 64, 1000, 4096, 1 << 20])(
  "slices of %d bytes have the result of the whole check",
  (slice) => {
    expect(verifyContentHash(bytes)).toBe(true);
    expect(check(bytes, slice)).toBe(true);
    for (let at = 84; at < bytes.length; at += 101) {
      const torn = bytes.slice();
      torn[at]! ^= 0x10;
      expect([at, verifyContentHash(torn), check(torn, slice)]).toEqual([at, false, false]);
    }
  },
);
