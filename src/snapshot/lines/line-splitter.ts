import { LinesError } from "./lines-error.ts";

const NEWLINE = 0x0a;

/** Splits bytes that come in pieces into lines; holds at most one line that is not complete. */
export class LineSplitter {
  /** Complete lines so far. */
  lines = 0;
  readonly #most: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  /** @param most bytes of a line, without its end */
  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes of the line that is not complete yet. */
  get open(): number {
    return this.#bytes;
  }

  /**
   * Takes the next piece and yields the lines that it completes, each with its newline. A line may be a view of the piece.
   * @throws {LinesError} LINE_TOO_LONG, before more of the line is held
   */
  *feed(piece: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    while (start < piece.length) {
      const newline = piece.indexOf(NEWLINE, start);
      const end = newline === -1 ? piece.length : newline + 1;
      const part = piece.subarray(start, end);
      this.#bytes += part.length;
      if (this.#bytes - (newline === -1 ? 0 : 1) > this.#most)
        throw new LinesError("LINE_TOO_LONG", this.lines + 1, `has more than ${this.#most} bytes`);
      if (newline === -1) {
        // A copy: the caller may use the piece's memory again.
        this.#pieces.push(part.slice());
        return;
      }
      const line = this.#pieces.length === 0 ? part : join([...this.#pieces, part], this.#bytes);
      this.#pieces = [];
      this.#bytes = 0;
      this.lines++;
      yield line;
      start = end;
    }
  }
}

function join(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const joined = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}
