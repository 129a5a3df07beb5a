import type { SourceProblem } from "./degradations.ts";

/**
 * The failures of one resource since it last worked. They become a problem after a while, since an API server may restart; and so does another
 * code, since a starting one forbids for a moment what it allows.
 */
export class Failures {
  readonly #problemAfter: number;
  #since: number | undefined;
  #code = "";
  #other: { readonly code: string; readonly since: number } | undefined;

  /** @param problemAfter milliseconds */
  constructor(problemAfter: number) {
    this.#problemAfter = problemAfter;
  }

  /** @param now by `performance.now()` */
  failed(code: string, now: number): void {
    if (this.#since === undefined) [this.#since, this.#code] = [now, code];
    else if (code === this.#code) this.#other = undefined;
    else if (code !== this.#other?.code) this.#other = { code, since: now };
  }

  /** It works, or nothing is expected of it. */
  over(): void {
    this.#since = undefined;
    this.#other = undefined;
  }

  /** What is wrong at `now`, with the begin of all failures; undefined if nothing is, or not for long enough. */
  problem(now: number): SourceProblem | undefined {
    if (this.#since === undefined || now - this.#since < this.#problemAfter) return undefined;
    if (this.#other !== undefined && now - this.#other.since >= this.#problemAfter) {
      this.#code = this.#other.code;
      this.#other = undefined;
    }
    return { code: this.#code, since: this.#since };
  }
}
