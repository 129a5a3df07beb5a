import { parseDigest } from "./digests.ts";

/** The length of a SHA-256 in words of 32 bits. */
const WORDS = 8;

/**
 * Secrets of one kind by their SHA-256, each with its holder. Several secrets may have one holder, for rotation.
 * Secrets with two parts (a name and a password) have two digests in a row.
 */
export class SecretTable<Holder> {
  readonly #holders: readonly Holder[];
  readonly #words: Int32Array;
  readonly #parts: number;

  /** @throws {RangeError} if a digest is not 64 hex digits */
  constructor(secrets: readonly (readonly [holder: Holder, ...digests: string[]])[]) {
    this.#holders = secrets.map(([holder]) => holder);
    this.#parts = (secrets[0]?.length ?? 2) - 1;
    this.#words = new Int32Array(secrets.length * this.#parts * WORDS);
    let at = 0;
    for (const [, ...digests] of secrets)
      for (const text of digests) {
        const digest = parseDigest(text);
        if (digest === undefined) throw new RangeError("a secret needs a SHA-256 of 64 hex digits");
        this.#words.set(wordsOf(digest), at);
        at += WORDS;
      }
  }

  get size(): number {
    return this.#holders.length;
  }

  /** The holder of the first secret with these digests. All are compared to their end, in the same time whichever matches. */
  find(...digests: Uint8Array[]): Holder | undefined {
    const parts = digests.map(wordsOf);
    let found = -1;
    let at = 0;
    for (let index = 0; index < this.#holders.length; index++) {
      let difference = 0;
      for (const words of parts)
        for (let word = 0; word < WORDS; word++) difference |= words[word]! ^ this.#words[at++]!;
      // Without a branch: all ones if it matches; the first match stays.
      const fits = (difference === 0 ? -1 : 0) & (found >> 31);
      found = (fits & index) | (~fits & found);
    }
    return found === -1 ? undefined : this.#holders[found];
  }
}

function wordsOf(digest: Uint8Array): Int32Array {
  return new Int32Array(digest.slice().buffer, 0, WORDS);
}
