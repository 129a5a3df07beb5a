/** The version of what is kept in the engine. Another one is neither read nor written. */
export const FORMAT_VERSION = "2";

/** The names of all keys. The braces are a hash tag: in a cluster of the engine one node has all of them. */
export class LogKeys {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = `{${prefix}}`;
  }

  /** A hash: `format`, the name of the `log`, `position` and `id` of the newest entry, `founding`, and for trimming `bytes` and `mark`. */
  get head(): string {
    return `${this.#prefix}:head`;
  }

  /** A stream: an entry at each position. */
  get log(): string {
    return `${this.#prefix}:log`;
  }

  /** A hash: by cluster id the sum of its row, when its lease ends by the engine's clock, and the row. */
  get clusters(): string {
    return `${this.#prefix}:clusters`;
  }

  /** A hash: the rows of a cluster, see `row-text.ts`. */
  rows(cluster: string): string {
    return `${this.#prefix}:rows:${cluster}`;
  }

  /** A list: rows of a change that are too large for its entry, fields and values in turns. */
  change(id: string): string {
    return `${this.#prefix}:change:${id}`;
  }
}
