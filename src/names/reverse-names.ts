import { compareText } from "../merge/order.ts";
import { compareCandidates, type ReverseCandidate } from "../zone/kinds/tree-scope.ts";
import type { AddressClaim } from "./entries.ts";

/** The PTR records that the addresses of a key want, in the order of `compareAddresses`. */
export type WantedNames = readonly (readonly [address: Uint8Array, candidate: ReverseCandidate])[];

/** The PTR records that a claim's service wants for the address. */
type CandidatesOf = (claim: AddressClaim) => readonly ReverseCandidate[];

/** The claim that an address belongs to. */
export interface Holding {
  readonly claim: AddressClaim;
  /**
   * Why it has no reverse name: `hidden`: another cluster decides the type of the service, or where its
   * addresses come from. `lost`: it is not known which of several clusters was first, and `claim` is one of
   * them. Undefined where it has one.
   */
  readonly without?: "hidden" | "lost";
  /** The record; undefined if it has none. */
  readonly candidate?: ReverseCandidate;
}

/**
 * Whose an address is, for all views: that of the first live cluster that reports it by its own export,
 * whether or not it has a record now. A record that depends on what other clusters do takes no address from
 * anybody when it appears: imports of a cluster that may speak for others have a place in the order, and all
 * others come last.
 * @param claims of live clusters
 */
export function holderOf(claims: readonly AddressClaim[], candidatesOf: CandidatesOf): Holding | undefined {
  const inOrder = claims
    .filter(({ basis }) => basis === "export" || basis === "import")
    .sort((one, other) => Math.abs(one.order) - Math.abs(other.order));
  // Since always, as merging has it.
  const isGranted = ({ basis }: AddressClaim, { source }: ReverseCandidate) =>
    basis === "export" || source.since === Number.NEGATIVE_INFINITY;
  for (let from = 0; from < inOrder.length; ) {
    const [first] = inOrder.slice(from);
    const together = inOrder.slice(from).filter(({ order }) => order === first!.order);
    from += together.length;
    const best = bestOf(together, candidatesOf, isGranted);
    const exported = together.find(({ basis }) => basis === "export");
    const holding = best ?? (exported && { claim: exported, without: "hidden" as const });
    if (holding === undefined || (best === undefined && first!.order === 0)) continue;
    const isLost = inOrder.some(
      (one) =>
        one.order < 0 &&
        one.clusterId !== holding.claim.clusterId &&
        (one.basis === "export" || bestOf([one], candidatesOf, isGranted) !== undefined),
    );
    return isLost ? { claim: holding.claim, without: "lost" } : holding;
  }
  return bestOf(
    claims.filter(({ basis }) => basis === "import" || basis === "other"),
    candidatesOf,
    () => true,
  );
}

/**
 * The oldest part in its service that has a record, then by name; of the same cluster one with a hostname.
 */
function bestOf(
  claims: readonly AddressClaim[],
  candidatesOf: CandidatesOf,
  counts: (claim: AddressClaim, candidate: ReverseCandidate) => boolean,
): { readonly claim: AddressClaim; readonly candidate: ReverseCandidate } | undefined {
  const found = claims.flatMap((claim) =>
    candidatesOf(claim).flatMap((candidate) => {
      const { view, claimants } = candidate.source;
      const place = claimants.indexOf(claim.clusterId);
      return view === undefined && place >= 0 && counts(claim, candidate) ? { claim, candidate, place } : [];
    }),
  );
  const inOrder = found.sort(
    (one, other) =>
      compareNumbers(one.candidate.source.since, other.candidate.source.since) ||
      one.place - other.place ||
      compareText(textOf(one.claim), textOf(other.claim)),
  );
  const [first] = inOrder;
  // Of what one cluster says of an address, a hostname comes first.
  const isCalled = ({ claim, candidate }: (typeof found)[number]) =>
    claim.clusterId === first!.claim.clusterId && candidate.label !== undefined;
  const best = inOrder.find(isCalled) ?? first;
  return best && { claim: best.claim, candidate: best.candidate };
}

/**
 * The record that wins in the view of a cluster: one for that view alone, else one for all views of an
 * address that the cluster reports itself.
 */
function ownCandidate(
  claims: readonly AddressClaim[],
  candidatesOf: CandidatesOf,
  cluster: string,
): ReverseCandidate | undefined {
  const own = claims
    .filter(({ clusterId }) => clusterId === cluster)
    .flatMap(candidatesOf)
    .sort(compareCandidates);
  return (
    own.find(({ source }) => source.view === cluster) ??
    own.find(({ source }) => source.view === undefined && source.claimants.includes(cluster))
  );
}

/** The name of an address. @param cluster the cluster of the view */
export function reverseName(
  claims: readonly AddressClaim[],
  candidatesOf: CandidatesOf,
  cluster: string | undefined,
): ReverseCandidate | undefined {
  const own = cluster === undefined ? undefined : ownCandidate(claims, candidatesOf, cluster);
  return own ?? holderOf(claims, candidatesOf)?.candidate;
}

/** What is wanted for an address. */
export function candidatesFor(wanted: WantedNames, address: Uint8Array): readonly ReverseCandidate[] {
  let [first, end] = [0, wanted.length];
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (compareAddresses(wanted[middle]![0], address) < 0) first = middle + 1;
    else end = middle;
  }
  while (end < wanted.length && compareAddresses(wanted[end]![0], address) === 0) end++;
  return wanted.slice(first, end).map(([, candidate]) => candidate);
}

function textOf({ clusterId, key }: AddressClaim): string {
  return `${clusterId} ${key}`;
}

/** Infinity is as old as Infinity. */
function compareNumbers(one: number, other: number): number {
  return one === other ? 0 : one - other;
}

/** IPv4 addresses first. */
export function compareAddresses(one: Uint8Array, other: Uint8Array): number {
  const end = one.length;
  let order = end - other.length;
  for (let index = 0; order === 0 && index < end; index++) order = one[index]! - other[index]!;
  return order;
}

/**
 * Claims on one address with the order of their clusters: since when a cluster has reported the address on
 * the basis, for the first namespace.
 * @param claims what exists in a scope
 */
export function withFirstOrders(claims: readonly AddressClaim[]): AddressClaim[] {
  const first = new Map<string, number>();
  for (const { clusterId, basis, order } of claims) {
    const id = `${basis} ${clusterId}`;
    const known = first.get(id);
    if (known === undefined || Math.abs(order) < Math.abs(known)) first.set(id, order);
  }
  return claims.map((claim) => ({ ...claim, order: first.get(`${claim.basis} ${claim.clusterId}`)! }));
}
