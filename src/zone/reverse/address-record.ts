import { type AddressId, keyOfId } from "./address-id.ts";
import type { ReverseCandidate } from "./reverse-candidate.ts";
import type { AddressKey } from "./reverse-order.ts";

export const NO_CANDIDATES: readonly ReverseCandidate[] = [];

/** An address that is contested, has targets for single views, or was not decided yet. */
export class AddressRecord {
  readonly id: AddressId;
  readonly address: AddressKey;
  candidates: readonly ReverseCandidate[];
  /** The candidates that won, at most one for each view. */
  winners: readonly ReverseCandidate[];
  /** Whether its only candidate won, and no order is known: the segment has everything of it. */
  isOrdinary = false;
  /** Whether it waits for the next decision. */
  isUndecided = false;

  constructor(id: AddressId, candidates: readonly ReverseCandidate[], winners: readonly ReverseCandidate[]) {
    this.id = id;
    this.address = keyOfId(id);
    this.candidates = candidates;
    this.winners = winners;
  }
}
