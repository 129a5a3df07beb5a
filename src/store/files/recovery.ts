import { truncate } from "node:fs/promises";
import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import { SnapshotDraft } from "../snapshot-draft.ts";
import type { StoredCluster } from "../store.ts";
import { messageOf, type OnStoreWarning } from "../store-error.ts";
import type { ClusterFiles } from "./cluster-files.ts";
import { type ChainCut, JournalChain } from "./journal-chain.ts";
import { SnapshotFile } from "./snapshot-file.ts";
import { inTurns } from "./turn.ts";

/** A journal, and how many bytes of it count. */
export interface FoundJournal {
  readonly number: number;
  readonly bytes: number;
}

/** What was found of a cluster. */
export interface Recovered {
  readonly cluster: StoredCluster;
  /** The snapshot that was loaded: its number, its length in bytes, its generation. */
  readonly snapshot: number;
  readonly snapshotBytes: number;
  readonly generation: number;
  /** The journals that follow it, in order. */
  readonly journals: readonly FoundJournal[];
  /** Whether changes can be appended to the last one. */
  readonly canAppend: boolean;
}

/** Finds the newest sound state in a folder. */
export class Recovery {
  readonly #files: ClusterFiles;
  readonly #clusterId: string;
  readonly #warn: OnStoreWarning;

  constructor(files: ClusterFiles, clusterId: string, warn: OnStoreWarning) {
    this.#files = files;
    this.#clusterId = clusterId;
    this.#warn = warn;
  }

  /** Reads it; undefined where nothing sound was found. Damaged files are cut or set aside, so that changes can follow. */
  async run(): Promise<Recovered | undefined> {
    const { snapshot, journal } = await this.#files.list();
    for (const number of snapshot.toReversed()) {
      const path = this.#files.path(number, "snapshot");
      try {
        const journals = journal.filter((one) => one >= number);
        return await this.#load(number, journals);
      } catch (error) {
        this.#report("CORRUPT_SNAPSHOT", path, `the snapshot is not loaded: ${messageOf(error)}`);
        // What is kept from here on follows an older number, and this one must not win again.
        await this.#files.setAside(path);
      }
    }
    return undefined;
  }

  async #load(number: number, journals: readonly number[]): Promise<Recovered> {
    let state = await this.#read(number, journals);
    let invalid: string | undefined;
    let snapshot = await inTurns(state.draft.parseInSteps()).catch((error: unknown) => {
      invalid = `a delta is no longer valid: ${messageOf(error)}`;
      return undefined;
    });
    if (snapshot === undefined) {
      state = await this.#read(number, journals, await this.#validRecords(number, journals, state.records));
      snapshot = await inTurns(state.draft.parseInSteps());
    }
    const { file, meta, chain } = state;
    const { cut } = chain;
    if (cut !== undefined) {
      const message = `cut after ${cut.soundBytes} of ${cut.fileBytes} bytes: ${invalid ?? cut.why}`;
      this.#report("CORRUPT_JOURNAL", cut.link.path, message);
    }
    return {
      cluster: { clusterId: this.#clusterId, meta, snapshot },
      snapshot: number,
      snapshotBytes: file.bytes,
      generation: file.meta.generation,
      journals: chain.read,
      canAppend: cut === undefined || (await this.#cut(cut, journals)),
    };
  }

  /** Takes away what is of no use. @returns whether the journal that was cut can be appended to */
  async #cut({ link, soundBytes }: ChainCut, journals: readonly number[]): Promise<boolean> {
    for (const later of journals)
      if (later > link.number) await this.#files.setAside(this.#files.path(later, "journal"));
    return truncate(link.path, soundBytes).then(
      () => true,
      () => false,
    );
  }

  /** @param most how many records of the journals are read */
  async #read(number: number, journals: readonly number[], most?: number) {
    const draft = new SnapshotDraft(this.#clusterId);
    const file = new SnapshotFile(this.#files.path(number, "snapshot"), this.#clusterId);
    for await (const turn of file.turns()) for (const { value } of turn) draft.apply(value as PatchLine);
    const chain = new JournalChain(
      journals.map((one) => this.#files.link(one)),
      this.#clusterId,
    );
    let { meta } = file;
    let records = 0;
    for await (const record of chain.records(meta.generation, undefined, most)) {
      for (const { value } of record.lines) draft.apply(value);
      ({ meta } = record);
      records++;
    }
    return { draft, file, meta, chain, records };
  }

  /**
   * How many records lead to a valid state, where all of them do not: deltas are valid when they are kept, but another version may have other rules.
   * @throws {SnapshotError} for a snapshot that is not valid itself
   */
  async #validRecords(number: number, journals: readonly number[], all: number): Promise<number> {
    const parse = async (most: number) =>
      inTurns((await this.#read(number, journals, most)).draft.parseInSteps()).then(() => {});
    await parse(0);
    let valid = 0;
    let invalid = all;
    while (invalid - valid > 1) {
      const middle = Math.floor((valid + invalid) / 2);
      await parse(middle).then(
        () => {
          valid = middle;
        },
        () => {
          invalid = middle;
        },
      );
    }
    return valid;
  }

  #report(code: "CORRUPT_SNAPSHOT" | "CORRUPT_JOURNAL", path: string, message: string): void {
    this.#warn({ code, clusterId: this.#clusterId, path, message });
  }
}
