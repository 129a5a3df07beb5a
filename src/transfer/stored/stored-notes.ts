import type { NoteTable } from "../../store/rows/note-table.ts";
import type { CompilerNotes } from "../../zone/compiler/notes/compiler-notes.ts";

/** What the notes of a scope are kept with. */
export interface NotesParts extends Pick<CompilerNotes, "names" | "reverse"> {
  readonly table: NoteTable;
  /** Writes, in a transaction, that the notes are not those of the generation that is kept. */
  readonly disown: (change: () => void) => void;
}

/** Characters of notes that wait for their generation. */
const MOST_WAITING = 1024 * 1024;

/**
 * The notes of one scope. Those of a small change are written together with its generation. A large one is noted as it is compiled, and until its generation is kept none of the notes
 * count: a process that dies meanwhile is followed by one that compiles everything.
 */
export class StoredNotes implements CompilerNotes {
  readonly names: CompilerNotes["names"];
  readonly reverse: CompilerNotes["reverse"];
  readonly #scope: string;
  readonly #parts: NotesParts;
  readonly #waiting = new Map<string, string | undefined>();
  #characters = 0;
  /** Whether the rows have all notes of the newest compilation, with those that wait. */
  isWhole = false;

  constructor(scope: string, parts: NotesParts) {
    this.#scope = scope;
    this.#parts = parts;
    this.names = parts.names;
    this.reverse = parts.reverse;
  }

  read(): Iterable<readonly [name: string, text: string]> {
    return this.#parts.table.read(this.#scope);
  }

  get(name: string): string {
    const text = this.#waiting.has(name)
      ? this.#waiting.get(name)
      : this.#parts.table.readOne(this.#scope, name);
    if (text === undefined) throw new Error(`the note ${name} is missing`);
    return text;
  }

  put(name: string, text: string | undefined): void {
    this.#waiting.set(name, text);
    this.#characters += name.length + (text?.length ?? 0);
    if (this.#characters <= MOST_WAITING) return;
    this.#parts.disown(() => this.write());
    this.written();
  }

  clear(): void {
    this.written();
    this.#parts.disown(() => this.#parts.table.clear(this.#scope));
    this.isWhole = true;
  }

  /** Writes the notes that wait, as part of a transaction. */
  write(): void {
    for (const [name, text] of this.#waiting) this.#parts.table.write(this.#scope, name, text);
  }

  /** Takes over that they are written. */
  written(): void {
    this.#waiting.clear();
    this.#characters = 0;
  }
}
