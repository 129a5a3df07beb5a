import type { Branch } from "../../generation/directory.ts";
import type { ReverseSegment } from "../../segment/reverse-segment.ts";
import type { Segment } from "../../segment/segment.ts";

/**
 * What a compiler has to know to go on from a generation that another one compiled: texts by name, one for each segment. They are kept with the
 * generation whose compilation wrote them.
 */
export interface CompilerNotes {
  /** Replaces a note; undefined removes it. */
  put(name: string, text: string | undefined): void;
  /** Removes all notes: everything is compiled. */
  clear(): void;
  /** All notes, in no order. @throws {Error} for one that is damaged */
  read(): Iterable<readonly [name: string, text: string]>;
  /** The branches to segments that are kept. @throws {Error} for one that is missing or damaged */
  names(hash: string): Branch<Segment>;
  reverse(hash: string): Branch<ReverseSegment>;
}

/** What else was noted. */
export interface ResumedKeys {
  /** `noteOf` each key of the source that had one. */
  readonly sizes: ReadonlyMap<string, number>;
  /** Keys with a finding or a conflict: they are not noted, so that the keys have to be compiled again. */
  readonly reported: ReadonlySet<string>;
  /** Whether clusters that are not live had a view. */
  readonly withAbsent: boolean;
}

/** What is noted of a generation as a whole: a hash of what own zones and federations depend on, how many keys have reports, and `withAbsent`. */
export type Summary = readonly [basis: string, reported: number, withAbsent: boolean];

/** The first characters of the names of notes. */
export const NoteKind = { names: "n", reverse: "r", reported: "k", summary: "s" } as const;

/** A leaf in a trie. */
export interface LeafPlace {
  readonly depth: number;
  readonly prefix: number;
}

/** The name of a leaf's note, without its kind. */
export function leafName({ depth, prefix }: LeafPlace): string {
  return `${depth}.${prefix}`;
}

/** The leaf that a name is of. */
export function leafOfName(name: string): LeafPlace {
  const [depth, prefix] = name.split(".").map(Number);
  return { depth: depth!, prefix: prefix! };
}
