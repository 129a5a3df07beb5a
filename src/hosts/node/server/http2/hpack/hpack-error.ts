/** A field block that cannot be decoded: the peer's table and ours are no longer the same (RFC 9113 section 4.3). */
export class HpackError extends Error {}
