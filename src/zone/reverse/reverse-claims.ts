import { formatAddress } from "../../dns/address.ts";
import type { ClusterFinding } from "../../merge/clusterset.ts";
import {
  type AddressKey,
  addressKey,
  type CurrentClaim,
  claimant,
  LOST,
  orderClaims,
  orderRestored,
  type ReverseClaim,
  type ReverseHistory,
  splitClaim,
} from "./reverse-order.ts";
import type { ContestedAddress, ReverseTable } from "./reverse-table.ts";

/** A service with the clusters that report addresses of it. */
export interface Claimed {
  readonly claims: readonly ReverseClaim[];
  /** From when the first of them has its part in the service, in Unix milliseconds. */
  readonly since: number;
}

/** Addresses that one finding lists. */
const MOST_LISTED = 5;

/** The claims on reverse names while an image is compiled, and what is known of them afterwards. */
export class ReverseClaims {
  readonly #table: ReverseTable;
  /** Claim n is at n - 1. */
  readonly #claimed: Claimed[] = [];
  readonly #losses = new Map<ReverseClaim, { readonly lines: string[]; count: number }>();
  #orders: ReadonlyMap<string, readonly ReverseClaim[]> = new Map();

  constructor(table: ReverseTable) {
    this.#table = table;
  }

  /** A number for the targets of `claimed`. */
  add(claimed: Claimed): number {
    return this.#claimed.push(claimed);
  }

  /**
   * Decides who has the addresses on which several claims are made: the first claim of those that are made now, whatever the age of the
   * export.
   * @returns a finding for each claim of another cluster that came later
   */
  settle(history: ReverseHistory, live: ReadonlySet<string>): ClusterFinding[] {
    const staysOn = (key: AddressKey) => (claim: ReverseClaim) =>
      !live.has(claimant(claim)) || history.reports(claim, key);
    const orders = new Map<string, readonly ReverseClaim[]>();
    for (const contested of this.#table.contested()) {
      const { octets, contenders } = contested;
      const key = addressKey(octets);
      const current = contenders.flatMap(({ claim }) => this.#currentOf(claim));
      const known = history.orders.get(key) ?? knownOf(history, octets, current);
      const order = orderClaims(known, current, staysOn(key));
      orders.set(key, order);
      this.#decide(contested, order);
    }
    this.#table.settled();
    for (const [key, known] of history.orders) {
      if (orders.has(key)) continue;
      const claim = this.#table.claimOn(octetsOf(key));
      const order = orderClaims(known, claim === 0 ? [] : this.#currentOf(claim), staysOn(key));
      if (isNeeded(order, claim === 0 ? [] : this.#claimed[claim - 1]!.claims)) orders.set(key, order);
    }
    this.#orders = orders;
    return this.#findings();
  }

  /** What the next image is compiled with. */
  history(): ReverseHistory {
    return {
      orders: this.#orders,
      claimsOn: (octets) => this.#claimed[this.#table.claimOn(octets) - 1]?.claims ?? [],
      restored: new Set(),
      reports: () => false,
    };
  }

  #currentOf(claim: number): CurrentClaim[] {
    const { claims, since } = this.#claimed[claim - 1]!;
    return claims.map((one) => ({ claim: one, since }));
  }

  #decide(contested: ContestedAddress, order: readonly ReverseClaim[]): void {
    const { octets, contenders } = contested;
    const claimsOf = (claim: number) => this.#claimed[claim - 1]!.claims;
    const first = order.find(
      (claim) => claim === LOST || contenders.some((one) => claimsOf(one.claim).includes(claim)),
    );
    const winner = contenders.find(({ claim }) => claimsOf(claim).includes(first!));
    this.#table.decide(contested, winner);
    for (const { claim, node } of contenders) {
      const loser = claimsOf(claim)[0]!;
      if (node === winner?.node || claimant(loser) === claimant(first!)) continue;
      const losses = this.#losses.get(loser) ?? { lines: [], count: 0 };
      this.#losses.set(loser, losses);
      losses.count++;
      if (losses.lines.length < MOST_LISTED) losses.lines.push(describe(octets, first!));
    }
  }

  #findings(): ClusterFinding[] {
    return Array.from(this.#losses, ([claim, { lines, count }]) => {
      const { cluster, namespace, name } = splitClaim(claim);
      const more = count > lines.length ? `, and of ${count - lines.length} more addresses` : "";
      const message = `other clusters had the reverse names first: ${lines.join(", ")}${more}`;
      return { clusterId: cluster, reason: "ReverseNameTaken", kind: "Service", namespace, name, message };
    });
  }
}

function describe(octets: Uint8Array, first: ReverseClaim): string {
  if (first === LOST)
    return `${formatAddress(octets)} (who had it was lost: nobody has it until one cluster reports it alone)`;
  const { cluster, namespace, name } = splitClaim(first);
  return `${formatAddress(octets)} is of ${namespace}/${name} in ${JSON.stringify(cluster)}`;
}

function knownOf(
  history: ReverseHistory,
  octets: Uint8Array,
  current: readonly CurrentClaim[],
): readonly ReverseClaim[] {
  const before = history.claimsOn(octets);
  return before.length > 0 ? before : orderRestored(current, history.restored);
}

/** Whether an order says more than the claims that are answered from. */
function isNeeded(order: readonly ReverseClaim[], current: readonly ReverseClaim[]): boolean {
  if (current.length > 0) return order.some((claim) => !current.includes(claim));
  return new Set(order.map(claimant)).size > 1;
}

function octetsOf(key: string): Uint8Array {
  return Uint8Array.from({ length: key.length / 2 }, (_, index) =>
    Number.parseInt(key.slice(index * 2, index * 2 + 2), 16),
  );
}
