import * as z from "zod";
import type { AddressOrders } from "../shared/shared-log.ts";
import type { RedisConnection } from "./connection.ts";
import type { LogKeys } from "./keys.ts";

/** About so many orders are read together. */
const ORDERS_AT_ONCE = 1000;

const Order = z.array(z.string());

/** Reads all orders of claims. Damaged ones are left out. @throws {StoreError} */
export async function readOrders(connection: RedisConnection, keys: LogKeys): Promise<AddressOrders> {
  const orders = new Map<string, readonly string[]>();
  let cursor = "0";
  do {
    const found = await connection.run((client) =>
      client.hScan(keys.addresses, cursor, { COUNT: ORDERS_AT_ONCE }),
    );
    cursor = found.cursor;
    for (const { field, value } of found.entries) {
      const order = parsed(value);
      if (order !== undefined) orders.set(field, order);
    }
  } while (cursor !== "0");
  return Object.fromEntries(orders);
}

function parsed(text: string): readonly string[] | undefined {
  try {
    return Order.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
