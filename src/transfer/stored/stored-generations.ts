import * as z from "zod";
import type { GenerationFacts, GenerationStore } from "../../gateway/keeping/generation-store.ts";
import type { NoteTable } from "../../store/rows/note-table.ts";
import type { PartTable } from "../../store/rows/part-table.ts";
import {
  type Blob,
  type Branch,
  Page,
  RememberedBranch,
  type SegmentMemory,
} from "../../zone/generation/directory.ts";
import type { Generation } from "../../zone/generation/generation.ts";
import type { ReverseSegment } from "../../zone/segment/reverse-segment.ts";
import { Segment } from "../../zone/segment/segment.ts";
import type { AnySegment } from "../parts/any-segment.ts";
import { followParts, type PartFollower } from "../parts/follow-parts.ts";
import { isOfNames, isOfReverseNames, loadRoot } from "../parts/load-root.ts";
import { writeRootDocument } from "../parts/root-responses.ts";
import { StoredNotes } from "./stored-notes.ts";
import type { StoredParts } from "./stored-parts.ts";

const StoredRecord = z.strictObject({
  /** What the generation was compiled with, see `StoredGenerationsOptions`. */
  settings: z.string(),
  rootHash: z.string(),
  serial: z.int(),
  /** Unix milliseconds. */
  keptAt: z.number(),
  generationBytes: z.int(),
  services: z.int(),
  clusters: z.array(
    z.strictObject({
      ...{ clusterId: z.string(), generation: z.int(), ranked: z.number().optional() },
      ...{ exports: z.int(), imports: z.int() },
    }),
  ),
  /** Whether the notes of the scope are those of this generation. */
  isNoted: z.boolean(),
});

type StoredRecord = z.infer<typeof StoredRecord>;

/** A generation from the store, with what is known of it. Its segments are read when a query needs them. */
export interface StoredGeneration extends GenerationFacts {
  readonly generation: Generation;
  readonly generationBytes: number;
  /** When it was kept, in Unix milliseconds. */
  readonly keptAt: number;
}

/** How generations are stored. */
export interface StoredGenerationsOptions {
  readonly table: PartTable;
  readonly parts: StoredParts;
  readonly noteTable: NoteTable;
  /** A text of everything beside pushes that a generation depends on: one that was compiled with another text is not loaded. */
  readonly settings: string;
  /** Unix milliseconds. */
  readonly clock: () => number;
}

/** How long parts that no generation has any more stay, for secondaries that are about to fetch them, in milliseconds. */
const KEPT_FOR = 30_000;
/**
 * Parts that are removed with each generation, beside twice as many as it replaced: a large push removes as many as it leaves, so that `#unused` does not
 * grow with pushes, and a change of one endpoint some 20 of those that large ones left, not 256.
 */
const MORE_REMOVED = 4;
/** Since when parts are not used that no generation ever had. */
const NEVER_USED = 0;
/** Hashes of one step of a sweep. */
const HASHES_AT_ONCE = 256;

/**
 * The newest generation of each scope in rows: its parts by hash, which scopes share, and a record that names its root. Segments are written as they
 * are compiled, everything else and the record in one transaction after them, so that a crash leaves the generation before or this one, whole.
 */
export class StoredGenerations implements GenerationStore<Generation> {
  readonly #options: StoredGenerationsOptions;
  readonly #names: SegmentMemory<Segment>;
  readonly #reverse: SegmentMemory<ReverseSegment>;
  readonly #newest = new Map<string, Generation>();
  /** The generations of the process before. */
  readonly #loaded = new Map<string, StoredGeneration>();
  readonly #records = new Map<string, StoredRecord>();
  readonly #notes = new Map<string, StoredNotes>();
  /** How often the newest generations of all scopes have each part. */
  readonly #uses = new Map<string, number>();
  /** Parts that none of them has, with when that was noticed. The oldest first. */
  readonly #unused = new Map<string, number>();
  /** Segments that were written and are in no generation yet. */
  readonly #held = new Set<string>();

  constructor(options: StoredGenerationsOptions) {
    this.#options = options;
    this.#names = options.parts.of(isOfNames);
    this.#reverse = options.parts.of(isOfReverseNames);
  }

  /** The newest generation of a scope; undefined where there is none that is whole and compiled with these settings. */
  load(scope: string): StoredGeneration | undefined {
    const { table, parts, settings } = this.#options;
    const text = table.readGeneration(scope);
    const record = text === undefined ? undefined : StoredRecord.safeParse(JSON.parse(text)).data;
    if (record?.settings !== settings) return undefined;
    const { rootHash, serial } = record;
    return parts.loaded(rootHash, (root) => {
      const document = writeRootDocument(root, (hash) => parts.read(hash));
      if (document === undefined) return undefined;
      const generation = loadRoot(document, rootHash, serial, undefined, parts);
      if (!this.#loadPages(generation)) return undefined;
      const loaded = { ...record, generation };
      this.#loaded.set(scope, loaded);
      this.#records.set(scope, record);
      return loaded;
    });
  }

  resumable(scope: string): GenerationFacts | undefined {
    return this.#records.get(scope)?.isNoted === true ? this.#loaded.get(scope) : undefined;
  }

  resumed(scope: string): void {
    const { generation } = this.#loaded.get(scope)!;
    followParts({ use: (hash) => this.#use(hash), drop: () => {} }, generation, undefined);
    this.#newest.set(scope, generation);
    this.#notes.get(scope)!.isWhole = true;
  }

  /** The notes of the compiler of a scope. */
  notes(scope: string): StoredNotes {
    const { noteTable: table, parts } = this.#options;
    const branch = <Content extends AnySegment>(hash: string, memory: SegmentMemory<Content>) => {
      const bytes = parts.read(hash);
      if (bytes === undefined) throw new Error("a segment is missing or damaged");
      return new RememberedBranch(hash, memory, bytes.length);
    };
    const notes = new StoredNotes(scope, {
      table,
      names: (hash) => branch(hash, this.#names),
      reverse: (hash) => branch(hash, this.#reverse),
      disown: (change) => this.#disown(scope, change),
    });
    this.#notes.set(scope, notes);
    return notes;
  }

  #disown(scope: string, change: () => void): void {
    const { table } = this.#options;
    const record = this.#records.get(scope);
    const disowned = record?.isNoted === true ? { ...record, isNoted: false } : undefined;
    table.transaction(() => {
      if (disowned !== undefined) table.writeGeneration(scope, JSON.stringify(disowned));
      change();
    });
    if (disowned !== undefined) this.#records.set(scope, disowned);
  }

  /** Writes a segment that was compiled, so that memory need not have it. One of a generation that never comes is removed later. */
  hold<Content extends AnySegment>(segment: Content): Branch<Content> {
    const { table } = this.#options;
    const { hash, bytes } = segment;
    table.write(hash, bytes);
    this.#unused.delete(hash);
    this.#held.add(hash);
    const memory: SegmentMemory<AnySegment> = segment instanceof Segment ? this.#names : this.#reverse;
    memory.add(segment);
    return new RememberedBranch(hash, memory as SegmentMemory<Content>, bytes.length);
  }

  keep(scope: string, generation: Generation, facts: GenerationFacts): void {
    const { table, settings, clock } = this.#options;
    const keptAt = clock();
    const notes = this.#notes.get(scope);
    const record: StoredRecord = {
      ...{ settings, rootHash: generation.rootHash, serial: generation.serial, keptAt },
      ...{ generationBytes: generation.byteLength, services: facts.services },
      clusters: [...facts.clusters],
      isNoted: notes?.isWhole === true,
    };
    const before = this.#newest.get(scope);
    const [used, dropped]: [string[], string[]] = [[], []];
    const follower: PartFollower = {
      use: (hash, part) => {
        used.push(hash);
        if (!this.#held.has(hash)) table.write(hash, part.read()!);
      },
      drop: (hash) => void dropped.push(hash),
    };
    table.transaction(() => {
      followParts(follower, generation, before);
      notes?.write();
      table.writeGeneration(scope, JSON.stringify(record));
    });
    notes?.written();
    this.#records.set(scope, record);
    this.#newest.set(scope, generation);
    for (const hash of used) this.#use(hash);
    for (const hash of this.#held) if (!this.#uses.has(hash)) this.#unused.set(hash, NEVER_USED);
    this.#held.clear();
    for (const hash of dropped) this.#drop(hash, keptAt);
    this.#removeUnused(keptAt, 2 * dropped.length + MORE_REMOVED);
  }

  /**
   * Removes the parts that no generation ever had, and notes those that none has any more, in steps: those of a process that died. To be called when
   * every scope has a generation.
   */
  *sweep(): Generator<void> {
    const { table, clock } = this.#options;
    let count = 0;
    for (const [hash, since] of this.#unused) {
      if (since !== NEVER_USED) continue;
      this.#remove(hash);
      if (++count % HASHES_AT_ONCE === 0) yield;
    }
    for (const hash of table.hashes()) {
      const isKnown = this.#uses.has(hash) || this.#held.has(hash) || this.#unused.has(hash);
      if (!isKnown) this.#unused.set(hash, clock());
      if (++count % HASHES_AT_ONCE === 0) yield;
    }
  }

  #use(hash: string): void {
    this.#uses.set(hash, (this.#uses.get(hash) ?? 0) + 1);
    this.#unused.delete(hash);
  }

  #drop(hash: string, now: number): void {
    const uses = this.#uses.get(hash)! - 1;
    if (uses > 0) {
      this.#uses.set(hash, uses);
      return;
    }
    this.#uses.delete(hash);
    this.#unused.set(hash, now);
  }

  #removeUnused(now: number, most: number): void {
    let left = most;
    for (const [hash, since] of this.#unused) {
      if (Math.abs(now - since) < KEPT_FOR || left-- === 0) return;
      this.#remove(hash);
    }
  }

  #remove(hash: string): void {
    this.#options.table.remove(hash);
    this.#unused.delete(hash);
  }

  /** Brings the pages below the top pages into memory. @returns whether all of them are there */
  #loadPages({ names, reverse }: Generation): boolean {
    return this.#loadBelow(names, this.#names) && this.#loadBelow(reverse, this.#reverse);
  }

  #loadBelow<Content extends Blob>({ entries }: Page<Content>, memory: SegmentMemory<Content>): boolean {
    return entries.every(({ branch }) => {
      if (branch.kind !== "page") return true;
      const bytes = this.#options.parts.read(branch.hash);
      if (bytes === undefined) return false;
      branch.page = Page.load(bytes, branch.hash, false, memory);
      return true;
    });
  }
}
