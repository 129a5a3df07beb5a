import { bytesOfId } from "../address-id.ts";
import type { AddressRecord } from "../address-record.ts";
import type { ReverseCandidate } from "../reverse-candidate.ts";
import { knownClaims, type ReverseHistory } from "../reverse-history.ts";
import { claimant, isNeeded, LOST, orderClaims, type ReverseClaim } from "../reverse-order.ts";
import { contendersOf, currentOf, firstOf, losersOf, ofViews } from "./contenders.ts";

/** Who has an address. */
interface Decision {
  /** At most one for each view. */
  readonly winners: readonly ReverseCandidate[];
  /** The order of claims to be known from now on; undefined for none. */
  readonly order: readonly ReverseClaim[] | undefined;
  /** The first claim, if others lost to it. */
  readonly first: ReverseClaim;
  readonly losers: readonly ReverseClaim[];
}

const NOBODY = { first: LOST, losers: [] } as const;

/**
 * Decides who has an address. Where several claims are made on it, the first claim of those that are made now has it, whatever the age of the export.
 * @param known the order that is known @param live ids of the live clusters
 */
export function decideAddress(
  { id, address, candidates }: AddressRecord,
  known: readonly ReverseClaim[] | undefined,
  history: ReverseHistory,
  live: ReadonlySet<string>,
): Decision {
  if (candidates.length === 1 && known === undefined)
    return { winners: candidates, order: undefined, ...NOBODY };
  const contenders = contendersOf(candidates);
  const current = currentOf(contenders);
  const staysOn = (claim: ReverseClaim) => !live.has(claimant(claim)) || history.reports(claim, address);
  const views = ofViews(candidates);
  if (contenders.length > 1) {
    const order = orderClaims(known ?? knownClaims(history, bytesOfId(id), current), current, staysOn);
    const { first, winner } = firstOf(order, contenders);
    const winners = winner === undefined ? views : [winner.candidate, ...views];
    return { winners, order, first, losers: losersOf(contenders, winner, first) };
  }
  const [only] = contenders;
  const winners = only === undefined ? views : [only.candidate, ...views];
  const order = known && orderClaims(known, current, staysOn);
  const isKnown = order !== undefined && isNeeded(order, only?.claims ?? []);
  return { winners, order: isKnown ? order : undefined, ...NOBODY };
}
