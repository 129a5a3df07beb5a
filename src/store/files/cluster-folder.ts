import { mkdir, readdir, readFile, rename, rm, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { StoreChange, StoredCluster } from "../store.ts";
import { messageOf, type OnStoreWarning, StoreError } from "../store-error.ts";
import { encodeLine } from "./checksum-line.ts";
import { prepareDurably, syncDirectory } from "./durable-file.ts";
import { Journal } from "./journal.ts";
import { readSnapshotFile, replayJournal } from "./stored-record.ts";

const SNAPSHOT_NAME = /^(\d+)\.snapshot$/;
const NUMBERED_NAME = /^(\d+)\./;
/** Below this a journal is not worth compacting, however small the snapshot. */
const LEAST_COMPACTED_BYTES = 65_536;

/**
 * The files of one cluster: `<number>.snapshot`, a full snapshot, and `<number>.journal`, the changes
 * since. Each full snapshot takes the next number; the pair before it stays, to fall back on.
 */
export class ClusterFolder {
  readonly #path: string;
  readonly #clusterId: string;
  readonly #warn: OnStoreWarning;
  #current: StoredCluster | undefined;
  #number = 0;
  #loadedNumber = 0;
  #snapshotBytes = 0;
  #journal: Journal | undefined;

  private constructor(path: string, clusterId: string, warn: OnStoreWarning) {
    this.#path = path;
    this.#clusterId = clusterId;
    this.#warn = warn;
  }

  /** Opens the folder, existing or not, and recovers the newest state in it that is sound. */
  static async open(path: string, clusterId: string, warn: OnStoreWarning): Promise<ClusterFolder> {
    const folder = new ClusterFolder(path, clusterId, warn);
    const created = await mkdir(path, { recursive: true, mode: 0o700 });
    if (created !== undefined) await syncDirectory(dirname(path));
    else await folder.#recover();
    return folder;
  }

  /** The cluster as last kept; undefined where nothing sound was found. */
  get current(): StoredCluster | undefined {
    return this.#current;
  }

  /** Keeps a change; see `SnapshotStore.keep`. */
  async keep(change: StoreChange): Promise<void> {
    const snapshot = change.kind === "lease" ? this.#current?.snapshot : change.snapshot;
    if (snapshot === undefined) throw StoreError.noSnapshot(this.#clusterId);
    const next = { meta: change.meta, snapshot };
    if (change.kind === "snapshot" || !(await this.#append(change))) await this.#writeSnapshot(next);
    this.#current = next;
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }

  async #append(change: Exclude<StoreChange, { kind: "snapshot" }>): Promise<boolean> {
    const journal = this.#journal;
    const base = this.#current?.meta.generation;
    if (journal === undefined || base === undefined || journal.torn) return false;
    if (journal.bytes > Math.max(this.#snapshotBytes, LEAST_COMPACTED_BYTES)) return false;
    const { meta } = change;
    await journal.append(
      change.kind === "patch" ? { kind: "patch", base, meta, patch: change.patch } : { kind: "lease", meta },
    );
    return true;
  }

  async #writeSnapshot(cluster: StoredCluster): Promise<void> {
    const number = this.#number + 1;
    const line = encodeLine(cluster);
    const name = await prepareDurably(this.#file(number, "snapshot"), line);
    // When naming fails, the file may be there all the same and would be loaded: so its number is
    // used up, and the next change must be a full snapshot with a higher one.
    this.#number = number;
    await this.#journal?.close();
    this.#journal = undefined;
    await name();
    const previous = this.#loadedNumber;
    this.#loadedNumber = number;
    this.#snapshotBytes = line.length;
    this.#journal = new Journal(this.#file(number, "journal"), 0);
    await this.#removeAllBut(new Set([number, previous]));
  }

  async #removeAllBut(numbers: ReadonlySet<number>): Promise<void> {
    try {
      for (const name of await readdir(this.#path)) {
        const number = NUMBERED_NAME.exec(name)?.[1];
        if (number === undefined || numbers.has(Number(number))) continue;
        await rm(join(this.#path, name), { force: true });
      }
    } catch (error) {
      this.#report("LEFTOVER", this.#path, `old files could not be removed: ${messageOf(error)}`);
    }
  }

  async #recover(): Promise<void> {
    const names = await readdir(this.#path);
    for (const name of names)
      this.#number = Math.max(this.#number, Number(NUMBERED_NAME.exec(name)?.[1] ?? 0));
    const numbers = names.flatMap((name) => SNAPSHOT_NAME.exec(name)?.[1] ?? []).map(Number);
    for (const number of numbers.toSorted((one, other) => other - one)) {
      const path = this.#file(number, "snapshot");
      let base: StoredCluster;
      try {
        const bytes = await readFile(path);
        base = readSnapshotFile(bytes, this.#clusterId);
        this.#snapshotBytes = bytes.length;
      } catch (error) {
        this.#report("CORRUPT_SNAPSHOT", path, `the snapshot is not loaded: ${messageOf(error)}`);
        // Set aside: what is kept from here on follows an older number, and this one must not win again.
        await rename(path, `${path}.corrupt`);
        continue;
      }
      await this.#replay(number, base);
      return;
    }
  }

  async #replay(number: number, base: StoredCluster): Promise<void> {
    const path = this.#file(number, "journal");
    const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return Buffer.alloc(0);
      throw error;
    });
    const { cluster, goodBytes, damage } = replayJournal(base, bytes);
    if (goodBytes < bytes.length) {
      this.#report("CORRUPT_JOURNAL", path, `cut after ${goodBytes} of ${bytes.length} bytes: ${damage}`);
      await truncate(path, goodBytes);
    }
    this.#current = cluster;
    this.#loadedNumber = number;
    this.#journal = new Journal(path, goodBytes);
  }

  #file(number: number, kind: "snapshot" | "journal"): string {
    return join(this.#path, `${String(number).padStart(8, "0")}.${kind}`);
  }

  #report(code: "CORRUPT_SNAPSHOT" | "CORRUPT_JOURNAL" | "LEFTOVER", path: string, message: string): void {
    this.#warn({ code, clusterId: this.#clusterId, path, message });
  }
}
