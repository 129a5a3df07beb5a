import type { Duplex } from "node:stream";
import {
  ConnectionError,
  DEFAULT_FRAME_SIZE,
  ErrorCode,
  FRAME_HEADER,
  FrameType,
  PREFACE,
} from "./protocol.ts";

/** Takes a frame: its payload is in `bytes` from `start` to `end`, and may change after the call. */
type TakeFrame = (
  type: number,
  flags: number,
  streamId: number,
  bytes: Buffer,
  start: number,
  end: number,
) => void;

/**
 * While nothing has begun: an idle connection holds no buffer, and none of these is a part of a larger one,
 * which a few bytes would keep in memory.
 */
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
   * @throws {ConnectionError} for a wrong preface, and for a frame that is too long, as soon as its header is
   * there
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

/** Frames that advance no request and that a client may send at once, and each second. */
const BURST = 10_000;
const PER_SECOND = 2_000;

/**
 * Counts frames that make a server work and advance no request: PING, SETTINGS, PRIORITY, RST_STREAM,
 * WINDOW_UPDATE, unknown ones, and empty DATA and CONTINUATION (RFC 9113 section 10.5).
 */
export class FloodBudget {
  readonly #clock: () => number;
  #left = BURST;
  #filledAt: number;

  /** @param clock milliseconds */
  constructor(clock: () => number) {
    this.#clock = clock;
    this.#filledAt = clock();
  }

  /**
   * A response made progress: the client may send two frames more, such as the WINDOW_UPDATE of stream and
   * connection.
   */
  earn(): void {
    if (this.#left < BURST) this.#left += 2;
  }

  /** Whether the client may send another one. */
  take(): boolean {
    if (this.#left >= 1) {
      this.#left--;
      return true;
    }
    const now = this.#clock();
    this.#left = Math.min(BURST, ((now - this.#filledAt) * PER_SECOND) / 1000);
    this.#filledAt = now;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}

/**
 * Takes what was read: the bytes from 0 to `length`, which change after the call. Node hands them over in
 * this order.
 */
type TakeRead = (length: number, bytes: Buffer) => void;

/**
 * A member of Node's sockets: their option `onread` sets these, but TLS sockets of servers do not take it.
 */
const MEMBERS = ["kBuffer", "kBufferCb"] as const;
type Member = (typeof MEMBERS)[number];

/** What Node's sockets have that read into a buffer of the program. */
type ReadingSocket = Duplex & Record<symbol, unknown> & { readonly _handle?: ReadingHandle | null };
interface ReadingHandle {
  useUserBuffer?: (buffer: Buffer) => void;
}

const READ_BYTES = 64 * 1024;

/** All connections are read into this one, one read at a time. */
let buffer: Buffer | undefined;
let symbols: Readonly<Record<Member, symbol>> | undefined;

/**
 * Hands all that is read from a socket to `take`. A socket of Node reads into one buffer, without a stream's
 * events, ticks and buffers: with one request in flight that is a tenth to a fifth of the CPU time of HTTP/2
 * (docs/explanation/benchmarks.md). Where a runtime does not have Node's members, the event `data` comes.
 */
export function takeReads(socket: Duplex, take: TakeRead): void {
  // Also for what the stream holds already.
  socket.on("data", (bytes: Buffer) => take(bytes.length, bytes));
  const reading = socket as ReadingSocket;
  const handle = reading._handle;
  if (typeof handle?.useUserBuffer !== "function") return;
  symbols ??= membersOf(reading);
  if (symbols === undefined || reading[symbols.kBuffer] !== null) return;
  buffer ??= Buffer.allocUnsafeSlow(READ_BYTES);
  handle.useUserBuffer(buffer);
  reading[symbols.kBuffer] = buffer;
  reading[symbols.kBufferCb] = take;
}

function membersOf(socket: ReadingSocket): typeof symbols {
  const found = Object.getOwnPropertySymbols(socket);
  const [kBuffer, kBufferCb] = MEMBERS.map((name) => found.find(({ description }) => description === name));
  return kBuffer === undefined || kBufferCb === undefined ? undefined : { kBuffer, kBufferCb };
}

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
