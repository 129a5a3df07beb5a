import { DNS_MESSAGE } from "../media-type.ts";

/** How many header objects are kept: lengths and lifetimes are few where a zone is asked. */
const MOST_KEPT = 4096;

/**
 * The header fields of answers that any origin may read, or none. Most answers have the same few lengths and
 * lifetimes, and a new object for each is the larger part of what header fields cost, so they are kept.
 */
export class PlainHeaders {
  readonly #others: Readonly<Record<string, string>>;
  readonly #scope: string;
  readonly #kept = new Map<number, Readonly<Record<string, string>>>();

  /**
   * @param vary the Vary field, where there is one
   * @param isPrivate whether only the client's own cache may keep the answers
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

  /** The fields of an answer of `length` octets that is fresh for `freshness` seconds. Not to be changed. */
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
