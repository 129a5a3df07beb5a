import { createMirroredStore } from "../remembered/mirrored-store.ts";
import type { RememberedStore } from "../remembered/remembered-store.ts";
import type { SnapshotStore } from "../store.ts";
import type { OnStoreWarning } from "../store-error.ts";
import type { RedisAddress } from "./connection.ts";
import { createRecordTable } from "./record-table.ts";
import { RedisStore } from "./redis-store.ts";
import { RedisWriter } from "./redis-writer.ts";

/** The stores of a gateway, over one connection that `store.close` ends. */
export interface RedisStores {
  readonly store: SnapshotStore;
  readonly remembered: RememberedStore;
}

/**
 * Opens what is kept under a prefix. From then on a gateway that had opened it before cannot write any more.
 * @throws {StoreError} STORE_FAILED if the engine cannot be reached, may evict keys, or has another format
 */
export async function openRedisStores(
  address: RedisAddress,
  prefix: string,
  onWarning: OnStoreWarning,
): Promise<RedisStores> {
  const writer = await RedisWriter.open(address, prefix);
  return {
    store: new RedisStore(writer, onWarning),
    remembered: createMirroredStore([
      createRecordTable(writer, "precedence"),
      createRecordTable(writer, "precedence-copy"),
    ]),
  };
}
