import { type FileHandle, open } from "node:fs/promises";
import { decodeLine } from "./checksum-line.ts";
import { TURN_BYTES } from "./turn.ts";

const NEWLINE = 0x0a;

/** A line whose checksum fits. */
export interface SoundLine {
  readonly value: unknown;
  /** The line as it is in the file, with checksum and line feed. */
  readonly bytes: Buffer;
  /** Where it ends in the file, in bytes. */
  readonly end: number;
}

/** Reads the checksum lines of a file in turns, up to the first that is torn or altered. */
export class LineReader {
  readonly #path: string;
  /** The bytes of all sound lines. */
  soundBytes = 0;
  /** The length of the file in bytes, once it was opened. */
  fileBytes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Whether every byte belongs to a sound line; known after the last line. */
  get isWhole(): boolean {
    return this.soundBytes === this.fileBytes;
  }

  /** The lines, those of one turn together. @throws the system's error for a file that cannot be read */
  async *turns(): AsyncGenerator<readonly SoundLine[]> {
    const file = await open(this.#path, "r");
    try {
      this.fileBytes = (await file.stat()).size;
      yield* this.#read(file);
    } finally {
      await file.close();
    }
  }

  async *#read(file: FileHandle): AsyncGenerator<readonly SoundLine[]> {
    let rest: Buffer = Buffer.alloc(0);
    let position = 0;
    while (position < this.fileBytes) {
      // A buffer of its own for each turn: lines are parts of it, and outlive the turn.
      const chunk = Buffer.allocUnsafeSlow(Math.max(TURN_BYTES, rest.length));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
      const { lines, start, isSound } = this.#split(bytes);
      if (lines.length > 0) yield lines;
      if (!isSound) return;
      rest = bytes.subarray(start);
    }
  }

  #split(bytes: Buffer): { lines: SoundLine[]; start: number; isSound: boolean } {
    const lines: SoundLine[] = [];
    let start = 0;
    for (;;) {
      const newline = bytes.indexOf(NEWLINE, start);
      if (newline === -1) return { lines, start, isSound: true };
      const decoded = decodeLine(bytes.subarray(start, newline));
      if (decoded === undefined) return { lines, start, isSound: false };
      this.soundBytes += newline + 1 - start;
      lines.push({ ...decoded, bytes: bytes.subarray(start, newline + 1), end: this.soundBytes });
      start = newline + 1;
    }
  }
}
