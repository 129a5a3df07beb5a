import type { UsedPart } from "./follow-parts.ts";

/** Roots and segments that were replaced, each for a while and all together within a bound of bytes, so that secondaries can finish what they began. */
export class KeptParts {
  readonly #mostBytes: number;
  readonly #keptFor: number;
  /** By the time at which they were named last. */
  readonly #parts = new Map<string, { readonly part: UsedPart; readonly at: number }>();
  #bytes = 0;

  /**
   * @param mostBytes of all of them together that are in memory
   * @param keptFor milliseconds
   */
  constructor(mostBytes: number, keptFor: number) {
    this.#mostBytes = mostBytes;
    this.#keptFor = keptFor;
  }

  /** Keeps a part that a state named at `at`, which is no earlier than that of any other part. */
  keep(key: string, part: UsedPart, at: number): void {
    this.drop(key);
    this.#parts.set(key, { part, at });
    this.#bytes += part.heldBytes;
    for (const [oldest, kept] of this.#parts) {
      if (this.#bytes <= this.#mostBytes && at - kept.at < this.#keptFor) break;
      this.drop(oldest);
    }
  }

  /** Undefined where it is not kept, or was named too long ago. */
  get(key: string, now: number): UsedPart | undefined {
    const kept = this.#parts.get(key);
    return kept !== undefined && now - kept.at < this.#keptFor ? kept.part : undefined;
  }

  drop(key: string): void {
    this.#bytes -= this.#parts.get(key)?.part.heldBytes ?? 0;
    this.#parts.delete(key);
  }
}
