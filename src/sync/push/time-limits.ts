/** Milliseconds. A large body may take long; nothing takes longer than that. */
const LONGEST = 60_000;
const SHORTEST = 5_000;
/** Bytes of a body that is sent within moments. */
const SMALL_BODY = 256 * 1024;

/**
 * Milliseconds after which a request counts as lost. Where packets get lost without a word, no other sign comes: a lease is renewed after a third of it,
 * so that a third is left for another attempt, on another connection.
 */
export function requestLimit(leaseSeconds: number, bodyBytes: number): number {
  return bodyBytes > SMALL_BODY ? LONGEST : between((leaseSeconds * 1000) / 3);
}

/**
 * Milliseconds after which a silent stream of the desired state counts as lost. The gateway writes leases at least every third of the shortest one, and
 * the reader's own is among them.
 */
export function silenceLimit(leaseSeconds: number): number {
  return between((leaseSeconds * 1000) / 2);
}

function between(milliseconds: number): number {
  // Node takes whole milliseconds alone: `AbortSignal.timeout`.
  return Math.floor(Math.min(LONGEST, Math.max(SHORTEST, milliseconds)));
}
