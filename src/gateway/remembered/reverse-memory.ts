import * as z from "zod";
import type { RememberedStore } from "../../store/remembered/remembered-store.ts";
import { ClaimOrders } from "../../zone/reverse/claim-orders.ts";
import { NO_HISTORY, type ReverseHistory } from "../../zone/reverse/reverse-history.ts";
import { type AddressKey, claimant, isNeeded, type ReverseClaim } from "../../zone/reverse/reverse-order.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";

/** A change of one address writes one record of so many. */
const RECORDS = 64;
const PREFIX = "addresses@";
/** Addresses of one step. */
const ADDRESSES_IN_STEP = 512;
const Order = z.record(z.string().regex(/^(?:[0-9a-f]{8}|[0-9a-f]{32})$/), z.array(z.string()));

/** Which cluster reported an address first, where several do. */
export interface ReverseOrders {
  /** What the first generation of a scope is compiled with. @param scope its `visibilityKey` @param restored the clusters whose snapshots were loaded */
  history(scope: string, restored: ReadonlySet<string>): ReverseHistory;
  /**
   * Takes over the orders that count from now on in a scope, in steps; `kept` has them kept. Newer ones may come between two steps.
   * @param position of the newest entry of a shared log that they know
   */
  update(scope: string, orders: ClaimOrders, position?: number): Generator<void>;
  /** What changed in a scope in orders that were decided elsewhere. @param names as what decides them names them. Default: nothing is */
  changesIn?(
    scope: string,
    names: Iterable<string>,
  ): ReadonlyMap<AddressKey, readonly ReverseClaim[] | undefined>;
  /** Resolves when everything that counts is kept. What cannot be kept is reported, and tried again the next time. */
  kept(): Promise<void>;
}

/**
 * Remembers over restarts which cluster reported an address first, if several do. An address that one cluster reports alone needs no memory:
 * it has the name, and clusters that report it later come second.
 */
export class ReverseMemory implements ReverseOrders {
  readonly #store: RememberedStore;
  readonly #onEvent: OnGatewayEvent;
  #orders: ClaimOrders;
  /** The orders by record. */
  readonly #records = new Map<number, Map<AddressKey, readonly ReverseClaim[]>>();
  readonly #changed = new Set<number>();
  /** Those that could not be written, and were reported. */
  readonly #reported = new Set<number>();
  #writing: Promise<void> = Promise.resolve();

  private constructor(store: RememberedStore, orders: ClaimOrders, onEvent: OnGatewayEvent) {
    this.#store = store;
    this.#onEvent = onEvent;
    this.#orders = orders;
    for (const [address, order] of orders) this.#recordFor(address).set(address, order);
  }

  /** @param values what the store keeps, by name; what is not an order of claims is left out */
  static from(
    store: RememberedStore,
    values: ReadonlyMap<string, unknown>,
    onEvent: OnGatewayEvent,
  ): ReverseMemory {
    const orders = new Map<string, readonly ReverseClaim[]>();
    for (const [name, value] of values) {
      const read = name.startsWith(PREFIX) ? Order.safeParse(value) : undefined;
      for (const [key, order] of Object.entries(read?.data ?? {})) orders.set(key, order);
    }
    return new ReverseMemory(store, ClaimOrders.none.with(orders), onEvent);
  }

  history(_scope: string, restored: ReadonlySet<string>): ReverseHistory {
    return { ...NO_HISTORY, orders: this.#orders, restored };
  }

  /** Other scopes begin with what is known where everything exists. */
  *update(scope: string, orders: ClaimOrders): Generator<void> {
    if (scope !== "") return;
    const before = this.#orders;
    this.#orders = orders;
    let count = 0;
    for (const address of orders.changedSince(before)) {
      const order = this.#orders.get(address);
      const record = this.#recordFor(address);
      if (order === undefined) record.delete(address);
      else record.set(address, order);
      this.#changed.add(recordOf(address));
      if (++count % ADDRESSES_IN_STEP === 0) yield;
    }
  }

  #recordFor(address: AddressKey): Map<AddressKey, readonly ReverseClaim[]> {
    const number = recordOf(address);
    const record = this.#records.get(number) ?? new Map<AddressKey, readonly ReverseClaim[]>();
    this.#records.set(number, record);
    return record;
  }

  kept(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const number of changed) {
      // Each record is copied just before it is written: with 100,000 addresses that several clusters report, all copies take half a second. A record
      // that changed meanwhile is newer than the others, and is written again.
      const value = Object.fromEntries(this.#records.get(number) ?? []);
      const record = `${PREFIX}${number.toString(16).padStart(2, "0")}`;
      try {
        await this.#store.keep(record, value);
        this.#reported.delete(number);
      } catch (error) {
        this.#changed.add(number);
        if (this.#reported.has(number)) continue;
        this.#reported.add(number);
        this.#onEvent({ event: "memory-not-kept", record, error });
      }
    }
  }
}

/** The record that an address is in. Its last byte differs most from address to address. */
function recordOf(key: string): number {
  return Number.parseInt(key.slice(-2), 16) % RECORDS;
}

/**
 * Orders without the claims of clusters that gave all of them up, in steps. No compilation need follow, so what only a compilation would drop is
 * dropped here: an order that one cluster is left in, which is not live.
 */
export function* withoutClusters(
  orders: ClaimOrders,
  clusters: ReadonlySet<string>,
  isLive: (clusterId: string) => boolean,
): Generator<void, ClaimOrders> {
  const changes = new Map<AddressKey, readonly ReverseClaim[] | undefined>();
  let count = 0;
  for (const [address, order] of orders) {
    const left = withoutClaimsOf(clusters, order);
    if (left.length < order.length) {
      const isKept = isNeeded(left, []) || left.some((claim) => isLive(claimant(claim)));
      changes.set(address, isKept ? left : undefined);
    }
    if (++count % ADDRESSES_IN_STEP === 0) yield;
  }
  return yield* orders.withInSteps(changes);
}

/** Claims without those of some clusters. */
export function withoutClaimsOf(
  clusters: ReadonlySet<string>,
  claims: readonly ReverseClaim[],
): readonly ReverseClaim[] {
  return claims.filter((claim) => !clusters.has(claimant(claim)));
}
