import * as z from "zod";
import type { RememberedStore } from "../../store/remembered/remembered-store.ts";
import {
  claimant,
  isNeeded,
  NO_HISTORY,
  type ReverseClaim,
  type ReverseHistory,
} from "../../zone/reverse/reverse-order.ts";
import type { OnGatewayEvent } from "../gateway-events.ts";

type Orders = ReadonlyMap<string, readonly ReverseClaim[]>;

/** A change of one address writes one record of so many. */
const RECORDS = 64;
const PREFIX = "addresses@";
const Order = z.record(z.string().regex(/^(?:[0-9a-f]{8}|[0-9a-f]{32})$/), z.array(z.string()));

/**
 * Remembers over restarts who came first where several clusters report one address. An address that one cluster reports alone needs no memory:
 * it has the name, and whoever reports it later comes second.
 */
export class ReverseMemory {
  readonly #store: RememberedStore;
  readonly #onEvent: OnGatewayEvent;
  #orders: Orders;
  readonly #changed = new Set<number>();
  /** Those that could not be written, and were reported. */
  readonly #reported = new Set<number>();
  #writing: Promise<void> = Promise.resolve();

  private constructor(store: RememberedStore, orders: Orders, onEvent: OnGatewayEvent) {
    this.#store = store;
    this.#onEvent = onEvent;
    this.#orders = orders;
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
    return new ReverseMemory(store, orders, onEvent);
  }

  /** What the first generation is compiled with. @param restored the clusters whose snapshots were loaded */
  history(restored: ReadonlySet<string>): ReverseHistory {
    return { ...NO_HISTORY, orders: this.#orders, restored };
  }

  /** Takes over the orders that count from now on; `kept` has them written. */
  update(orders: Orders): void {
    for (const [key, order] of orders) if (this.#orders.get(key) !== order) this.#changed.add(recordOf(key));
    for (const key of this.#orders.keys()) if (!orders.has(key)) this.#changed.add(recordOf(key));
    this.#orders = orders;
  }

  /** Resolves when everything that counts is kept. What cannot be kept is reported, and tried again the next time. */
  kept(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const values = new Map<number, Record<string, readonly ReverseClaim[]>>();
    for (const record of this.#changed) values.set(record, {});
    this.#changed.clear();
    if (values.size === 0) return;
    for (const [key, order] of this.#orders) {
      const value = values.get(recordOf(key));
      if (value !== undefined) value[key] = order;
    }
    for (const [number, value] of values) {
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
 * A history without the claims of a cluster, which gave all of them up. No compilation need follow, so what only a compilation would drop is
 * dropped here: an order that one cluster is left in, which is not live.
 */
export function withoutCluster(
  history: ReverseHistory,
  clusterId: string,
  isLive: (clusterId: string) => boolean,
): ReverseHistory {
  const without = (order: readonly ReverseClaim[]) => order.filter((claim) => claimant(claim) !== clusterId);
  const orders = new Map<string, readonly ReverseClaim[]>();
  for (const [key, order] of history.orders) {
    const left = without(order);
    if (left.length === order.length) orders.set(key, order);
    else if (isNeeded(left, []) || left.some((claim) => isLive(claimant(claim)))) orders.set(key, left);
  }
  return { ...history, orders, claimsOn: (octets) => without(history.claimsOn(octets)) };
}
