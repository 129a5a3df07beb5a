import { describe, expect, it } from "vitest";
import {
  apexHash,
  hashAddress,
  hashLabel,
  keyHash,
  reverseHash,
  treeHash,
} from "../../../src/zone/segment/name-hash.ts";

const bytesOf = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const unsigned = (hash: number) => hash >>> 0;
const V6 = Uint8Array.of(0xfd, ...new Array(14).fill(0), 1);

// Segments that are stored were placed by these hashes: other hashes need another FORMAT_VERSION.
describe("the hashes of the format", () => {
  it.each([
    ["", 0],
    ["clusterset", 0xa43887ae],
    ["local:a", 0x3d8546be],
  ])("of the tree %j", (tree, expected) => {
    expect(unsigned(treeHash(tree))).toBe(expected);
  });

  it("of an apex depend on the seed, which is none if it is 0", () => {
    expect([0, 3].map((seed) => unsigned(apexHash(0x12345678, seed)))).toEqual([0x12345678, 0xc8923b6b]);
  });

  it.each([
    ["a", 0xd0c3c190],
    ["ab", 0xd5dfdaa8],
    ["abc", 0x4b82c910],
    ["web0", 0xcfd3e1af],
    ["web-1", 0x27289cdb],
    ["payments", 0x178251de],
    ["a\xff\x80\x7f\xfe\xc0", 0xd45c0ba2],
  ])("of the label %j, by its bytes alone", (label, expected) => {
    expect(unsigned(hashLabel(0x1234, bytesOf(`xx${label}y`), 2, label.length))).toBe(expected);
  });

  it("of a key are those of its namespace and the label to the left", () => {
    const name = bytesOf("\x03web\x04shop\x03svc");
    expect(unsigned(keyHash(name, 4, 0))).toBe(0x7b971679);
    expect(keyHash(name, 4, 0)).toBe(hashLabel(hashLabel(0, bytesOf("shop"), 0, 4), bytesOf("web"), 0, 3));
  });

  it("of addresses", () => {
    const four = Uint8Array.of(9, 10, 0, 0, 1);
    expect([hashAddress(four, 4, 1, 1), hashAddress(four.subarray(1), 4, 0)].map(unsigned)).toEqual([
      0x63a303c6, 0xacdbebba,
    ]);
    const hashes = [
      reverseHash(Uint8Array.of(10, 0, 0, 1), 4),
      reverseHash(Uint8Array.of(10, 0, 0, 65), 4),
      reverseHash(V6, 16),
    ];
    expect(hashes.map(unsigned)).toEqual([0xe98b046f, 0xce89512f, 0xb6af2165]);
  });
});
