/** The longest DNS message in bytes, as in `application/dns-message` (RFC 8484 section 6). */
export const MAX_MESSAGE_BYTES = 65535;

/**
 * The longest answer with addresses for a client without an OPT record. curl is such a client: it
 * reads 3,000 bytes with its own terminator and rejects longer answers. Further addresses are left out, which
 * KEP-1645 (DNS) allows: "the entire set or the subset of ready pod IPs, depending on … endpoint count".
 */
export const PLAIN_CLIENT_BYTES = 2999;

/** The answer size in bytes that every client accepts over UDP (RFC 1035 section 4.2.1); a smaller size in an OPT record counts as this one (RFC 6891 section 6.2.5). */
export const SMALLEST_PAYLOAD_BYTES = 512;

/** Answers to padded queries are padded to a multiple of this (RFC 8467 section 4.1). */
export const PADDING_BLOCK_BYTES = 468;

/** The UDP payload size announced in our OPT record (RFC 9715). */
export const ANNOUNCED_PAYLOAD_BYTES = 1232;

/**
 * The longest time in seconds that HTTP caches may keep a stale answer: at most until the
 * secondary's next request to its primary (docs/reference/transfer.md). The records' TTLs do not change.
 */
export const STALE_FRESHNESS_SECONDS = 1;
