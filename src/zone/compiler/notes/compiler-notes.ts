import type { Branch } from "../../generation/directory.ts";
import type { ReverseSegment } from "../../segment/reverse-segment.ts";
import type { Segment } from "../../segment/segment.ts";

/**
 * What a compiler has to know to go on from a generation that another one compiled: texts by name, one for each segment. They are kept with the
 * generation whose compilation wrote them. A compiler with notes need not hold what they have: it reads the note of a leaf again that a change touches.
 */
export interface CompilerNotes {
  /** Replaces a note; undefined removes it. */
  put(name: string, text: string | undefined): void;
  /** Removes all notes: everything is compiled. */
  clear(): void;
  /** All notes, in no order. @throws {Error} for one that is damaged */
  read(): Iterable<readonly [name: string, text: string]>;
  /** A note as it was put last. @throws {Error} if it is missing or damaged */
  get(name: string): string;
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

/** The first line of a note of a leaf: what is known of the leaf while memory does not have it. */
export function headOf(text: string): unknown {
  return JSON.parse(text.slice(0, text.indexOf("\n")));
}

/** Both lines of such a note. */
export function partsOf(text: string): [head: unknown, rest: unknown] {
  return [headOf(text), JSON.parse(text.slice(text.indexOf("\n")))];
}
