import { stat } from "node:fs/promises";
import type { PatchLine } from "../../snapshot/lines/patch-line.ts";
import type { ClusterMeta } from "../cluster-meta.ts";
import { messageOf } from "../store-error.ts";
import { JournalHead, RecordEnd } from "./journal-records.ts";
import { LineReader, type SoundLine } from "./line-reader.ts";

/** A journal of a chain. */
export interface ChainLink {
  readonly number: number;
  readonly path: string;
}

/** A change in a journal. */
export interface ChainLine extends SoundLine {
  readonly value: PatchLine;
}

/** A record whose changes are all there. */
export interface JournalRecord {
  readonly meta: ClusterMeta;
  readonly lines: readonly ChainLine[];
}

interface BasedRecord extends JournalRecord {
  /** The generation that it builds on. */
  readonly base: number;
}

/** Where a chain ends early. */
export interface ChainCut {
  readonly link: ChainLink;
  /** The bytes of the journal that count, and all of its bytes. */
  readonly soundBytes: number;
  readonly fileBytes: number;
  readonly why: string;
}

/**
 * Journals one after the other. Each begins with the generation that its first record builds on: later records of the journal before it were
 * never acknowledged, because an append failed.
 */
export class JournalChain {
  readonly #links: readonly ChainLink[];
  readonly #clusterId: string;
  /** Where the chain ends early; known after the last record. */
  cut: ChainCut | undefined;
  /** The journals that were read, and how many bytes of each count. */
  readonly read: { readonly number: number; readonly bytes: number }[] = [];

  constructor(links: readonly ChainLink[], clusterId: string) {
    this.#links = links;
    this.#clusterId = clusterId;
  }

  /**
   * The records, in order.
   * @param generation that the first one builds on
   * @param last the last generation that counts
   * @param most how many records are read
   */
  async *records(
    generation: number,
    last = Number.POSITIVE_INFINITY,
    most = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<JournalRecord> {
    const bases = await Promise.all(this.#links.map((link) => this.#baseOf(link)));
    let current = generation;
    let left = most;
    for (const [index, link] of this.#links.entries()) {
      const bound = bases.slice(index + 1).find((base) => base !== undefined) ?? last;
      let sound = 0;
      let why: string | undefined;
      const fileBytes = await lengthOf(link.path);
      if (bases[index] === current) {
        for await (const { record, end, damage } of this.#read(link.path)) {
          why = damage;
          if (record !== undefined) {
            if (record.meta.generation > bound) break;
            if (record.base !== current) why = "a record does not follow the one before it";
            else if (left-- === 0) why = "";
          }
          if (why !== undefined) break;
          if (record !== undefined) {
            yield record;
            current = record.meta.generation;
          }
          sound = end;
        }
      } else if (fileBytes > 0)
        why = `a record ${bases[index] === undefined ? "is damaged" : "does not follow the one before it"}`;
      this.read.push({ number: link.number, bytes: sound });
      // An append that failed, and was made again in the next journal.
      if (why === undefined || bound === current) continue;
      this.cut = { link, soundBytes: sound, fileBytes, why };
      return;
    }
  }

  /** The records of a journal, each with where it ends; at last, why the rest is of no use. */
  async *#read(path: string): AsyncGenerator<{ record?: BasedRecord; end: number; damage?: string }> {
    const reader = new LineReader(path);
    let isHead = true;
    let lines: ChainLine[] = [];
    try {
      for await (const turn of reader.turns())
        for (const line of turn) {
          if (isHead) {
            yield { end: line.end };
            isHead = false;
          } else if (Array.isArray(line.value)) lines.push(line as ChainLine);
          else {
            const { lines: count, ...end } = RecordEnd.safeParse(line.value).data ?? {};
            if (count !== lines.length) return yield { damage: "a record has another format", end: line.end };
            yield { record: { ...(end as Omit<RecordEnd, "lines">), lines }, end: line.end };
            lines = [];
          }
        }
    } catch (error) {
      return yield { damage: messageOf(error), end: 0 };
    }
    if (lines.length > 0 || !reader.isWhole) yield { damage: "a record is damaged", end: 0 };
  }

  /** The generation that a journal builds on; undefined for one without a sound head. */
  async #baseOf({ path }: ChainLink): Promise<number | undefined> {
    try {
      for await (const [line] of new LineReader(path).turns()) {
        const head = JournalHead.safeParse(line?.value).data;
        return head?.clusterId === this.#clusterId ? head.base : undefined;
      }
    } catch {
      // One that is not there, or cannot be read, has no head.
    }
    return undefined;
  }
}

/** The length of a file in bytes; 0 for none. */
async function lengthOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}
