import { join } from "node:path";
import type { Store } from "../../../config/store.ts";
import { UsageError } from "../../../config/values/usage-error.ts";
import type { StateSource } from "../../../gateway/keeping/loaded-state.ts";
import { openFileStore } from "../../../store/files/file-store.ts";
import { createMirroredStore } from "../../../store/remembered/mirrored-store.ts";
import type { RememberedStore } from "../../../store/remembered/remembered-store.ts";
import { openTextFolder } from "../../../store/remembered/text-folder.ts";
import type { SnapshotStore } from "../../../store/store.ts";
import { type OnStoreWarning, StoreError } from "../../../store/store-error.ts";
import { prepareStateFolder } from "../state-folder.ts";
import { nameOfEngine, readEngineAddress } from "./engine-address.ts";

/** Where a gateway keeps what it was pushed, and who came first. */
export interface Stores {
  readonly store: SnapshotStore | StateSource;
  /** Closed with `store`; absent where a shared log has it. */
  readonly remembered?: RememberedStore;
}

/**
 * Opens the stores that the config names: in the state folder, which this process locks, or in Valkey or Redis; then nothing is written into the folder.
 * @throws {UsageError} if the folder cannot be written, or the engine cannot be used
 */
export async function openStores(
  { store, stateDirectory }: { readonly store?: Store | undefined; readonly stateDirectory: string },
  onWarning: OnStoreWarning,
): Promise<Stores> {
  if (store !== undefined) return openEngine(store, onWarning);
  await prepareStateFolder(stateDirectory);
  const files = await openFileStore(join(stateDirectory, "snapshots"), { onWarning });
  try {
    const copies = [
      await openTextFolder(join(stateDirectory, "precedence")),
      await openTextFolder(join(stateDirectory, "precedence-copy")),
    ] as const;
    return { store: files, remembered: createMirroredStore(copies) };
  } catch (error) {
    await files.close();
    throw error;
  }
}

async function openEngine(store: Store, onWarning: OnStoreWarning): Promise<Stores> {
  const address = await readEngineAddress(store);
  // The client is loaded by gateways that need it alone.
  const { RedisLog } = await import("../../../store/redis/redis-log.ts");
  const { replicaOf } = await import("../../../gateway/replica/load-log.ts");
  try {
    const log = await RedisLog.open(address, store.prefix, onWarning);
    return { store: replicaOf(log, store.leaseHoldSeconds * 1000) };
  } catch (error) {
    if (error instanceof StoreError)
      throw new UsageError(`the store ${nameOfEngine(store)}: ${error.message}`);
    throw error;
  }
}
