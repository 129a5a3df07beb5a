/** What a cluster reports an address for: its id, a space, and the service as `<namespace>/<name>`. */
export type ReverseClaim = string;

/** Takes the place of the first cluster if it is not known any more. No cluster has this id. */
export const LOST: ReverseClaim = "";

/** An address as hexadecimal digits. */
export type AddressKey = string;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** The key of an address. */
export function addressKey(bytes: Uint8Array): AddressKey {
  let key = "";
  for (const byte of bytes) key += HEX[byte]!;
  return key;
}

/** The address of a key. */
export function addressOf(key: AddressKey): Uint8Array {
  return Uint8Array.from({ length: key.length / 2 }, (_, index) =>
    Number.parseInt(key.slice(index * 2, index * 2 + 2), 16),
  );
}

/** A claim that a cluster makes now. */
export interface CurrentClaim {
  readonly claim: ReverseClaim;
  /** From when the cluster has its part in the service, in Unix milliseconds: decides between claims that are new together. */
  readonly since: number;
  /** Its place among the claims for one service that `since` is the same for, the oldest first. */
  readonly place: number;
}

/** The claim of a cluster for a service. */
export function claimOf(cluster: string, namespace: string, name: string): ReverseClaim {
  return `${cluster} ${namespace}/${name}`;
}

/** The cluster that makes a claim; empty for `LOST`. */
export function claimant(claim: ReverseClaim): string {
  return claim.slice(0, Math.max(0, claim.indexOf(" ")));
}

/** The service of a claim, as `<namespace>/<name>`; empty for `LOST`. */
export function serviceOf(claim: ReverseClaim): string {
  return claim.slice(claim.indexOf(" ") + 1);
}

/** What a claim consists of. Cluster ids and namespaces have neither spaces nor slashes. */
export function splitClaim(claim: ReverseClaim): {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
} {
  const cluster = claimant(claim);
  const slash = claim.indexOf("/");
  return { cluster, namespace: claim.slice(cluster.length + 1, slash), name: claim.slice(slash + 1) };
}

/**
 * The claims on one address, first come first; the reverse name is that of the first one that is made now. What is kept of `known`:
 *
 * - claims that are made now;
 * - claims that `stays` keeps, as long as they are before one that is made now: those of clusters that are not live, since an outage gives
 *   nothing up, and of clusters that report the address although another cluster keeps it out of the answers.
 *
 * A cluster that reports the address for another service than before keeps its place. Claims that are new come last: the oldest first, then
 * by their places, then by name.
 * @returns `known` itself where nothing changed
 */
export function orderClaims(
  known: readonly ReverseClaim[],
  current: readonly CurrentClaim[],
  stays: (claim: ReverseClaim) => boolean,
): readonly ReverseClaim[] {
  if (isSame(known, current)) return known;
  const now = new Map<ReverseClaim, CurrentClaim>();
  for (const one of current) {
    const same = now.get(one.claim);
    if (same === undefined || compareAges(one, same) < 0) now.set(one.claim, one);
  }
  const places = new Map<string, number>();
  for (const [index, claim] of known.entries())
    if (!places.has(claimant(claim))) places.set(claimant(claim), index);
  const isContested = new Set(Array.from(now.keys(), claimant)).size > 1;
  const kept = known.filter((claim) => now.has(claim) || (claim === LOST ? isContested : stays(claim)));
  const before = new Set(known);
  const fresh = [...now]
    .filter(([claim]) => !before.has(claim))
    .sort(([one, age], [other, otherAge]) => compareAges(age, otherAge) || (one < other ? -1 : 1))
    .map(([claim]) => claim);
  const placeOf = (claim: ReverseClaim) => places.get(claimant(claim)) ?? known.length;
  // Sorting is stable: claims of one cluster stay as they are, new ones last.
  const order = [...kept, ...fresh].sort((one, other) => placeOf(one) - placeOf(other));
  if (now.size > 0) order.length = order.findLastIndex((claim) => now.has(claim)) + 1;
  return isSameOrder(order, known) ? known : order;
}

/** Ages of Infinity are equal. */
function compareAges(one: CurrentClaim, other: CurrentClaim): number {
  return one.since - other.since || one.place - other.place;
}

/** Whether claims are those that are known, without anything costly: nearly always they are, and few. */
function isSame(known: readonly ReverseClaim[], current: readonly CurrentClaim[]): boolean {
  return (
    known.length === current.length &&
    known.length <= 8 &&
    known.every((one) => current.some(({ claim }) => claim === one))
  );
}

/** Whether two orders are equal; undefined for none. */
export function isSameOrder(
  one: readonly ReverseClaim[] | undefined,
  other: readonly ReverseClaim[] | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.length === other.length && one.every((claim, index) => claim === other[index]);
}

/** Puts `LOST` first where several clusters were loaded with claims whose order is not known; the others came later. */
export function orderRestored(
  current: readonly CurrentClaim[],
  restored: ReadonlySet<string>,
): readonly ReverseClaim[] {
  const loaded = current.filter(({ claim }) => restored.has(claimant(claim)));
  const order = orderClaims([], loaded, () => false);
  return new Set(order.map(claimant)).size > 1 ? [LOST, ...order] : order;
}

/** Whether an order says more than the claims that are answered from. */
export function isNeeded(order: readonly ReverseClaim[], current: readonly ReverseClaim[]): boolean {
  if (current.length > 0) return order.some((claim) => !current.includes(claim));
  return new Set(order.map(claimant)).size > 1;
}
