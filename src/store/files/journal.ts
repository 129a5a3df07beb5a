import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import { LINES_FORMAT_VERSION } from "../../snapshot/lines/patch-line.ts";
import type { ClusterMeta } from "../cluster-meta.ts";
import type { StoreChange } from "../store.ts";
import { storeFailure } from "../store-error.ts";
import { encodeLine } from "./checksum-line.ts";
import { syncDirectory } from "./durable-file.ts";
import type { JournalHead, RecordEnd } from "./journal-records.ts";
import { TURN_BYTES } from "./turn.ts";

/** A file to which the changes of a cluster are appended. */
export class Journal {
  readonly number: number;
  readonly #path: string;
  readonly #clusterId: string;
  #file: FileHandle | undefined;
  #bytes: number;
  #torn = false;

  /** @param bytes the length of the file now; 0 where it does not exist yet. */
  constructor(number: number, path: string, clusterId: string, bytes: number) {
    this.number = number;
    this.#path = path;
    this.#clusterId = clusterId;
    this.#bytes = bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether an append failed and could not be taken back, so that nothing that follows could be read again. */
  get torn(): boolean {
    return this.#torn;
  }

  /**
   * Appends a change; a delta is on the disk when the promise resolves, a renewal with the system.
   * @param base the generation that it builds on
   */
  async append(base: number, change: Exclude<StoreChange, { kind: "snapshot" }>): Promise<void> {
    const { kind, meta } = change;
    let bytes = this.#bytes;
    try {
      const file = this.#file ?? (await this.#open());
      for (const part of this.#parts(base, meta, kind === "patch" ? change.lines : [])) {
        await file.appendFile(part);
        bytes += part.length;
      }
    } catch (error) {
      if (storeFailure(error)?.code === "STORE_FULL") await this.#cut();
      else this.#torn = true;
      throw error;
    }
    try {
      if (kind === "patch") await this.#file?.datasync();
    } catch (error) {
      // What is on the disk after that is anybody's guess, also after another try (fsync(2), errors).
      this.#torn = true;
      throw error;
    }
    this.#bytes = bytes;
  }

  /** A record in parts, each encoded in one turn. A small record is one part, and so is written at once. */
  *#parts(base: number, meta: ClusterMeta, lines: Iterable<PatchLine>): Generator<Buffer> {
    let part: Buffer[] = [];
    if (this.#bytes === 0) {
      const head: JournalHead = { formatVersion: LINES_FORMAT_VERSION, clusterId: this.#clusterId, base };
      part.push(encodeLine(head));
    }
    let size = 0;
    let count = 0;
    for (const line of lines) {
      const bytes = encodeLine(line);
      part.push(bytes);
      count++;
      size += bytes.length;
      if (size < TURN_BYTES) continue;
      yield Buffer.concat(part);
      part = [];
      size = 0;
    }
    part.push(encodeLine({ lines: count, base, meta } satisfies RecordEnd));
    yield Buffer.concat(part);
  }

  /** Takes back what a full disk took of a record, so that the next one follows the last whole one. */
  async #cut(): Promise<void> {
    try {
      await this.#file?.truncate(this.#bytes);
    } catch {
      this.#torn = true;
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #open(): Promise<FileHandle> {
    const file = await open(this.#path, "a", 0o600);
    try {
      if (this.#bytes === 0) await syncDirectory(dirname(this.#path));
    } catch (error) {
      await file.close();
      throw error;
    }
    this.#file = file;
    return file;
  }
}
