import { formatAddress } from "../../../dns/address.ts";
import type { ClusterFinding } from "../../../merge/clusterset.ts";
import { type AddressKey, addressOf, LOST, type ReverseClaim, splitClaim } from "../reverse-order.ts";

/** Addresses that one finding lists. */
const MOST_LISTED = 5;
/** Addresses of one step. */
const ADDRESSES_IN_STEP = 2048;

/** What one claim lost. */
interface Losses {
  /** By address: the first claim on it. */
  readonly addresses: Map<AddressKey, ReverseClaim>;
  /** Undefined since they changed. */
  finding: ClusterFinding | undefined;
}

/** The reverse names that claims did not get. */
export class ReverseLosses {
  /** By the claim that lost. */
  readonly #losses = new Map<ReverseClaim, Losses>();
  /** By address: the claims that lost it. */
  readonly #losers = new Map<AddressKey, readonly ReverseClaim[]>();
  /** Undefined since one changed. */
  #findings: readonly ClusterFinding[] | undefined;

  /** Takes over who lost an address to the claim `first`. */
  set(address: AddressKey, first: ReverseClaim, losers: readonly ReverseClaim[]): void {
    const before = this.#losers.get(address) ?? [];
    if (before.length === 0 && losers.length === 0) return;
    this.#findings = undefined;
    for (const loser of before) {
      const own = this.#losses.get(loser);
      // A claim that lost with two names is listed twice.
      if (own === undefined) continue;
      own.addresses.delete(address);
      own.finding = undefined;
      if (own.addresses.size === 0) this.#losses.delete(loser);
    }
    if (losers.length === 0) {
      this.#losers.delete(address);
      return;
    }
    this.#losers.set(address, losers);
    for (const loser of losers) {
      const own = this.#losses.get(loser) ?? { addresses: new Map(), finding: undefined };
      this.#losses.set(loser, own);
      own.addresses.set(address, first);
      own.finding = undefined;
    }
  }

  /** A finding for each claim that lost addresses, in steps; the same list until one changes. */
  *findings(): Generator<void, readonly ClusterFinding[]> {
    if (this.#findings !== undefined) return this.#findings;
    const findings: ClusterFinding[] = [];
    let count = 0;
    for (const [claim, own] of this.#losses) {
      if (own.finding === undefined) {
        own.finding = findingOf(claim, own.addresses);
        count += own.addresses.size;
      }
      findings.push(own.finding);
      if (++count < ADDRESSES_IN_STEP) continue;
      count = 0;
      yield;
    }
    this.#findings = findings;
    return findings;
  }
}

function findingOf(claim: ReverseClaim, addresses: ReadonlyMap<AddressKey, ReverseClaim>): ClusterFinding {
  const { cluster, namespace, name } = splitClaim(claim);
  const lines = lowest(addresses.keys()).map((address) => describe(address, addresses.get(address)!));
  const more =
    addresses.size > lines.length ? `, and of ${addresses.size - lines.length} more addresses` : "";
  const message = `other clusters had the reverse names first: ${lines.join(", ")}${more}`;
  return { clusterId: cluster, reason: "ReverseNameTaken", kind: "Service", namespace, name, message };
}

/** The lowest addresses that are listed, IPv4 first. */
function lowest(addresses: Iterable<AddressKey>): AddressKey[] {
  const listed: AddressKey[] = [];
  for (const address of addresses) {
    if (listed.length === MOST_LISTED && compareKeys(address, listed.at(-1)!) > 0) continue;
    listed.push(address);
    listed.sort(compareKeys);
    if (listed.length > MOST_LISTED) listed.pop();
  }
  return listed;
}

function compareKeys(one: AddressKey, other: AddressKey): number {
  return one.length - other.length || (one < other ? -1 : 1);
}

function describe(address: AddressKey, first: ReverseClaim): string {
  const text = formatAddress(addressOf(address));
  if (first === LOST)
    return `${text} (who had it was lost: nobody has it until one cluster reports it alone)`;
  const { cluster, namespace, name } = splitClaim(first);
  return `${text} is of ${namespace}/${name} in ${JSON.stringify(cluster)}`;
}
