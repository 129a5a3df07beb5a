type Bytes = Uint8Array<ArrayBuffer>;

const NONE: Bytes = new Uint8Array(0);

/**
 * Bytes that come in parts. One part alone stays as it is. Further ones are copied into a buffer that
 * doubles: kept as they are, parts of one byte each take 25 to 370 times their size.
 */
export class GatheredBytes {
  #bytes = NONE;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  at(index: number): number {
    return this.#bytes[index]!;
  }

  /** Adds a part. The caller may reuse its memory, unless it is the only one. */
  add(part: Uint8Array): void {
    const before = this.#length;
    this.#length += part.length;
    if (before === 0) {
      this.#bytes = part as Bytes;
      return;
    }
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#length);
      larger.set(this.#bytes.subarray(0, before));
      this.#bytes = larger;
    }
    this.#bytes.set(part, before);
  }

  /** Removes the first bytes, without a copy. Default: all of them. */
  take(count = this.#length): Bytes {
    // The caller may transfer what it takes to another thread.
    const taken = count === 0 ? new Uint8Array(0) : this.#bytes.subarray(0, count);
    const rest = this.#bytes.subarray(count, this.#length);
    this.#length = rest.length;
    this.#bytes = rest.length === 0 ? NONE : rest;
    return taken;
  }
}
