import type { JsonObject } from "../../snapshot/json-value.ts";
import type { ClusterMeta } from "../cluster-meta.ts";
import { linesOfEntry } from "../lines.ts";
import { mergeInPlace } from "../snapshot-draft.ts";
import { decodeLine, encodeLine } from "./checksum-line.ts";
import type { ClusterFiles } from "./cluster-files.ts";
import { prepareDurably } from "./durable-file.ts";
import { JournalChain } from "./journal-chain.ts";
import { SnapshotFile, snapshotParts } from "./snapshot-file.ts";

/** What is compacted: a snapshot with its generation, and the journals that follow it up to the state with `meta`. */
export interface CompactionSource {
  readonly snapshot: number;
  readonly generation: number;
  readonly journals: readonly number[];
  readonly meta: ClusterMeta;
}

/** Changes of one entry, or of a single value, as they are in journals. */
interface Changes {
  readonly path: readonly string[];
  readonly lines: Buffer[];
  isWritten: boolean;
}

/**
 * Writes a snapshot with the changes of journals, in turns with other work. The files that it reads must not change meanwhile. Memory holds the journals
 * and one entry: lines of entries without changes are copied.
 */
export class Compaction {
  readonly #files: ClusterFiles;
  readonly #clusterId: string;
  readonly #source: CompactionSource;
  readonly #signal: AbortSignal;
  readonly #changes = new Map<string, Changes>();

  constructor(files: ClusterFiles, clusterId: string, source: CompactionSource, signal: AbortSignal) {
    this.#files = files;
    this.#clusterId = clusterId;
    this.#source = source;
    this.#signal = signal;
  }

  /**
   * Writes the snapshot of a number.
   * @returns its length in bytes
   * @throws {Error} if a file is damaged or cannot be written, or after an abortion; then nothing has changed, or the snapshot is there
   */
  async write(number: number): Promise<number> {
    const parts = snapshotParts(this.#clusterId, this.#source.meta, this.#lines());
    const file = await prepareDurably(this.#files.path(number, "snapshot"), parts);
    await file.name();
    return file.bytes;
  }

  async *#lines(): AsyncGenerator<Buffer> {
    await this.#readJournals();
    const path = this.#files.path(this.#source.snapshot, "snapshot");
    let open: Changes | undefined;
    let value: unknown;
    for await (const turn of new SnapshotFile(path, this.#clusterId).turns()) {
      this.#signal.throwIfAborted();
      for (const line of turn) {
        const changes = this.#changes.get(nameOf(line.value));
        if (open !== undefined && changes !== open) {
          yield* written(open, value);
          value = undefined;
        }
        open = changes;
        if (changes === undefined) yield line.bytes;
        else if (changes.isWritten) throw new Error(`lines of ${changes.path} are apart`);
        else value = mergeInPlace(value, (line.value as unknown[]).at(-1));
      }
    }
    if (open !== undefined) yield* written(open, value);
    for (const changes of this.#changes.values()) if (!changes.isWritten) yield* written(changes, undefined);
  }

  async #readJournals(): Promise<void> {
    const { generation, journals, meta } = this.#source;
    const links = journals.map((number) => this.#files.link(number));
    const chain = new JournalChain(links, this.#clusterId);
    let reached = generation;
    for await (const record of chain.records(generation, meta.generation)) {
      this.#signal.throwIfAborted();
      reached = record.meta.generation;
      for (const { value, bytes } of record.lines) {
        const name = nameOf(value);
        const path = value.slice(0, -1) as string[];
        const changes = this.#changes.get(name) ?? { path, lines: [], isWritten: false };
        changes.lines.push(bytes);
        this.#changes.set(name, changes);
      }
    }
    if (reached !== meta.generation) throw new Error(`a journal is damaged: ${chain.cut?.why}`);
  }
}

/** The lines of an entry after its changes; none if it is removed. */
function* written(changes: Changes, before: unknown): Generator<Buffer> {
  changes.isWritten = true;
  let value = before;
  for (const line of changes.lines) {
    const patch = (decodeLine(line.subarray(0, -1))?.value as unknown[] | undefined)?.at(-1);
    value = patch === null ? undefined : mergeInPlace(value, patch);
  }
  if (value === undefined) return;
  for (const line of linesOfEntry(changes.path, value as JsonObject)) yield encodeLine(line);
}

function nameOf(line: unknown): string {
  return JSON.stringify((line as unknown[]).slice(0, -1));
}
