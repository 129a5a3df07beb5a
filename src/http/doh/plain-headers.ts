import { DNS_MESSAGE } from "../messages/fields.ts";

/** The number of cached header objects: the answers of a zone have few lengths and lifetimes. */
const MOST_KEPT = 4096;

/**
 * The header fields of answers that any origin may read, or none. Most answers have the same few lengths and lifetimes.
 * A new object for each answer would be most of the cost of header fields, so the objects are cached.
 */
export class PlainHeaders {
  readonly #others: Readonly<Record<string, string>>;
  readonly #scope: string;
  readonly #kept = new Map<number, Readonly<Record<string, string>>>();

  /**
   * @param vary the Vary field, if any
   * @param isPrivate whether only the client's own cache may store the answers
   * @param anyOrigin whether scripts of every origin may read the answers
   */
  constructor(vary: string | undefined, isPrivate: boolean, anyOrigin: boolean) {
    this.#scope = isPrivate ? "private, " : "";
    this.#others = {
      ...(anyOrigin && {
        "access-control-allow-origin": "*",
        "access-control-expose-headers": "age, etag",
      }),
      ...(vary !== undefined && { vary }),
    };
  }

  /** The fields of an answer of `length` bytes with a freshness in seconds. Callers must not change them. */
  of(length: number, freshness: number): Record<string, string> {
    const key = freshness * 0x10000 + length;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    const headers = Object.freeze({
      "content-length": String(length),
      "content-type": DNS_MESSAGE,
      "cache-control": freshness > 0 ? `${this.#scope}max-age=${freshness}` : "no-store",
      ...this.#others,
    });
    this.#kept.set(key, headers);
    return headers;
  }
}
