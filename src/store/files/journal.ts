import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { JournalRecord } from "../replay.ts";
import { storeFailure } from "../store-error.ts";
import { encodeLine } from "./checksum-line.ts";
import { syncDirectory } from "./durable-file.ts";

/** The file to which the changes since a full snapshot are appended. */
export class Journal {
  readonly #path: string;
  #file: FileHandle | undefined;
  #bytes: number;
  #torn = false;

  /** @param bytes the length of the file now; 0 where it does not exist yet. */
  constructor(path: string, bytes: number) {
    this.#path = path;
    this.#bytes = bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether an append failed and could not be taken back, so that nothing that follows could be read again. */
  get torn(): boolean {
    return this.#torn;
  }

  /** Appends a record; a delta is on the disk when the promise resolves, a renewal with the system. */
  async append(record: JournalRecord): Promise<void> {
    const line = encodeLine(record);
    try {
      const file = this.#file ?? (await this.#open());
      await file.appendFile(line);
    } catch (error) {
      if (storeFailure(error)?.code === "STORE_FULL") await this.#cut();
      else this.#torn = true;
      throw error;
    }
    try {
      if (record.kind === "patch") await this.#file?.datasync();
    } catch (error) {
      // What is on the disk after that is anybody's guess, also after another try (fsync(2), errors).
      this.#torn = true;
      throw error;
    }
    this.#bytes += line.length;
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
    this.#file = await open(this.#path, "a", 0o600);
    if (this.#bytes === 0) await syncDirectory(dirname(this.#path));
    return this.#file;
  }
}
