import { cp, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UsageError } from "../../../config/values/usage-error.ts";
import { systemClock } from "../../../gateway/clock.ts";
import { Precedence } from "../../../gateway/remembered/precedence.ts";
import { packRecord, type ResumedCluster } from "../../../gateway/remembered/recover.ts";
import { Turns } from "../../../gateway/turns.ts";
import type { Remembered } from "../../../merge/index/service-index.ts";
import { heldSnapshot } from "../../../snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../../snapshot/schema.ts";
import { openFileStore } from "../../../store/files/file-store.ts";
import { createMirroredStore } from "../../../store/remembered/mirrored-store.ts";
import { openTextFolder } from "../../../store/remembered/text-folder.ts";

/** What a gateway has stored. */
export interface StoredState {
  readonly snapshots: readonly ClusterSnapshot[];
  /** Who was there first, as the gateway remembers it. */
  readonly remembered: Remembered;
}

const PARTS = ["snapshots/clusters", "precedence", "precedence-copy"];

/**
 * Reads the state folder of a gateway, which may be running: a copy is read, since opening a folder takes its lock and repairs it.
 * @throws {UsageError} if it is no state folder, or cannot be read
 */
export async function readStateFolder(directory: string): Promise<StoredState> {
  const isThere = await stat(join(directory, PARTS[0]!)).catch(() => undefined);
  if (isThere?.isDirectory() !== true)
    throw new UsageError(
      `--state-dir ${directory} is not the state folder of a gateway: it has no folder ${PARTS[0]}`,
    );
  const copy = await mkdtemp(join(tmpdir(), "clusterset-doh-query-"));
  try {
    for (const part of PARTS)
      await cp(join(directory, part), join(copy, part), { recursive: true }).catch(
        (error: NodeJS.ErrnoException) => {
          if (error.code !== "ENOENT")
            throw new UsageError(`--state-dir ${directory} cannot be read: ${error.message}`);
        },
      );
    return await readCopy(copy);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

async function readCopy(copy: string): Promise<StoredState> {
  const store = await openFileStore(join(copy, "snapshots"), { onWarning: () => {} });
  const snapshots: ClusterSnapshot[] = [];
  const stored: ResumedCluster[] = [];
  for await (const { clusterId, snapshot, meta } of store.load()) {
    snapshots.push(snapshot!);
    stored.push({ clusterId, state: heldSnapshot(snapshot!), meta, live: true });
  }
  await store.close();
  const memory = createMirroredStore([
    await openTextFolder(join(copy, "precedence")),
    await openTextFolder(join(copy, "precedence-copy")),
  ]);
  const records = await memory.load(packRecord);
  const remembered = await Precedence.open({
    ...{ store: memory, turns: new Turns(systemClock), records, stored },
    ...{ onEvent: () => {}, now: Date.now() },
  });
  return { snapshots, remembered };
}
