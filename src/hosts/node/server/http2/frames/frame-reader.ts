import { ConnectionError, DEFAULT_FRAME_SIZE, ErrorCode, FRAME_HEADER, PREFACE } from "../protocol.ts";

/** Takes a frame: its payload is in `bytes` from `start` to `end`, and may change after the call. */
export type TakeFrame = (
  type: number,
  flags: number,
  streamId: number,
  bytes: Buffer,
  start: number,
  end: number,
) => void;

/** While nothing has begun: an idle connection holds no buffer, and none of these is a part of a larger one, which a few bytes would keep in memory. */
const NONE = Buffer.alloc(0);

/** Finds the preface and the frames in bytes that come in any pieces (RFC 9113 sections 3.4 and 4.1). */
export class FrameReader {
  readonly #take: TakeFrame;
  #prefaceLeft = PREFACE.length;
  /** A frame that has begun: its header, and its payload once the length is known. */
  #partial: Buffer = NONE;
  #filled = 0;

  constructor(take: TakeFrame) {
    this.#take = take;
  }

  /**
   * Takes the bytes from 0 to `length`.
   * @throws {ConnectionError} for a wrong preface, and for a frame that is too long, as soon as its header is there
   */
  feed(bytes: Buffer, length: number): void {
    let at = this.#prefaceLeft > 0 ? this.#readPreface(bytes, length) : 0;
    if (this.#filled > 0) at = this.#complete(bytes, at, length);
    while (length - at >= FRAME_HEADER) {
      const end = at + FRAME_HEADER + lengthAt(bytes, at);
      if (end > length) break;
      this.#frame(bytes, at, end);
      at = end;
    }
    if (at < length) this.#keep(bytes, at, length);
  }

  #readPreface(bytes: Buffer, end: number): number {
    const from = PREFACE.length - this.#prefaceLeft;
    const length = Math.min(this.#prefaceLeft, end);
    if (PREFACE.compare(bytes, 0, length, from, from + length) !== 0)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "the connection does not begin with the preface");
    this.#prefaceLeft -= length;
    return length;
  }

  /** Adds to a frame that began in an earlier piece. @returns where the next one begins */
  #complete(bytes: Buffer, from: number, to: number): number {
    let at = from;
    while (at < to) {
      const isHeader = this.#filled < FRAME_HEADER;
      const wanted = isHeader ? FRAME_HEADER : FRAME_HEADER + lengthAt(this.#partial, 0);
      const end = Math.min(to, at + wanted - this.#filled);
      bytes.copy(this.#partial, this.#filled, at, end);
      this.#filled += end - at;
      at = end;
      if (this.#filled < wanted) break;
      const length = lengthAt(this.#partial, 0);
      if (isHeader && length > 0) {
        const whole = Buffer.allocUnsafeSlow(FRAME_HEADER + length);
        this.#partial.copy(whole, 0, 0, FRAME_HEADER);
        this.#partial = whole;
        continue;
      }
      const frame = this.#partial;
      this.#filled = 0;
      this.#partial = NONE;
      this.#frame(frame, 0, FRAME_HEADER + length);
      break;
    }
    return at;
  }

  #keep(bytes: Buffer, at: number, end: number): void {
    const payload = end - at >= FRAME_HEADER ? lengthAt(bytes, at) : 0;
    this.#partial = Buffer.allocUnsafeSlow(FRAME_HEADER + payload);
    this.#filled = bytes.copy(this.#partial, 0, at, end);
  }

  #frame(bytes: Buffer, at: number, end: number): void {
    const streamId = bytes.readUInt32BE(at + 5) & 0x7fffffff;
    this.#take(bytes[at + 3]!, bytes[at + 4]!, streamId, bytes, at + FRAME_HEADER, end);
  }
}

/** Section 4.2: checked on the header alone, before anything is kept for the payload. */
function lengthAt(bytes: Buffer, at: number): number {
  const length = bytes.readUIntBE(at, 3);
  if (length > DEFAULT_FRAME_SIZE)
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `a frame has ${length} bytes`);
  return length;
}
