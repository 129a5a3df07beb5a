import { HEADER_WORDS, Header } from "./layout.ts";

/** Writes the hash of the content after the header into the header. */
export function fillContentHash(image: Uint8Array<ArrayBuffer>): void {
  new Uint32Array(image.buffer, image.byteOffset, HEADER_WORDS).set(hashContent(image), Header.contentHash);
}

/** Whether the content has the hash in the header; a torn or altered image does not. */
export function verifyContentHash(image: Uint8Array<ArrayBuffer>): boolean {
  return new ContentCheck(image).advance(image.length)!;
}

/** `verifyContentHash` in slices, for callers that must not block for the whole image. */
export class ContentCheck {
  readonly #image: Uint8Array<ArrayBuffer>;
  readonly #hash: ContentHash;

  constructor(image: Uint8Array<ArrayBuffer>) {
    this.#image = image;
    this.#hash = new ContentHash(image);
  }

  /** Reads the next `octets` bytes. @returns whether the hash matches, after the last slice; before it undefined */
  advance(octets: number): boolean | undefined {
    if (!this.#hash.advance(octets >> 2)) return undefined;
    const { buffer, byteOffset } = this.#image;
    const header = new Uint32Array(buffer, byteOffset, HEADER_WORDS);
    return this.#hash.end().every((word, index) => header[Header.contentHash + index] === word);
  }
}

function hashContent(image: Uint8Array<ArrayBuffer>): Uint32Array {
  const hash = new ContentHash(image);
  hash.advance(image.length);
  return hash.end();
}

// Four multiply-rotate lanes over 32-bit words, mixed at the end. It distinguishes images and detects torn ones.
// It does not detect forged images: a forger can write the header, too.
class ContentHash {
  readonly #words: Int32Array;
  readonly #lanes = Int32Array.of(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344);
  #index = HEADER_WORDS;

  constructor(image: Uint8Array<ArrayBuffer>) {
    this.#words = new Int32Array(image.buffer, image.byteOffset, image.byteLength >> 2);
  }

  /** Reads about `most` words, fewer at the end. @returns whether all words are read */
  advance(most: number): boolean {
    const words = this.#words;
    const end = Math.min(words.length, this.#index + most);
    let [one, two, three, four] = this.#lanes as unknown as [number, number, number, number];
    let index = this.#index;
    for (; index < end && index + 4 <= words.length; index += 4) {
      one = Math.imul(rotate(one, 13) ^ words[index]!, 0x9e3779b1);
      two = Math.imul(rotate(two, 15) ^ words[index + 1]!, 0x85ebca77);
      three = Math.imul(rotate(three, 17) ^ words[index + 2]!, 0xc2b2ae3d);
      four = Math.imul(rotate(four, 19) ^ words[index + 3]!, 0x27d4eb2f);
    }
    this.#lanes.set([one, two, three, four]);
    this.#index = index;
    return index + 4 > words.length;
  }

  end(): Uint32Array {
    const words = this.#words;
    let [one, two, three, four] = this.#lanes as unknown as [number, number, number, number];
    for (let index = this.#index; index < words.length; index++)
      one = Math.imul(rotate(one, 13) ^ words[index]!, 0x9e3779b1);
    one ^= words.length;
    for (let round = 0; round < 4; round++) {
      one = finish(one + two + round);
      two = finish(two + three);
      three = finish(three + four);
      four = finish(four + one);
    }
    return Uint32Array.of(one, two, three, four);
  }
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
