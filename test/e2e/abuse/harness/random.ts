/** Numbers that a seed decides, so that an attack can be repeated. */
export class Random {
  #state: number;

  constructor(seed: number) {
    // Neighbouring seeds start far apart, and never at 0, which xorshift does not leave.
    this.#state = (Math.imul(seed + 1, 0x9e3779b1) ^ (seed >>> 7)) | 1;
    for (let turn = 0; turn < 8; turn++) this.#next();
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    return this.#next() % limit;
  }

  /** True once in so many times. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  #next(): number {
    let state = this.#state;
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    this.#state = state;
    return state >>> 0;
  }
}

/** Cuts bytes at up to `most` random places. */
export function cutAtRandom(random: Random, bytes: Buffer, most: number): Buffer[] {
  const places = Array.from({ length: 1 + random.below(most) }, () => random.below(bytes.length + 1));
  const cuts = [0, ...places.sort((one, other) => one - other), bytes.length];
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}
