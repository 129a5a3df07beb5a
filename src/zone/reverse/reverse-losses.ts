import { formatAddress } from "../../dns/address.ts";
import type { ClusterFinding } from "../../merge/clusterset.ts";
import { type AddressKey, addressOf, LOST, type ReverseClaim, splitClaim } from "./reverse-order.ts";

/** Addresses that one finding lists. */
const MOST_LISTED = 5;

/** The reverse names that claims did not get. */
export class ReverseLosses {
  /** By the claim that lost: the first claim on each address. */
  readonly #losses = new Map<ReverseClaim, Map<AddressKey, ReverseClaim>>();
  /** By address: the claims that lost it. */
  readonly #losers = new Map<AddressKey, readonly ReverseClaim[]>();

  /** Takes over who lost an address to the claim `first`. */
  set(address: AddressKey, first: ReverseClaim, losers: readonly ReverseClaim[]): void {
    for (const loser of this.#losers.get(address) ?? []) {
      const own = this.#losses.get(loser)!;
      own.delete(address);
      if (own.size === 0) this.#losses.delete(loser);
    }
    if (losers.length === 0) {
      this.#losers.delete(address);
      return;
    }
    this.#losers.set(address, losers);
    for (const loser of losers) {
      const own = this.#losses.get(loser) ?? new Map<AddressKey, ReverseClaim>();
      this.#losses.set(loser, own);
      own.set(address, first);
    }
  }

  /** A finding for each claim that lost addresses. */
  findings(): ClusterFinding[] {
    return Array.from(this.#losses, ([claim, addresses]) => {
      const { cluster, namespace, name } = splitClaim(claim);
      const lines: string[] = [];
      for (const [address, first] of addresses) {
        if (lines.length === MOST_LISTED) break;
        lines.push(describe(address, first));
      }
      const more =
        addresses.size > lines.length ? `, and of ${addresses.size - lines.length} more addresses` : "";
      const message = `other clusters had the reverse names first: ${lines.join(", ")}${more}`;
      return { clusterId: cluster, reason: "ReverseNameTaken", kind: "Service", namespace, name, message };
    });
  }
}

function describe(address: AddressKey, first: ReverseClaim): string {
  const text = formatAddress(addressOf(address));
  if (first === LOST)
    return `${text} (who had it was lost: nobody has it until one cluster reports it alone)`;
  const { cluster, namespace, name } = splitClaim(first);
  return `${text} is of ${namespace}/${name} in ${JSON.stringify(cluster)}`;
}
