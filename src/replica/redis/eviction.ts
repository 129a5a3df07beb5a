import { StoreError } from "../../database/store-error.ts";
import type { RedisConnection } from "./connection.ts";

/**
 * An engine that evicts keys would forget clusters without a word. `INFO` is there where providers do not allow `CONFIG`.
 * @throws {StoreError} STORE_FAILED if it may evict keys
 */
export async function refuseEviction(connection: RedisConnection): Promise<void> {
  const facts = await connection.run((client) => client.info("memory"));
  const policy = /^maxmemory_policy:(\S+)/m.exec(facts)?.[1];
  if (policy === "noeviction") return;
  throw new StoreError(
    "STORE_FAILED",
    `its maxmemory-policy is ${policy ?? "unknown"}, so it may drop what it keeps: set maxmemory-policy to noeviction`,
  );
}
