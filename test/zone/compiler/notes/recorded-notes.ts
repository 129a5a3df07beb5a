import type { HoldSegment } from "../../../../src/zone/compiler/held-block.ts";
import type { CompilerNotes } from "../../../../src/zone/compiler/notes/compiler-notes.ts";
import type { Branch } from "../../../../src/zone/generation/directory.ts";
import type { ReverseSegment } from "../../../../src/zone/segment/reverse-segment.ts";
import type { Segment } from "../../../../src/zone/segment/segment.ts";

/** Notes in memory with the segments that they are of, and the names of those that were written. */
export class RecordedNotes implements CompilerNotes {
  readonly texts = new Map<string, string>();
  /** `+<name>` for each note that was written, `-<name>` for each that was removed, since `take`. */
  #changes: string[] = [];
  readonly #segments = new Map<string, unknown>();
  readonly hold: HoldSegment = (segment) => {
    this.#segments.set(segment.hash, segment);
    return segment as never;
  };

  put(name: string, text: string | undefined): void {
    this.#changes.push(`${text === undefined ? "-" : "+"}${name}`);
    if (text === undefined) this.texts.delete(name);
    else this.texts.set(name, text);
  }

  get(name: string): string {
    const text = this.texts.get(name);
    if (text === undefined) throw new Error(`the note ${name} is missing`);
    return text;
  }

  clear(): void {
    this.#changes.push("cleared");
    this.texts.clear();
  }

  /** In an order of their own: a compiler must not depend on it. */
  read(): Iterable<readonly [string, string]> {
    return [...this.texts].sort(([one], [other]) => (one < other ? 1 : -1));
  }

  /** The changes since the last call, sorted. */
  take(): string[] {
    const changes = this.#changes.sort();
    this.#changes = [];
    return changes;
  }

  names(hash: string): Branch<Segment> {
    return this.#segments.get(hash) as Branch<Segment>;
  }

  reverse(hash: string): Branch<ReverseSegment> {
    return this.#segments.get(hash) as Branch<ReverseSegment>;
  }
}
