import type { Store } from "../../../config/gateway.ts";
import { UsageError } from "../../../config/values.ts";
import { StoreError } from "../../../database/store-error.ts";
import type { OrderParts, SharedOrder } from "../../../gateway/change-order.ts";
import type { SharedLog } from "../../../replica/shared-log.ts";
import { nameOfEngine, readEngineAddress } from "./engine-address.ts";

/** What opens the order of changes that gateways share in Valkey or Redis. It throws a {UsageError} if the engine cannot be used. */
export function openReplica(store: Store): (parts: OrderParts) => Promise<SharedOrder> {
  return async (parts) => {
    const address = await readEngineAddress(store);
    // The client is loaded by gateways that need it alone.
    const { RedisLog } = await import("../../../replica/redis/redis-log.ts");
    const { Replica } = await import("../../../replica/replica.ts");
    let log: SharedLog | undefined;
    try {
      log = await RedisLog.open(address, store.prefix);
      return await Replica.open(log, parts);
    } catch (error) {
      log?.close();
      if (!(error instanceof StoreError)) throw error;
      throw new UsageError(`the store ${nameOfEngine(store)}: ${error.message}`);
    }
  };
}
