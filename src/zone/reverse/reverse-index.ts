import type { ClusterFinding } from "../../merge/clusterset.ts";
import type { LeafPlace } from "../compiler/notes/compiler-notes.ts";
import type { LeafRows } from "../compiler/trie/trie.ts";
import { addressLabel } from "../kinds/service-labels.ts";
import { type AddressId, addressId, bytesOfId, idOfKey, keyOfId } from "./address-id.ts";
import { AddressRecord, NO_CANDIDATES } from "./address-record.ts";
import { type AddressLeaf, AddressTrie, type AddressValue, isFresh } from "./address-trie.ts";
import { ClaimOrders } from "./claim-orders.ts";
import { ContestedAddresses } from "./contested/contested-addresses.ts";
import { decideAddress } from "./contested/decide-address.ts";
import { ReverseLosses } from "./contested/reverse-losses.ts";
import { UndecidedAddresses } from "./contested/undecided-addresses.ts";
import { PostponedReplacements, type Replacement } from "./postponed-replacements.ts";
import {
  areSameCandidates,
  areSameSources,
  type CandidateSource,
  claimsOf,
  isOfService,
  type ReverseCandidate,
} from "./reverse-candidate.ts";
import type { ReverseHistory } from "./reverse-history.ts";
import { type AddressKey, LOST, type ReverseClaim } from "./reverse-order.ts";
import type { AddressList, WantedAddresses } from "./wanted-addresses.ts";

/** By address: its order from now on, or undefined where it has none any more. */
type OrderChanges = Map<AddressKey, readonly ReverseClaim[] | undefined>;

/** A leaf that is kept in rows. */
interface PlacedLeaf<Result> {
  readonly weight: number;
  readonly count: number;
  readonly hasRecords: boolean;
  readonly result: Result;
}

const NO_CLAIMS: readonly ReverseClaim[] = [];
/** Where it cannot be known any more who had an address: then nobody has it, until one cluster reports it alone. */
const LOST_CLAIMS: readonly ReverseClaim[] = [LOST];
/** Addresses of one step: less than a millisecond. */
const ADDRESSES_IN_STEP = 200;

/** The addresses of all services, and who has their reverse names. Only addresses whose candidates changed are decided again. */
export class ReverseIndex<Result> {
  /** Its leaves are reverse segments. */
  readonly trie: AddressTrie<Result>;
  /** Addresses that one service wants, and that are in no segment yet. */
  fresh = 0;
  readonly #losses = new ReverseLosses();
  readonly #contested = new ContestedAddresses();
  readonly #undecided = new UndecidedAddresses();
  #orders = ClaimOrders.none;
  /** As the last compilation decided them. */
  #before = ClaimOrders.none;
  /** Whether fresh candidates are decided, too. */
  #isDecided = true;
  /** Of ordinary addresses, whose targets are in segments. */
  readonly #postponed = new PostponedReplacements();
  /** For steps that go over several services. */
  #replaced = 0;

  /** @param target the most PTR records of a segment with several addresses @param rows where leaves are noted. Default: memory has all of them */
  constructor(target: number, rows?: LeafRows<AddressLeaf, Result>) {
    this.trie = new AddressTrie(target, rows);
  }

  /** Takes a compiled leaf over. Who has its contested addresses is decided again. */
  place(place: LeafPlace, { hasRecords, ...leaf }: PlacedLeaf<Result>): void {
    const { trie } = this;
    const node = trie.place(place, leaf);
    if (!hasRecords) return;
    for (const { table, index } of trie.itemsOf(node).inOrder()) {
      const value = table.values[index]!;
      if (value instanceof AddressRecord) this.#undecide(value);
    }
  }

  /** Begins to take over changes. @param orders those that are known */
  begin(orders: ClaimOrders): void {
    this.#before = this.#orders;
    this.#orders = orders;
    this.#isDecided = false;
  }

  /**
   * Takes over what a service wants, in steps.
   * @param service `<namespace>/<name>` @param before the addresses that it wanted until now
   */
  *replace(service: string, before: AddressList, next: WantedAddresses): Generator<void> {
    for (const id of before) {
      if (!next.has(id)) this.#replaceOrPostpone({ service, id, candidates: NO_CANDIDATES });
      if (++this.#replaced % ADDRESSES_IN_STEP === 0) yield;
    }
    for (const [id, candidates] of next) {
      this.#replaceOrPostpone({ service, id, candidates });
      if (++this.#replaced % ADDRESSES_IN_STEP === 0) yield;
    }
  }

  #replaceOrPostpone(replacement: Replacement): void {
    const { id } = replacement;
    const { trie } = this;
    const node = trie.nodeOf(id);
    // What is kept in rows is read once for all replacements.
    const value = trie.isStored ? undefined : trie.itemsOf(node).get(id);
    const isPostponed =
      trie.isStored || !(value === undefined || value instanceof AddressRecord || isFresh(value));
    if (isPostponed) this.#postponed.add(node, replacement);
    else this.#replaceOne(replacement, value);
  }

  /** How many replacements are to be made. */
  get postponed(): number {
    return this.#postponed.size;
  }

  /** Makes the replacements that were postponed, in steps. @param afterLeaf called after those of each leaf */
  *replacePostponed(afterLeaf?: () => Generator<void>): Generator<void> {
    for (const ofLeaf of this.#postponed.take()) {
      for (const replacement of ofLeaf) {
        this.#replaceOne(replacement, this.trie.get(replacement.id));
        if (++this.#replaced % ADDRESSES_IN_STEP === 0) yield;
      }
      if (afterLeaf !== undefined) yield* afterLeaf();
      else if (this.trie.isStored) yield;
    }
  }

  /** Has an address decided again; its leaf stays in memory until then. */
  #undecide(record: AddressRecord): void {
    this.trie.note(record.id);
    this.#undecided.add(record);
  }

  #replaceOne({ service, id, candidates }: Replacement, value: AddressValue | undefined): void {
    const { trie } = this;
    const isOwn = ({ source }: ReverseCandidate) => isOfService(source, service);
    if (value === undefined) this.#add(id, candidates);
    else if (value instanceof AddressRecord) {
      const own = value.candidates.every(isOwn) ? value.candidates : value.candidates.filter(isOwn);
      if (areSameCandidates(own, candidates)) return;
      value.candidates =
        own.length === value.candidates.length
          ? candidates
          : [...value.candidates.filter((candidate) => !isOwn(candidate)), ...candidates];
      this.#undecide(value);
    } else if (candidates.length === 1 && this.#isSame(id, value, candidates[0]!))
      trie.put(id, isFresh(value) ? candidates[0]! : candidates[0]!.source);
    else {
      const record = this.#expand(id, value);
      record.candidates = [...record.candidates.filter((candidate) => !isOwn(candidate)), ...candidates];
    }
  }

  #add(id: AddressId, candidates: readonly ReverseCandidate[]): void {
    const [only] = candidates;
    if (only === undefined) return;
    if (candidates.length > 1 || this.#hasOrder(id)) {
      const record = new AddressRecord(id, candidates, NO_CANDIDATES);
      this.trie.put(id, record);
      this.#undecide(record);
    } else {
      this.trie.put(id, only);
      this.fresh++;
      this.trie.weigh(id, 0, 1);
    }
  }

  #hasOrder(id: AddressId): boolean {
    return this.#orders.size > 0 && this.#orders.has(keyOfId(id));
  }

  /** Whether a candidate is what is held of an ordinary address. */
  #isSame(id: AddressId, value: CandidateSource | ReverseCandidate, candidate: ReverseCandidate): boolean {
    if (isFresh(value)) return areSameCandidates([value], [candidate]);
    if (!areSameSources(value, candidate.source)) return false;
    const { label } = this.trie.candidateOf(id, value);
    return (
      label === candidate.label || (label === undefined && candidate.label === addressLabel(bytesOfId(id)))
    );
  }

  /** Makes a record of an ordinary address, which is to be decided again. */
  #expand(id: AddressId, value: CandidateSource | ReverseCandidate): AddressRecord {
    const { trie } = this;
    // What nobody wanted before this compilation had no winner before it.
    const candidates = [isFresh(value) ? value : trie.candidateOf(id, value)];
    const record = new AddressRecord(id, candidates, isFresh(value) ? NO_CANDIDATES : candidates);
    trie.put(id, record);
    if (isFresh(value)) trie.weigh(id, 1, 0);
    this.#undecide(record);
    return record;
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
    yield* this.replacePostponed();
    yield* this.#contested.follow(history.orders);
    for (const address of this.#ordered(history, touched)) {
      this.#reconsider(address);
      if (this.trie.isStored || ++this.#replaced % ADDRESSES_IN_STEP === 0) yield;
    }
    const orders: OrderChanges = new Map();
    let decided = 0;
    for (const record of this.#undecided.take()) {
      this.#decideOne(record, history, live, orders);
      if (++decided % ADDRESSES_IN_STEP === 0) yield;
    }
    this.#orders = yield* history.orders.withInSteps(orders);
    this.#isDecided = true;
  }

  /** The addresses whose order is known and may have changed, and those whose order was decided elsewhere. */
  *#ordered({ orders }: ReverseHistory, touched: ReadonlySet<string> | undefined): Generator<AddressKey> {
    if (touched === undefined) for (const [address] of orders) yield address;
    else yield* orders.changedSince(this.#before);
    for (const service of touched ?? []) yield* this.#contested.of(service);
  }

  #reconsider(address: AddressKey): void {
    const id = idOfKey(address);
    const value = this.trie.get(id);
    if (value instanceof AddressRecord) this.#undecide(value);
    else if (value !== undefined) this.#expand(id, value);
    else this.#undecide(new AddressRecord(id, NO_CANDIDATES, NO_CANDIDATES));
  }

  #decideOne(
    record: AddressRecord,
    history: ReverseHistory,
    live: ReadonlySet<string>,
    orders: OrderChanges,
  ): void {
    const { address } = record;
    const known = history.orders.get(address);
    const { winners, order, first, losers } = decideAddress(record, known, history, live);
    this.#losses.set(address, first, losers);
    if (order !== known) orders.set(address, order);
    this.#award(record, winners, order === undefined);
  }

  /** @param isForgotten whether no order is known of the address */
  #award(record: AddressRecord, winners: readonly ReverseCandidate[], isForgotten: boolean): void {
    const { trie } = this;
    const { id, winners: before, candidates } = record;
    const isSame = areSameCandidates(before, winners);
    record.winners = areSameCandidates(candidates, winners) ? candidates : winners;
    record.isOrdinary = isForgotten && candidates.length === 1 && record.winners === candidates;
    trie.note(id);
    if (isSame && record.isOrdinary) trie.put(id, candidates[0]!.source);
    if (!isSame) trie.weigh(id, before.length, winners.length);
    if (candidates.length === 0) trie.remove(id);
  }

  /** What the next generation is compiled with. */
  history(): ReverseHistory {
    return {
      orders: this.#orders,
      claimsOn: (bytes) => this.#claimsOn(bytes),
      restored: new Set(),
      reports: () => false,
    };
  }

  #claimsOn(bytes: Uint8Array): readonly ReverseClaim[] {
    let value: AddressValue | undefined;
    try {
      value = this.trie.get(addressId(bytes));
    } catch {
      return LOST_CLAIMS;
    }
    if (value === undefined) return NO_CLAIMS;
    if (value instanceof AddressRecord) {
      const [winner] = value.winners;
      return winner === undefined ? NO_CLAIMS : claimsOf(winner.source);
    }
    if (!isFresh(value)) return claimsOf(value);
    return this.#isDecided ? claimsOf(value.source) : NO_CLAIMS;
  }

  /** The same list until one changes, in steps. */
  findings(): Generator<void, readonly ClusterFinding[]> {
    return this.#losses.findings();
  }
}
