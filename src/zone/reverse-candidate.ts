import { compareText } from "../merge/order.ts";
import type { TreeKey } from "./name-tree.ts";

/** What candidates of one service have in common. */
export interface CandidateSource {
  readonly namespace: string;
  readonly name: string;
  readonly tree: TreeKey;
  /** The view that the record is for; undefined for all views without a record of their own. */
  readonly view: string | undefined;
  /**
   * Which candidate for one view wins: a cluster IP of the cluster's own zone (0), an endpoint in it (1), an address of the clusterset (2); in a
   * cluster's own view its cluster-local reverse names win (specification 2.3.3, Limitations).
   */
  readonly rank: 0 | 1 | 2;
  /** Unix milliseconds: among candidates of one rank the oldest wins; decides between claims that are new together. */
  readonly since: number;
  /** In seconds. */
  readonly ttl: number;
  /** The clusters on whose leases the record depends. */
  readonly clusters: readonly string[];
  /** The labels of the name after its first one. */
  readonly above: readonly string[];
  /** The clusters that claim the address, the oldest first; none for a record of one view, which concerns its own cluster alone. */
  readonly claimants: readonly string[];
}

/** A PTR record that a service wants for an address. */
export interface ReverseCandidate {
  readonly source: CandidateSource;
  /** The first label of its name; undefined for the address with dashes. */
  readonly label: string | undefined;
}

/** Whether two lists have the same texts. */
export function areSameTexts(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((text, index) => text === other[index]));
}

/** The order of candidates for one view: the first one wins. An endpoint that its cluster gives a hostname is called so (Kerberos, Kafka). */
export function compareCandidates(left: ReverseCandidate, right: ReverseCandidate): number {
  const { source: one } = left;
  const { source: other } = right;
  return (
    one.rank - other.rank ||
    Number(left.label === undefined) - Number(right.label === undefined) ||
    compareNumbers(one, other) ||
    compareServices(one, other)
  );
}

function compareNumbers(one: CandidateSource, other: CandidateSource): number {
  if (one.view === undefined || one.since === other.since) return 0;
  return one.since < other.since ? -1 : 1;
}

function compareServices(one: CandidateSource, other: CandidateSource): number {
  return compareText(one.namespace, other.namespace) || compareText(one.name, other.name);
}
