import type { Duplex } from "node:stream";
import { FRAME_HEADER, FrameType } from "./protocol.ts";

const SCRATCH_BYTES = 64 * 1024;

/**
 * All connections write their frames here, one connection at a time: making a buffer for each read costs
 * three times as much as an answer.
 */
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
let filled = 0;
let writer: FrameOutput | undefined;

/** The frames that a connection writes: those of one turn go to its socket together. */
export class FrameOutput {
  readonly #socket: Duplex;
  #isScheduled = false;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** Bytes that wait for the peer to read. */
  get backlog(): number {
    return this.#socket.writableLength + (writer === this ? filled : 0);
  }

  /** Writes a frame; the payload is in parts. A frame has at most 16,384 bytes. */
  frame(type: number, flags: number, streamId: number, first?: Uint8Array, second?: Uint8Array): void {
    const length = (first?.length ?? 0) + (second?.length ?? 0);
    this.#begin(type, flags, streamId, length);
    if (first !== undefined) this.#append(first, 0, first.length);
    if (second !== undefined) this.#append(second, 0, second.length);
  }

  /** Writes a DATA frame with a part of the bytes. */
  data(flags: number, streamId: number, bytes: Uint8Array, start: number, end: number): void {
    this.#begin(FrameType.DATA, flags, streamId, end - start);
    this.#append(bytes, start, end);
  }

  /** Writes a frame whose payload is one 32-bit number. */
  number(type: number, streamId: number, value: number): void {
    this.#begin(type, 0, streamId, 4);
    filled = scratch.writeUInt32BE(value >>> 0, filled);
  }

  /** Hands everything to the socket. */
  flush(): void {
    const frames = this.#take();
    if (frames !== undefined && this.#socket.writable) this.#socket.write(frames);
  }

  /** Hands everything to the socket before the turn ends. */
  flushSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  #take(): Buffer | undefined {
    if (writer !== this || filled === 0) return undefined;
    const frames = Buffer.allocUnsafe(filled);
    scratch.copy(frames, 0, 0, filled);
    filled = 0;
    writer = undefined;
    return frames;
  }

  #begin(type: number, flags: number, streamId: number, length: number): void {
    if (writer !== this) writer?.flush();
    if (filled + FRAME_HEADER + length > SCRATCH_BYTES) this.flush();
    writer = this;
    scratch[filled] = length >> 16;
    scratch[filled + 1] = length >> 8;
    scratch[filled + 2] = length;
    scratch[filled + 3] = type;
    scratch[filled + 4] = flags;
    filled = scratch.writeUInt32BE(streamId, filled + 5);
  }

  #append(bytes: Uint8Array, start: number, end: number): void {
    scratch.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end), filled);
    filled += end - start;
  }
}
