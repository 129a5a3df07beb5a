import type { AddressOrders, SharedLog } from "../../store/shared/shared-log.ts";
import { ClaimOrders } from "../../zone/reverse/claim-orders.ts";
import { NO_HISTORY, type ReverseHistory } from "../../zone/reverse/reverse-history.ts";
import { type AddressKey, isSameOrder, LOST, type ReverseClaim } from "../../zone/reverse/reverse-order.ts";
import type { Clock } from "../clock.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";
import type { ReverseOrders } from "../remembered/reverse-memory.ts";

/** The key of the scope where everything exists. */
const EVERYTHING = "";
/** Addresses of one step, and of one decision. */
const ADDRESSES_IN_STEP = 512;
const MOST_DECIDED = 512;
/** For how many milliseconds other gateways may say who had an address first, before it is decided that nobody knows. */
const UNKNOWN_DELAY = 5000;

/**
 * Which cluster reported an address first, where several do, as the gateways of a log decided it: each decides what it sees first, and the first
 * decision in the log counts for all. Each scope has its own decisions. They are named by the address, in a scope with its key and a space before it.
 */
export class DecidedOrders implements ReverseOrders {
  readonly #log: SharedLog;
  readonly #clock: Pick<Clock, "setTimer">;
  readonly #onEvent: OnGatewayEvent;
  readonly #mayDecide: () => boolean;
  /** Those in the log, by name. */
  readonly #decided = new Map<string, readonly ReverseClaim[]>();
  /** Those of the newest generation, by scope. */
  readonly #orders = new Map<string, ClaimOrders>();
  /** The newest entry of the log that they know, by scope. */
  readonly #positions = new Map<string, number>();
  /** Names of orders in generations that are not decided so. */
  readonly #undecided = new Set<string>();
  /** Names of orders that were sent to the log, until their decision comes back. It may take none of them, where a cluster left meanwhile. */
  readonly #sent = new Set<string>();
  /** Names of those among them whose first cluster is not known here. */
  readonly #unknown = new Set<string>();
  #cancelUnknown: (() => void) | undefined;
  #isReported = false;
  #deciding: Promise<void> = Promise.resolve();

  /** @param mayDecide whether this gateway holds what the log has: gateways that hold something else decide against each other for ever */
  constructor(
    log: SharedLog,
    orders: AddressOrders,
    clock: Pick<Clock, "setTimer">,
    onEvent: OnGatewayEvent,
    mayDecide: () => boolean,
  ) {
    this.#mayDecide = mayDecide;
    this.#log = log;
    this.#clock = clock;
    this.#onEvent = onEvent;
    for (const [name, order] of Object.entries(orders)) if (order !== null) this.#decided.set(name, order);
  }

  history(scope: string, restored: ReadonlySet<string>): ReverseHistory {
    const names = [...this.#decided.keys()].filter((name) => scopeOf(name) === scope);
    const orders = ClaimOrders.none.with(this.changesIn(scope, names));
    this.#orders.set(scope, orders);
    return { ...NO_HISTORY, orders, restored };
  }

  *update(scope: string, orders: ClaimOrders, position = 0): Generator<void> {
    const before = this.#orders.get(scope) ?? ClaimOrders.none;
    this.#orders.set(scope, orders);
    this.#positions.set(scope, position);
    let count = 0;
    for (const address of orders.changedSince(before)) {
      this.#compare(nameOf(scope, address));
      if (++count % ADDRESSES_IN_STEP === 0) yield;
    }
    for (const name of this.#sent) if (scopeOf(name) === scope) this.#compare(name);
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
      // The next compilation goes on from it, and is compared then.
      this.#undecided.delete(name);
      this.#unknown.delete(name);
      this.#sent.delete(name);
    }
    return Object.keys(orders);
  }

  /** All that is decided is what a log has now. @returns as `adopt` */
  replace(orders: AddressOrders): string[] {
    const gone = Array.from(this.#decided.keys(), (name) => [name, null] as const);
    return this.adopt({ ...Object.fromEntries(gone), ...orders });
  }

  changesIn(scope: string, names: Iterable<string>): Map<AddressKey, readonly ReverseClaim[] | undefined> {
    const changes = new Map<AddressKey, readonly ReverseClaim[] | undefined>();
    for (const name of names)
      if (scopeOf(name) === scope) changes.set(addressIn(name), this.#decided.get(name));
    return changes;
  }

  close(): void {
    this.#cancelUnknown?.();
  }

  #compare(name: string): void {
    const order = this.#orderIn(name);
    const decided = this.#decided.get(name);
    this.#undecided.delete(name);
    this.#unknown.delete(name);
    this.#sent.delete(name);
    if (isSameOrder(order, decided)) return;
    if (decided === undefined && order!.includes(LOST)) {
      this.#unknown.add(name);
      this.#cancelUnknown ??= this.#clock.setTimer(UNKNOWN_DELAY, () => this.#decideUnknown());
    } else this.#undecided.add(name);
  }

  #orderIn(name: string): readonly ReverseClaim[] | undefined {
    return this.#orders.get(scopeOf(name))?.get(addressIn(name));
  }

  /** Nobody said who came first. */
  #decideUnknown(): void {
    this.#cancelUnknown = undefined;
    for (const name of this.#unknown) this.#undecided.add(name);
    this.#unknown.clear();
    void this.kept();
  }

  async #decide(): Promise<void> {
    while (this.#undecided.size > 0 && this.#mayDecide()) {
      const names = [...this.#undecided].slice(0, MOST_DECIDED);
      const orders: Record<string, readonly ReverseClaim[] | null> = {};
      const before: Record<string, readonly ReverseClaim[]> = {};
      for (const name of names) {
        orders[name] = this.#orderIn(name) ?? null;
        const decided = this.#decided.get(name);
        if (decided !== undefined) before[name] = decided;
        this.#undecided.delete(name);
        this.#sent.add(name);
      }
      try {
        const positions = names.map((name) => this.#positions.get(scopeOf(name)) ?? 0);
        await this.#log.decide(orders, before, Math.min(...positions));
        this.#isReported = false;
      } catch (error) {
        for (const name of names) this.#compare(name);
        if (!this.#isReported) this.#onEvent({ event: "memory-not-kept", record: "addresses", error });
        this.#isReported = true;
        return;
      }
    }
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
