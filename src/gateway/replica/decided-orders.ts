import type { AddressOrders, SharedLog } from "../../store/shared/shared-log.ts";
import { ClaimOrders } from "../../zone/reverse/claim-orders.ts";
import { NO_HISTORY, type ReverseHistory } from "../../zone/reverse/reverse-history.ts";
import { type AddressKey, isSameOrder, LOST, type ReverseClaim } from "../../zone/reverse/reverse-order.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";
import type { ReverseOrders } from "../remembered/reverse-memory.ts";

type Order = readonly ReverseClaim[] | undefined;

/** The key of the scope where everything exists. */
const EVERYTHING = "";
/** Addresses of one step, and of one decision. */
const ADDRESSES_IN_STEP = 512;
const MOST_DECIDED = 512;

/**
 * Which cluster reported an address first, where several do, as the gateways of a log decided it: each decides what it sees first, and the first decision
 * in the log counts for all. What is decided where everything exists counts in all scopes; other scopes decide only what is left, since clusters that do not exist there
 * may keep claims out of the answers. Decisions are named by the address, in a scope with its key and a space before it.
 */
export class DecidedOrders implements ReverseOrders {
  readonly #log: SharedLog;
  readonly #onEvent: OnGatewayEvent;
  /** Those in the log, by name. */
  readonly #decided = new Map<string, readonly ReverseClaim[]>();
  /** Those of the newest generation, by scope. */
  readonly #orders = new Map<string, ClaimOrders>();
  /** Names of orders in generations that are not decided so. */
  readonly #undecided = new Set<string>();
  #isReported = false;
  #deciding: Promise<void> = Promise.resolve();

  constructor(log: SharedLog, orders: AddressOrders, onEvent: OnGatewayEvent) {
    this.#log = log;
    this.#onEvent = onEvent;
    for (const [name, order] of Object.entries(orders)) if (order !== null) this.#decided.set(name, order);
  }

  history(scope: string, restored: ReadonlySet<string>): ReverseHistory {
    const names = [...this.#decided.keys()].filter((name) => [EVERYTHING, scope].includes(scopeOf(name)));
    const orders = new Map(
      names.map((name) => [addressIn(name), this.#decidedIn(scope, addressIn(name))] as const),
    );
    this.#orders.set(scope, ClaimOrders.none.with(orders));
    return { ...NO_HISTORY, orders: this.#orders.get(scope)!, restored };
  }

  *update(scope: string, orders: ClaimOrders): Generator<void> {
    const before = this.#orders.get(scope) ?? ClaimOrders.none;
    this.#orders.set(scope, orders);
    let count = 0;
    for (const address of orders.changedSince(before)) {
      this.#compare(scope, address);
      if (++count % ADDRESSES_IN_STEP === 0) yield;
    }
  }

  kept(): Promise<void> {
    if (this.#undecided.size > 0) this.#deciding = this.#deciding.then(() => this.#decide());
    return this.#deciding;
  }

  /** Takes over what was decided. @returns the names */
  adopt(orders: AddressOrders): string[] {
    for (const [name, order] of Object.entries(orders)) {
      if (order === null) this.#decided.delete(name);
      else this.#decided.set(name, order);
      this.#undecided.delete(name);
    }
    return Object.keys(orders);
  }

  /** All that is decided is what a log has now. @returns as `adopt` */
  replace(orders: AddressOrders): string[] {
    const gone = Array.from(this.#decided.keys(), (name) => [name, null] as const);
    return this.adopt({ ...Object.fromEntries(gone), ...orders });
  }

  changesIn(scope: string, names: Iterable<string>): Map<AddressKey, Order> {
    const changes = new Map<AddressKey, Order>();
    for (const name of names)
      if ([EVERYTHING, scope].includes(scopeOf(name)))
        changes.set(addressIn(name), this.#decidedIn(scope, addressIn(name)));
    return changes;
  }

  #decidedIn(scope: string, address: AddressKey): Order {
    return this.#decided.get(address) ?? this.#decided.get(nameOf(scope, address));
  }

  #compare(scope: string, address: AddressKey): void {
    const order = this.#orders.get(scope)!.get(address);
    const name = nameOf(scope, address);
    // Who had the address may be known to another gateway; and where everything exists it may be decided for this scope.
    const isUnknown = order?.includes(LOST) === true || (scope !== EVERYTHING && this.#decided.has(address));
    if (isUnknown || isSameOrder(order, this.#decided.get(name))) this.#undecided.delete(name);
    else this.#undecided.add(name);
  }

  async #decide(): Promise<void> {
    const orders: Record<string, readonly ReverseClaim[] | null> = {};
    const before: Record<string, readonly ReverseClaim[]> = {};
    const names = [...this.#undecided].slice(0, MOST_DECIDED);
    if (names.length === 0) return;
    for (const name of names) {
      orders[name] = this.#orders.get(scopeOf(name))?.get(addressIn(name)) ?? null;
      const decided = this.#decided.get(name);
      if (decided !== undefined) before[name] = decided;
      this.#undecided.delete(name);
    }
    try {
      await this.#log.decide(orders, before);
      this.#isReported = false;
    } catch (error) {
      for (const name of names) this.#compare(scopeOf(name), addressIn(name));
      if (!this.#isReported) this.#onEvent({ event: "memory-not-kept", record: "addresses", error });
      this.#isReported = true;
      return;
    }
    await this.#decide();
  }
}

function nameOf(scope: string, address: AddressKey): string {
  return scope === EVERYTHING ? address : `${scope} ${address}`;
}

function scopeOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf(" ")));
}

function addressIn(name: string): AddressKey {
  return name.slice(name.lastIndexOf(" ") + 1);
}
