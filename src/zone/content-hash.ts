import { HEADER_WORDS, Header } from "./layout.ts";

/** Writes the hash of everything behind the header into the header. */
export function fillContentHash(image: Uint8Array<ArrayBuffer>): void {
  new Uint32Array(image.buffer, image.byteOffset, HEADER_WORDS).set(hashContent(image), Header.contentHash);
}

/** Whether the content still has the hash that the header names: a torn or altered image does not. */
export function verifyContentHash(image: Uint8Array<ArrayBuffer>): boolean {
  const header = new Uint32Array(image.buffer, image.byteOffset, HEADER_WORDS);
  return hashContent(image).every((word, index) => header[Header.contentHash + index] === word);
}

// Four multiply-rotate lanes over 32-bit words, mixed at the end. It tells images apart and finds torn ones;
// it does not defend against a forger, who could write the header as well.
function hashContent(image: Uint8Array<ArrayBuffer>): Uint32Array {
  const words = new Int32Array(image.buffer, image.byteOffset, image.byteLength >> 2);
  let one = 0x243f6a88;
  let two = 0x85a308d3;
  let three = 0x13198a2e;
  let four = 0x03707344;
  let index = HEADER_WORDS;
  for (; index + 4 <= words.length; index += 4) {
    one = Math.imul(rotate(one, 13) ^ words[index]!, 0x9e3779b1);
    two = Math.imul(rotate(two, 15) ^ words[index + 1]!, 0x85ebca77);
    three = Math.imul(rotate(three, 17) ^ words[index + 2]!, 0xc2b2ae3d);
    four = Math.imul(rotate(four, 19) ^ words[index + 3]!, 0x27d4eb2f);
  }
  for (; index < words.length; index++) one = Math.imul(rotate(one, 13) ^ words[index]!, 0x9e3779b1);
  one ^= words.length;
  for (let round = 0; round < 4; round++) {
    one = finish(one + two + round);
    two = finish(two + three);
    three = finish(three + four);
    four = finish(four + one);
  }
  return Uint32Array.of(one, two, three, four);
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

function finish(word: number): number {
  let mixed = word ^ (word >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
