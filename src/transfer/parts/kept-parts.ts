type Bytes = Uint8Array<ArrayBuffer>;

/** Roots and segments that were replaced, each for a while and all together within a bound of bytes, so that secondaries can finish what they began. */
export class KeptParts {
  readonly #mostBytes: number;
  readonly #keptFor: number;
  /** By the time at which they were named last. */
  readonly #parts = new Map<string, { readonly bytes: Bytes; readonly at: number }>();
  #bytes = 0;

  /**
   * @param mostBytes of all of them together
   * @param keptFor milliseconds
   */
  constructor(mostBytes: number, keptFor: number) {
    this.#mostBytes = mostBytes;
    this.#keptFor = keptFor;
  }

  /** Keeps a part that a state named at `at`, which is no earlier than that of any other part. */
  keep(key: string, bytes: Bytes, at: number): void {
    this.drop(key);
    this.#parts.set(key, { bytes, at });
    this.#bytes += bytes.length;
    for (const [oldest, part] of this.#parts) {
      if (this.#bytes <= this.#mostBytes && at - part.at < this.#keptFor) break;
      this.drop(oldest);
    }
  }

  /** Undefined where it is not kept, or was named too long ago. */
  get(key: string, now: number): Bytes | undefined {
    const part = this.#parts.get(key);
    return part !== undefined && now - part.at < this.#keptFor ? part.bytes : undefined;
  }

  drop(key: string): void {
    this.#bytes -= this.#parts.get(key)?.bytes.length ?? 0;
    this.#parts.delete(key);
  }
}
