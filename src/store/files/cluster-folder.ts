import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { ClusterMeta } from "../cluster-meta.ts";
import type { StoreChange, StoredCluster } from "../store.ts";
import { messageOf, type OnStoreWarning, StoreError } from "../store-error.ts";
import type { Background } from "./background.ts";
import { encodeLine } from "./checksum-line.ts";
import { ClusterFiles } from "./cluster-files.ts";
import { Compaction } from "./compaction.ts";
import { prepareDurably, syncDirectory } from "./durable-file.ts";
import { Journal } from "./journal.ts";
import { type FoundJournal, type Recovered, Recovery } from "./recovery.ts";
import { snapshotParts } from "./snapshot-file.ts";

/** Journals of fewer bytes are not worth compacting, however small the snapshot. */
const LEAST_COMPACTED_BYTES = 32_768;
/** Journals of more bytes are compacted, however large the snapshot: a compaction holds them in memory. */
const MOST_COMPACTED_BYTES = 8 * 1024 * 1024;

/** What a folder is opened with. */
export interface ClusterFolderParts {
  readonly path: string;
  readonly clusterId: string;
  readonly warn: OnStoreWarning;
  /** Compacts one folder at a time. */
  readonly background: Background;
}

/** The state that the files have. */
interface Kept {
  readonly meta: ClusterMeta;
  /** The snapshot: its number, its length in bytes, its generation. */
  readonly snapshot: number;
  readonly snapshotBytes: number;
  readonly generation: number;
  /** The journals after it, without the one that is appended to. */
  readonly journals: readonly FoundJournal[];
}

/** A compaction that waits, or runs. */
interface OpenCompaction {
  readonly abortion: AbortController;
  readonly done: Promise<void>;
  hasBegun: boolean;
}

/** Keeps the state of one cluster in `ClusterFiles`. */
export class ClusterFolder {
  readonly #files: ClusterFiles;
  readonly #clusterId: string;
  readonly #warn: OnStoreWarning;
  readonly #background: Background;
  #kept: Kept | undefined;
  #journal: Journal | undefined;
  /** The highest number in use. */
  #number = 0;
  /** A snapshot that was not acknowledged, and may be there. */
  #unsettled: number | undefined;
  #compaction: OpenCompaction | undefined;
  /** Journals are compacted once they have so many bytes. */
  #compactedFrom = 0;

  private constructor({ path, clusterId, warn, background }: ClusterFolderParts) {
    this.#files = new ClusterFiles(path);
    this.#clusterId = clusterId;
    this.#warn = warn;
    this.#background = background;
  }

  /** Opens the folder, existing or not, and recovers the newest state in it that is sound. */
  static async open(
    parts: ClusterFolderParts,
  ): Promise<{ folder: ClusterFolder; cluster: StoredCluster | undefined }> {
    const folder = new ClusterFolder(parts);
    const created = await mkdir(parts.path, { recursive: true, mode: 0o700 });
    if (created === undefined) return { folder, cluster: await folder.load() };
    await syncDirectory(dirname(parts.path));
    return { folder, cluster: undefined };
  }

  /** The cluster as last kept; undefined where nothing sound is found. No change may be kept meanwhile. */
  async load(): Promise<StoredCluster | undefined> {
    await this.close();
    const found = await new Recovery(this.#files, this.#clusterId, this.#warn).run();
    this.#number = (await this.#files.list()).highest;
    this.#kept = undefined;
    this.#journal = undefined;
    if (found !== undefined) this.#goOn(found);
    return found?.cluster;
  }

  /** Keeps a change; see `SnapshotStore.keep`. */
  async keep(change: StoreChange): Promise<void> {
    await this.#settle();
    if (change.kind === "snapshot") return this.#replace(change);
    if (this.#kept === undefined) throw StoreError.noSnapshot(this.#clusterId);
    // A compaction that changes overtake would have more and more to do.
    if ((this.#journal?.bytes ?? 0) >= 2 * this.#compactedFrom) await this.#compaction?.done;
    if (this.#journal === undefined || this.#journal.torn) await this.#rotate(this.#kept);
    await this.#journal!.append(this.#kept.meta.generation, change);
    // A compaction may have ended meanwhile.
    this.#kept = { ...this.#kept, meta: change.meta };
    await this.#compactIfDue(this.#kept);
  }

  /** Resolves when nothing is written any more. @param abort whether a compaction may end early */
  async close(abort = false): Promise<void> {
    if (abort) await this.#stopCompaction();
    await this.#compaction?.done;
    await this.#journal?.close();
  }

  #goOn({ cluster, journals, canAppend, ...found }: Recovered): void {
    const last = canAppend ? (journals.at(-1) ?? { number: found.snapshot, bytes: 0 }) : undefined;
    if (last !== undefined) this.#journal = this.#journalAt(last.number, last.bytes);
    const closed = journals.filter(({ number }) => number !== last?.number);
    this.#adopt({ ...found, meta: cluster.meta, journals: closed });
  }

  async #replace({ meta, lines }: Extract<StoreChange, { kind: "snapshot" }>): Promise<void> {
    await this.#stopCompaction();
    const number = ++this.#number;
    const parts = snapshotParts(this.#clusterId, meta, encoded(lines));
    const { bytes, name } = await prepareDurably(this.#files.path(number, "snapshot"), parts);
    this.#unsettled = number;
    await name();
    this.#unsettled = undefined;
    await this.#journal?.close().catch(() => {});
    this.#journal = this.#journalAt(number, 0);
    const before = this.#kept?.snapshot ?? number;
    const { generation } = meta;
    this.#adopt({ meta, snapshot: number, snapshotBytes: bytes, generation, journals: [] });
    await this.#removeBefore(before);
  }

  /** Takes back a snapshot that failed when it was named: it may be there all the same, and would be loaded. */
  async #settle(): Promise<void> {
    if (this.#unsettled === undefined) return;
    await this.#files.removeSnapshot(this.#unsettled);
    this.#unsettled = undefined;
  }

  /** Begins a new journal. */
  async #rotate(kept: Kept): Promise<void> {
    const journal = this.#journal;
    if (journal !== undefined) {
      await journal.close().catch(() => {});
      const { number, bytes } = journal;
      this.#kept = { ...kept, journals: [...kept.journals, { number, bytes }] };
    }
    this.#journal = this.#journalAt(++this.#number, 0);
  }

  async #compactIfDue(kept: Kept): Promise<void> {
    const bytes = bytesOf(kept.journals) + this.#journal!.bytes;
    if (this.#compaction !== undefined || bytes < this.#compactedFrom) return;
    await this.#rotate(kept);
    const source = { ...this.#kept!, journals: this.#kept!.journals.map(({ number }) => number) };
    const number = this.#number;
    const abortion = new AbortController();
    const done = this.#background
      .run(async () => {
        if (abortion.signal.aborted) return;
        compaction.hasBegun = true;
        const written = await new Compaction(this.#files, this.#clusterId, source, abortion.signal).write(
          number,
        );
        this.#adoptCompacted(number, written, source.meta);
        await this.#removeBefore(source.snapshot);
      })
      .catch((error) => {
        if (abortion.signal.aborted) return;
        // Once more when there is as much again.
        this.#compactedFrom += bytes;
        this.#report("NOT_COMPACTED", `the journal is not compacted: ${messageOf(error)}`);
      })
      .finally(() => {
        if (this.#compaction === compaction) this.#compaction = undefined;
      });
    const compaction: OpenCompaction = { abortion, done, hasBegun: false };
    this.#compaction = compaction;
  }

  async #stopCompaction(): Promise<void> {
    const compaction = this.#compaction;
    this.#compaction = undefined;
    compaction?.abortion.abort();
    if (compaction?.hasBegun) await compaction.done;
  }

  #adoptCompacted(number: number, snapshotBytes: number, { generation }: ClusterMeta): void {
    const kept = this.#kept!;
    const journals = kept.journals.filter((journal) => journal.number >= number);
    this.#adopt({ meta: kept.meta, snapshot: number, snapshotBytes, generation, journals });
  }

  #adopt(kept: Kept): void {
    this.#kept = kept;
    this.#compactedFrom = Math.min(
      Math.max(kept.snapshotBytes / 2, LEAST_COMPACTED_BYTES),
      MOST_COMPACTED_BYTES,
    );
  }

  #journalAt(number: number, bytes: number): Journal {
    return new Journal(number, this.#files.path(number, "journal"), this.#clusterId, bytes);
  }

  async #removeBefore(number: number): Promise<void> {
    try {
      await this.#files.removeBefore(number);
    } catch (error) {
      this.#report("LEFTOVER", `old files could not be removed: ${messageOf(error)}`);
    }
  }

  #report(code: "LEFTOVER" | "NOT_COMPACTED", message: string): void {
    this.#warn({ code, clusterId: this.#clusterId, path: this.#files.folder, message });
  }
}

function* encoded(lines: Iterable<unknown>): Generator<Buffer> {
  for (const line of lines) yield encodeLine(line);
}

function bytesOf(journals: readonly FoundJournal[]): number {
  return journals.reduce((sum, { bytes }) => sum + bytes, 0);
}
