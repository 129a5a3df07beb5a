import * as z from "zod";
import type { RememberedStore } from "../store/remembered/remembered-store.ts";
import { claimant, NO_HISTORY, type ReverseClaim, type ReverseHistory } from "../zone/reverse-order.ts";

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
  readonly #records: Pick<RememberedStore, "keep">;
  #orders: Orders;
  readonly #changed = new Set<number>();
  #writing: Promise<void> | undefined;

  private constructor(records: Pick<RememberedStore, "keep">, orders: Orders) {
    this.#records = records;
    this.#orders = orders;
  }

  /** @param values what is kept, by name; what is not an order of claims is left out */
  static from(records: Pick<RememberedStore, "keep">, values: ReadonlyMap<string, unknown>): ReverseMemory {
    const orders = new Map<string, readonly ReverseClaim[]>();
    for (const [name, value] of values) {
      const read = name.startsWith(PREFIX) ? Order.safeParse(value) : undefined;
      for (const [key, order] of Object.entries(read?.data ?? {})) orders.set(key, order);
    }
    return new ReverseMemory(records, orders);
  }

  /** What the first image is compiled with. @param restored the clusters whose snapshots were loaded */
  history(restored: ReadonlySet<string>): ReverseHistory {
    return { ...NO_HISTORY, orders: this.#orders, restored };
  }

  /** Takes over the orders that count from now on; `kept` has them written. */
  update(orders: Orders): void {
    for (const [key, order] of orders) if (this.#orders.get(key) !== order) this.#changed.add(recordOf(key));
    for (const key of this.#orders.keys()) if (!orders.has(key)) this.#changed.add(recordOf(key));
    this.#orders = orders;
  }

  /** Resolves when everything that counts is kept. Rejects where it cannot be written; it is tried again the next time. */
  async kept(): Promise<void> {
    while (this.#changed.size > 0 || this.#writing !== undefined) {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
      await this.#writing;
    }
  }

  async #write(): Promise<void> {
    const values = new Map<number, Record<string, readonly ReverseClaim[]>>();
    for (const record of this.#changed) values.set(record, {});
    for (const [key, order] of this.#orders) {
      const value = values.get(recordOf(key));
      if (value !== undefined) value[key] = order;
    }
    for (const [record, value] of values) {
      this.#changed.delete(record);
      try {
        await this.#records.keep(`${PREFIX}${record.toString(16).padStart(2, "0")}`, value);
      } catch (error) {
        for (const again of values.keys()) this.#changed.add(again);
        throw error;
      }
    }
  }
}

/** The record that an address is in. Its last byte differs most from address to address. */
function recordOf(key: string): number {
  return Number.parseInt(key.slice(-2), 16) % RECORDS;
}

/** A history without the claims of a cluster, which gave all of them up. */
export function withoutCluster(history: ReverseHistory, clusterId: string): ReverseHistory {
  const without = (order: readonly ReverseClaim[]) => order.filter((claim) => claimant(claim) !== clusterId);
  const orders = new Map<string, readonly ReverseClaim[]>();
  for (const [key, order] of history.orders) {
    const left = without(order);
    orders.set(key, left.length === order.length ? order : left);
  }
  return { ...history, orders, claimsOn: (octets) => without(history.claimsOn(octets)) };
}
