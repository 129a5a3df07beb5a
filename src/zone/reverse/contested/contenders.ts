import { claimsOf, compareCandidates, type ReverseCandidate } from "../reverse-candidate.ts";
import { type CurrentClaim, claimant, LOST, type ReverseClaim } from "../reverse-order.ts";

/** A candidate that claims an address for all views. */
export interface Contender {
  readonly candidate: ReverseCandidate;
  /** The oldest first. */
  readonly claims: readonly ReverseClaim[];
}

/** The candidates that claim the address for all views, one for each claim, by service. */
export function contendersOf(candidates: readonly ReverseCandidate[]): Contender[] {
  const byClaims = new Map<string, Contender>();
  for (const candidate of candidates
    .filter(({ source }) => source.view === undefined)
    .sort(compareCandidates)) {
    const claims = claimsOf(candidate.source);
    const key = claims.join("|");
    if (!byClaims.has(key)) byClaims.set(key, { candidate, claims });
  }
  return [...byClaims.values()];
}

/** The first candidate for each single view, by the view's name. */
export function ofViews(candidates: readonly ReverseCandidate[]): ReverseCandidate[] {
  const byView = new Map<string, ReverseCandidate>();
  for (const candidate of candidates
    .filter(({ source }) => source.view !== undefined)
    .sort(compareCandidates)) {
    const view = candidate.source.view!;
    if (!byView.has(view)) byView.set(view, candidate);
  }
  return [...byView].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, candidate]) => candidate);
}

/** The claims that are made now. */
export function currentOf(contenders: readonly Contender[]): CurrentClaim[] {
  return contenders.flatMap(({ candidate: { source }, claims }) =>
    claims.map((claim, place) => ({ claim, since: source.since, place })),
  );
}

/** The first claim in an order that somebody has, and who has it: nobody, where it was lost. */
export function firstOf(
  order: readonly ReverseClaim[],
  contenders: readonly Contender[],
): { readonly first: ReverseClaim; readonly winner: Contender | undefined } {
  const holderOf = (claim: ReverseClaim) => contenders.find(({ claims }) => claims.includes(claim));
  const first = order.find((claim) => claim === LOST || holderOf(claim) !== undefined)!;
  return { first, winner: holderOf(first) };
}

/** The claims that lost an address to the claim `first` of another cluster and another name. */
export function losersOf(
  contenders: readonly Contender[],
  winner: Contender | undefined,
  first: ReverseClaim,
): ReverseClaim[] {
  return contenders.flatMap((contender) => {
    const loser = contender.claims[0]!;
    const isOfWinner = winner !== undefined && nameOf(contender) === nameOf(winner);
    return isOfWinner || claimant(loser) === claimant(first) ? [] : loser;
  });
}

function nameOf({ candidate: { source, label } }: Contender): string {
  return [source.tree, label, ...source.above].join(".");
}
