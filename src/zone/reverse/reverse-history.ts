import { ClaimOrders } from "./claim-orders.ts";
import { type AddressKey, type CurrentClaim, orderRestored, type ReverseClaim } from "./reverse-order.ts";

/** What is known of the claims on addresses before a generation is compiled. */
export interface ReverseHistory {
  /** Where several claims were made on an address: all of them, first come first. */
  readonly orders: ClaimOrders;
  /** The claims on an address that were answered from before, where nobody else made one. */
  readonly claimsOn: (bytes: Uint8Array) => readonly ReverseClaim[];
  /** Clusters whose snapshots were loaded and not compiled yet: nothing but `orders` knows which of their claims came first. */
  readonly restored: ReadonlySet<string>;
  /** Whether a cluster reports the address now, answered from or not. */
  readonly reports: (claim: ReverseClaim, address: AddressKey) => boolean;
}

/** Before anything was claimed. */
export const NO_HISTORY: ReverseHistory = {
  orders: ClaimOrders.none,
  claimsOn: () => [],
  restored: new Set(),
  reports: () => false,
};

/** The claims on an address whose order is not known, first come first. @param current those that are made now */
export function knownClaims(
  history: ReverseHistory,
  bytes: Uint8Array,
  current: readonly CurrentClaim[],
): readonly ReverseClaim[] {
  const before = history.claimsOn(bytes);
  return before.length > 0 ? before : orderRestored(current, history.restored);
}
