import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isClusterId } from "../../snapshot/cluster-id.ts";
import type { SnapshotStore, StoreChange, StoredCluster } from "../store.ts";
import { messageOf, type OnStoreWarning, StoreError } from "../store-error.ts";
import { Background } from "./background.ts";
import { ClusterFolder } from "./cluster-folder.ts";
import { type DirectoryLock, lockDirectory } from "./directory-lock.ts";
import { syncDirectory } from "./durable-file.ts";

/** Settings of a file store. */
export interface FileStoreOptions {
  /** Called for each damaged record; the store continues without it. */
  readonly onWarning: OnStoreWarning;
}

/**
 * A store in a directory, which is created where it does not exist and belongs to one process at a time.
 * @throws {StoreError} STATE_DIRECTORY_IN_USE when another process holds the directory.
 */
export async function openFileStore(directory: string, options: FileStoreOptions): Promise<SnapshotStore> {
  // Made absolute first: below a working directory that was deleted, mkdir would try for ever.
  await mkdir(resolve(directory), { recursive: true, mode: 0o700 });
  const lock = await lockDirectory(directory);
  try {
    return await FileStore.open(directory, options, lock);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

class FileStore implements SnapshotStore {
  readonly #directory: string;
  readonly #clusters: string;
  readonly #trash: string;
  readonly #options: FileStoreOptions;
  readonly #lock: DirectoryLock;
  readonly #folders = new Map<string, ClusterFolder>();
  readonly #background = new Background();
  #closed = false;
  #checked: Promise<boolean> = Promise.resolve(true);

  private constructor(directory: string, options: FileStoreOptions, lock: DirectoryLock) {
    this.#directory = directory;
    this.#clusters = join(directory, "clusters");
    this.#trash = join(directory, "trash");
    this.#options = options;
    this.#lock = lock;
  }

  static async open(directory: string, options: FileStoreOptions, lock: DirectoryLock): Promise<FileStore> {
    const store = new FileStore(directory, options, lock);
    await rm(store.#trash, { recursive: true, force: true });
    await mkdir(store.#clusters, { recursive: true, mode: 0o700 });
    await mkdir(store.#trash, { mode: 0o700 });
    await syncDirectory(directory);
    return store;
  }

  async *load(): AsyncGenerator<StoredCluster> {
    await this.#refuseUnlessHeld();
    for (const clusterId of await readdir(this.#clusters)) {
      const cluster = isClusterId(clusterId) ? await this.#load(clusterId) : undefined;
      if (cluster !== undefined) yield cluster;
    }
  }

  async #load(clusterId: string): Promise<StoredCluster | undefined> {
    try {
      const known = this.#folders.get(clusterId);
      return known === undefined ? (await this.#open(clusterId)).cluster : await known.load();
    } catch (error) {
      const message = `the cluster is not loaded: ${messageOf(error)}`;
      const path = join(this.#clusters, clusterId);
      this.#options.onWarning({ code: "UNREADABLE_CLUSTER", clusterId, path, message });
      return undefined;
    }
  }

  async keep(clusterId: string, change: StoreChange): Promise<void> {
    await this.#refuseUnlessHeld();
    await (this.#folders.get(clusterId) ?? (await this.#open(clusterId)).folder).keep(change);
  }

  async remove(clusterId: string): Promise<void> {
    await this.#refuseUnlessHeld();
    await this.#folders.get(clusterId)?.close(true);
    this.#folders.delete(clusterId);
    // Moved away in one step first: a removal that is cut short must not leave an older snapshot behind.
    const trashed = join(this.#trash, randomUUID());
    try {
      await rename(join(this.#clusters, clusterId), trashed);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      throw error;
    }
    await syncDirectory(this.#clusters);
    await rm(trashed, { recursive: true, force: true });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#background.close();
    for (const folder of this.#folders.values()) await folder.close();
    await this.#lock.release();
  }

  async #open(clusterId: string) {
    if (!isClusterId(clusterId)) throw new RangeError(`"${clusterId}" is not a cluster id`);
    const opened = await ClusterFolder.open({
      path: join(this.#clusters, clusterId),
      clusterId,
      warn: this.#options.onWarning,
      background: this.#background,
    });
    this.#folders.set(clusterId, opened.folder);
    return opened;
  }

  /** Checks run one after the other, so that what they precede keeps its order. */
  async #refuseUnlessHeld(): Promise<void> {
    this.#refuseIfClosed();
    const check = this.#checked.then(() => this.#lock.isHeld());
    this.#checked = check.catch(() => false);
    const isHeld = await check;
    this.#refuseIfClosed();
    if (!isHeld)
      throw new StoreError(
        "STATE_DIRECTORY_LOST",
        `another gateway took over ${this.#directory}: stop one of them`,
      );
  }

  #refuseIfClosed(): void {
    if (this.#closed) throw new StoreError("STORE_CLOSED", "the store is closed");
  }
}
