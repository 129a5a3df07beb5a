/** The version of what is kept in the engine. Another one is neither read nor written. */
export const FORMAT_VERSION = "1";

/** The names of all keys. The braces are a hash tag: in a cluster of the engine one node has all of them. */
export class LogKeys {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = `{${prefix}}`;
  }

  /** A hash: `format`, `position` and `id` of the newest entry, `founding`, and for trimming `bytes` and `mark`. */
  get head(): string {
    return `${this.#prefix}:head`;
  }

  /** A stream: an entry at each position. */
  get log(): string {
    return `${this.#prefix}:log`;
  }

  /** A hash: the record of each cluster, by its id. */
  get clusters(): string {
    return `${this.#prefix}:clusters`;
  }

  /** A hash: the order of claims of each contested address. */
  get addresses(): string {
    return `${this.#prefix}:addresses`;
  }

  /** A hash: the position at which each cluster left last, by its id. */
  get left(): string {
    return `${this.#prefix}:left`;
  }

  /** A hash: the entries of a cluster. A whole state gets a new version. */
  entries(clusterId: string, version: string): string {
    return `${this.#prefix}:entries:${clusterId}:${version}`;
  }

  /** A hash: the ranks of a cluster. It stays when the cluster goes. */
  sights(clusterId: string): string {
    return `${this.#prefix}:sights:${clusterId}`;
  }
}
