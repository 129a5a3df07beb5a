import type { ClusterFinding } from "../../merge/clusterset.ts";
import { HashTrie, type TrieItem } from "../compiler/hash-trie.ts";
import { hashAddress } from "../segment/name-hash.ts";
import type { ReverseEntry } from "../segment/reverse-builder.ts";
import { ClaimOrders } from "./claim-orders.ts";
import { ContestedAddresses } from "./contested-addresses.ts";
import { areSameCandidates, compareCandidates, type ReverseCandidate } from "./reverse-candidate.ts";
import type { ReverseHistory } from "./reverse-history.ts";
import { ReverseLosses } from "./reverse-losses.ts";
import {
  type AddressKey,
  addressKey,
  addressOf,
  type CurrentClaim,
  claimant,
  isNeeded,
  LOST,
  orderClaims,
  orderRestored,
  type ReverseClaim,
} from "./reverse-order.ts";

/** An address with the candidates for its reverse name. */
export interface AddressRecord extends TrieItem {
  readonly address: AddressKey;
  candidates: readonly ReverseCandidate[];
  /** The candidates that won, at most one for each view. */
  winners: readonly ReverseCandidate[];
}

/** By address: its order from now on, or undefined where it has none any more. */
type OrderChanges = Map<AddressKey, readonly ReverseClaim[] | undefined>;

const NO_CANDIDATES: readonly ReverseCandidate[] = [];
/** Addresses of one step: less than a millisecond. */
const ADDRESSES_IN_STEP = 200;

/** The addresses of all services, and who has their reverse names. Only addresses whose candidates changed are decided again. */
export class ReverseIndex<Result> {
  /** Addresses with winners; its leaves are reverse segments. */
  readonly trie: HashTrie<AddressRecord, Result>;
  readonly #records = new Map<AddressKey, AddressRecord>();
  readonly #losses = new ReverseLosses();
  readonly #undecided = new Set<AddressKey>();
  readonly #contested = new ContestedAddresses();
  #orders = ClaimOrders.none;
  /** For steps that go over several services. */
  #replaced = 0;

  /** @param target the most PTR records of a segment with several addresses */
  constructor(target: number) {
    this.trie = new HashTrie(target);
  }

  /**
   * Takes over what a service wants, in steps.
   * @param service `<namespace>/<name>` @param before the addresses that it wanted until now
   */
  *replace(
    service: string,
    before: Iterable<AddressKey>,
    next: ReadonlyMap<AddressKey, readonly ReverseCandidate[]>,
  ): Generator<void> {
    for (const address of before) {
      if (!next.has(address)) this.#replaceOne(service, address, NO_CANDIDATES);
      if (++this.#replaced % ADDRESSES_IN_STEP === 0) yield;
    }
    for (const [address, candidates] of next) {
      this.#replaceOne(service, address, candidates);
      if (++this.#replaced % ADDRESSES_IN_STEP === 0) yield;
    }
  }

  #replaceOne(service: string, address: AddressKey, candidates: readonly ReverseCandidate[]): void {
    const record = this.#records.get(address);
    if (record === undefined) {
      if (candidates.length === 0) return;
      const octets = addressOf(address);
      const hash = hashAddress(octets, octets.length, 0);
      this.#records.set(address, { hash, weight: 0, address, candidates, winners: NO_CANDIDATES });
    } else {
      const isOwn = ({ source }: ReverseCandidate) => `${source.namespace}/${source.name}` === service;
      const own = record.candidates.every(isOwn) ? record.candidates : record.candidates.filter(isOwn);
      if (areSameCandidates(own, candidates)) return;
      record.candidates =
        own.length === record.candidates.length
          ? candidates
          : [...record.candidates.filter((candidate) => !isOwn(candidate)), ...candidates];
    }
    this.#undecided.add(address);
  }

  /**
   * Decides who has the addresses whose candidates changed, and those whose order was known and may have changed. Where several claims are made on
   * an address, the first claim of those that are made now has it, whatever the age of the export.
   * @param live ids of the live clusters @param touched services that changed; undefined for all
   */
  *decide(
    history: ReverseHistory,
    live: ReadonlySet<string>,
    touched: ReadonlySet<string> | undefined,
  ): Generator<void> {
    this.#contested.follow(history.orders);
    if (touched === undefined) for (const [address] of history.orders) this.#undecided.add(address);
    for (const service of touched ?? [])
      for (const address of this.#contested.of(service)) this.#undecided.add(address);
    const orders: OrderChanges = new Map();
    let decided = 0;
    for (const address of this.#undecided) {
      this.#decideOne(address, history, live, orders);
      if (++decided % 500 === 0) yield;
    }
    this.#undecided.clear();
    this.#orders = history.orders.with(orders);
  }

  #decideOne(
    address: AddressKey,
    history: ReverseHistory,
    live: ReadonlySet<string>,
    orders: OrderChanges,
  ): void {
    const record = this.#records.get(address);
    const candidates = record?.candidates ?? NO_CANDIDATES;
    if (record !== undefined && candidates.length === 1 && !history.orders.has(address)) {
      this.#losses.set(address, LOST, []);
      this.#award(record, candidates);
      return;
    }
    const contenders = contendersOf(candidates);
    const current = contenders.flatMap(currentOf);
    const staysOn = (claim: ReverseClaim) => !live.has(claimant(claim)) || history.reports(claim, address);
    let winner = contenders[0];
    if (contenders.length > 1) {
      const known = history.orders.get(address) ?? knownOf(history, addressOf(address), current);
      const order = orderClaims(known, current, staysOn);
      if (order !== history.orders.get(address)) orders.set(address, order);
      const first = order.find(
        (claim) => claim === LOST || contenders.some(({ source }) => source.claims.includes(claim)),
      )!;
      winner = contenders.find(({ source }) => source.claims.includes(first));
      this.#losses.set(address, first, losersOf(contenders, winner, first));
    } else {
      this.#losses.set(address, LOST, []);
      const known = history.orders.get(address);
      if (known !== undefined) {
        const order = orderClaims(known, current, staysOn);
        if (!isNeeded(order, winner?.source.claims ?? [])) orders.set(address, undefined);
        else if (order !== known) orders.set(address, order);
      }
    }
    if (record !== undefined)
      this.#award(record, [...(winner === undefined ? [] : [winner]), ...ofViews(candidates)]);
  }

  #award(record: AddressRecord, winners: readonly ReverseCandidate[]): void {
    const { trie } = this;
    const weight = winners.length;
    if (!areSameCandidates(record.winners, winners)) {
      const isNew = record.winners.length === 0;
      record.winners = areSameCandidates(record.candidates, winners) ? record.candidates : winners;
      if (isNew) {
        record.weight = weight;
        trie.add(record);
      } else if (weight === 0) {
        trie.remove(record);
        record.weight = 0;
      } else trie.change(record, weight);
    }
    if (record.candidates.length === 0) this.#records.delete(record.address);
  }

  /** What the next generation is compiled with. */
  history(): ReverseHistory {
    return {
      orders: this.#orders,
      claimsOn: (octets) => this.#records.get(addressKey(octets))?.winners[0]?.source.claims ?? [],
      restored: new Set(),
      reports: () => false,
    };
  }

  /** The same list until one changes. */
  findings(): readonly ClusterFinding[] {
    return this.#losses.findings();
  }
}

/** The entry of an address in its segment. */
export function entryOf({ address, winners }: AddressRecord): ReverseEntry {
  return {
    octets: addressOf(address),
    targets: winners.map(({ source, label }) => ({
      ...{ view: source.view, ttl: source.ttl, clusters: source.clusters, tree: source.tree },
      label,
      above: source.above,
    })),
  };
}

/** The candidates that claim the address for all views, one for each claim, by service. */
function contendersOf(candidates: readonly ReverseCandidate[]): ReverseCandidate[] {
  const byClaims = new Map<string, ReverseCandidate>();
  const claiming = candidates.filter(({ source }) => source.view === undefined);
  for (const candidate of claiming.length > 1 ? claiming.sort(compareCandidates) : claiming) {
    const key = candidate.source.claims.join("|");
    if (!byClaims.has(key)) byClaims.set(key, candidate);
  }
  return [...byClaims.values()];
}

/** The first candidate for each single view, by the view's name. */
function ofViews(candidates: readonly ReverseCandidate[]): ReverseCandidate[] {
  const byView = new Map<string, ReverseCandidate>();
  for (const candidate of candidates
    .filter(({ source }) => source.view !== undefined)
    .sort(compareCandidates)) {
    const view = candidate.source.view!;
    if (!byView.has(view)) byView.set(view, candidate);
  }
  return [...byView].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, candidate]) => candidate);
}

function currentOf({ source: { claims, since } }: ReverseCandidate): CurrentClaim[] {
  return claims.map((claim) => ({ claim, since }));
}

/** The claims that lost an address to the claim `first` of another cluster and another name. */
function losersOf(
  contenders: readonly ReverseCandidate[],
  winner: ReverseCandidate | undefined,
  first: ReverseClaim,
): ReverseClaim[] {
  return contenders.flatMap((contender) => {
    const loser = contender.source.claims[0]!;
    const isOfWinner = winner !== undefined && nameOf(contender) === nameOf(winner);
    return isOfWinner || claimant(loser) === claimant(first) ? [] : loser;
  });
}

function nameOf({ source, label }: ReverseCandidate): string {
  return [source.tree, label, ...source.above].join(".");
}

function knownOf(
  history: ReverseHistory,
  octets: Uint8Array,
  current: readonly CurrentClaim[],
): readonly ReverseClaim[] {
  const before = history.claimsOn(octets);
  return before.length > 0 ? before : orderRestored(current, history.restored);
}
