import { datedBlock, dateField, type ResponseFields, responseBlock } from "./fields.ts";
import type { FrameOutput } from "./frame-output.ts";
import { NO_TABLE } from "./hpack.ts";
import {
  ConnectionError,
  DEFAULT_FRAME_SIZE,
  DEFAULT_WINDOW,
  ErrorCode,
  Flag,
  FrameType,
  LARGEST_WINDOW,
} from "./protocol.ts";
import type { Http2Events, Http2Stream, StreamOwner } from "./stream.ts";

/** Bytes of DATA that the peer may send before any is read: on a stream, and on the connection. */
export const STREAM_WINDOW = 256 * 1024;
export const CONNECTION_WINDOW = 1024 * 1024;
/** Above so many bytes that the peer has not read, bodies wait. */
const MOST_BACKLOG = 256 * 1024;
/** A DATA frame of so many bytes, or the last one of a response, is worth a WINDOW_UPDATE of the client. */
const USEFUL_BYTES = 512;
/** Streams that this side has reset, to which the peer may still send for a while (RFC 9113 section 5.1). */
const MOST_REMEMBERED = 1000;

/** The streams of a connection, and what goes out on them (RFC 9113 sections 5.1 and 5.2). */
export class StreamTable implements StreamOwner {
  readonly streams = new OpenStreams();
  /**
   * The last one that the client has opened; those before it that have no entry are closed (section 5.1.1).
   */
  lastStreamId = 0;
  /** The last one that the client has opened although it knows that it is not handled (section 6.8). */
  ignoredStreamId = 0;
  sendWindow = DEFAULT_WINDOW;
  receiveWindow = CONNECTION_WINDOW;
  readonly #output: FrameOutput;
  readonly #events: Http2Events;
  readonly #whenChanged: () => void;
  readonly #progress: () => void;
  /** These are made when they are needed: on most connections they never are. */
  #blocked: Set<Http2Stream> | undefined;
  #resetHere: Set<number> | undefined;
  #hasNoTable = false;
  /**
   * Whether the requests of a read are being handled, which then have one `date` in common: reading the clock
   * costs a runtime call.
   */
  #isSettling = false;
  #date: Buffer | undefined;
  #sent = 0;
  /** Bytes that were read since the last WINDOW_UPDATE of the connection. */
  #unacknowledged = 0;

  /**
   * @param whenChanged called after output was written, and when a stream has closed
   * @param progress called for DATA that brings a response on
   */
  constructor(output: FrameOutput, events: Http2Events, whenChanged: () => void, progress: () => void) {
    this.#progress = progress;
    this.#output = output;
    this.#events = events;
    this.#whenChanged = whenChanged;
  }

  /** DATA frames so far, if every open stream waits for the client to read; undefined if one does not. */
  get sentToStalledClient(): number | undefined {
    const blocked = this.#blocked?.size ?? 0;
    return blocked > 0 && blocked === this.streams.size ? this.#sent : undefined;
  }

  /**
   * Whether frames on a stream without an entry mean nothing: this side has reset it lately, or does not
   * handle it any more.
   */
  ignores(streamId: number): boolean {
    return this.#resetHere?.has(streamId) || streamId > this.lastStreamId;
  }

  writeHeaders(stream: Http2Stream, status: number, fields: ResponseFields, endStream: boolean): void {
    let block =
      status < 200 ? responseBlock(status, fields) : datedBlock(status, fields, this.#currentDate());
    if (!this.#hasNoTable) block = Buffer.concat([Buffer.from([NO_TABLE]), block]);
    this.#hasNoTable = true;
    const flags = Flag.END_HEADERS | (endStream ? Flag.END_STREAM : 0);
    if (block.length <= DEFAULT_FRAME_SIZE) this.#output.frame(FrameType.HEADERS, flags, stream.id, block);
    else this.#writeLongBlock(stream.id, endStream, block);
    if (endStream) this.#endLocally(stream);
    this.#whenChanged();
  }

  writeAtOnce(stream: Http2Stream, body: Uint8Array): boolean {
    const { length } = body;
    if (length > DEFAULT_FRAME_SIZE || length > stream.sendWindow || length > this.sendWindow) return false;
    if (this.#output.backlog > MOST_BACKLOG) return false;
    this.#progress();
    this.#output.data(Flag.END_STREAM, stream.id, body, 0, length);
    this.#sent++;
    stream.sendWindow -= length;
    this.sendWindow -= length;
    this.#endLocally(stream);
    this.#whenChanged();
    return true;
  }

  writeBody(stream: Http2Stream): void {
    const { output } = stream;
    if (output === undefined) return;
    while (output.parts.length > 0) {
      const part = output.parts[0]!;
      const left = part.length - output.sent;
      const allowed = Math.min(stream.sendWindow, this.sendWindow, DEFAULT_FRAME_SIZE);
      if (left > 0 && (allowed <= 0 || this.#output.backlog > MOST_BACKLOG)) {
        this.#blocked ??= new Set();
        this.#blocked.add(stream);
        this.#whenChanged();
        return;
      }
      const length = Math.min(left, allowed);
      const isLast = output.isWhole && output.parts.length === 1 && length === left;
      if (length >= USEFUL_BYTES || isLast) this.#progress();
      if (length > 0)
        this.#output.data(isLast ? Flag.END_STREAM : 0, stream.id, part, output.sent, output.sent + length);
      this.#sent++;
      stream.sendWindow -= length;
      this.sendWindow -= length;
      output.sent += length;
      if (length < left) continue;
      output.parts.shift();
      output.sent = 0;
      if (isLast && length > 0) {
        this.#finishBody(stream);
        return;
      }
    }
    if (output.isWhole) this.#output.frame(FrameType.DATA, Flag.END_STREAM, stream.id);
    this.#finishBody(stream);
  }

  /** Sends what waits for windows or the socket, a frame's worth of each stream in turn. */
  resume(): void {
    const blocked = this.#blocked;
    if (blocked === undefined) return;
    for (const stream of [...blocked]) {
      if (this.sendWindow <= 0 || this.#output.backlog > MOST_BACKLOG) return;
      blocked.delete(stream);
      this.writeBody(stream);
    }
  }

  consumed(stream: Http2Stream, bytes: number): void {
    this.giveBack(bytes);
    if (stream.remoteEnded || stream.isReset || bytes === 0) return;
    stream.receiveWindow += bytes;
    const unread = stream.unacknowledged + bytes;
    stream.unacknowledged = unread >= STREAM_WINDOW / 2 ? 0 : unread;
    if (stream.unacknowledged === 0) {
      this.#output.number(FrameType.WINDOW_UPDATE, stream.id, unread);
      this.#whenChanged();
    }
  }

  /** Gives bytes of DATA back to the window of the connection, also those that belong to no stream. */
  giveBack(bytes: number): void {
    this.receiveWindow += bytes;
    this.#unacknowledged += bytes;
    if (this.#unacknowledged < CONNECTION_WINDOW / 2) return;
    this.#output.number(FrameType.WINDOW_UPDATE, 0, this.#unacknowledged);
    this.#unacknowledged = 0;
    this.#whenChanged();
  }

  reset(stream: Http2Stream, code: ErrorCode): void {
    if (stream.isClosed) return;
    this.resetId(stream.id, code);
    this.close(stream);
  }

  /** Resets a stream that may have no entry. */
  resetId(streamId: number, code: ErrorCode): void {
    this.#output.number(FrameType.RST_STREAM, streamId, code);
    this.#resetHere ??= new Set();
    const known = this.#resetHere.add(streamId);
    if (known.size > MOST_REMEMBERED) known.delete(known.values().next().value!);
    this.#whenChanged();
  }

  /** Refuses a stream without an entry because of what the client sent. */
  refuse(streamId: number, code: ErrorCode): void {
    this.resetId(streamId, code);
    this.#events.reset();
  }

  /** Resets a stream because of what the client sent. */
  fail(stream: Http2Stream, code: ErrorCode): void {
    this.reset(stream, code);
    this.#events.reset();
  }

  /** @throws {ConnectionError} for a frame on a stream that no client has opened (section 5.1) */
  checkNotIdle(streamId: number, frame: string): void {
    if (streamId === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `${frame} names no stream`);
    if (streamId > Math.max(this.lastStreamId, this.ignoredStreamId) || streamId % 2 === 0)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `${frame} on an idle stream`);
  }

  /**
   * Ends a read: passes on the requests that it has brought. Those that it has reset as well are never
   * handled.
   */
  settle(handle: (stream: Http2Stream) => void): void {
    this.#isSettling = true;
    this.streams.settle(handle);
    this.#isSettling = false;
    this.#date = undefined;
  }

  /** Closes a stream, by either side. */
  close(stream: Http2Stream): void {
    if (!this.streams.delete(stream)) return;
    if (!stream.localEnded || !stream.remoteEnded) stream.isReset = true;
    this.#blocked?.delete(stream);
    stream.closed();
    this.#whenChanged();
  }

  /** The connection is closed. */
  closeAll(): void {
    for (const stream of [...this.streams.values()]) this.close(stream);
  }

  /** @throws {ConnectionError} if a window becomes too large (section 6.9.2) */
  changeInitialWindow(by: number): void {
    for (const stream of this.streams.values()) {
      stream.sendWindow += by;
      if (stream.sendWindow > LARGEST_WINDOW)
        throw new ConnectionError(
          ErrorCode.FLOW_CONTROL_ERROR,
          "SETTINGS makes the window of a stream too large",
        );
    }
    if (by > 0) this.resume();
  }

  #currentDate(): Buffer {
    if (!this.#isSettling) return dateField(Date.now());
    this.#date ??= dateField(Date.now());
    return this.#date;
  }

  #finishBody(stream: Http2Stream): void {
    const isWhole = stream.output?.isWhole === true;
    stream.output = undefined;
    this.#blocked?.delete(stream);
    if (isWhole) this.#endLocally(stream);
    this.#whenChanged();
    stream.drained();
  }

  #endLocally(stream: Http2Stream): void {
    stream.localEnded = true;
    if (stream.remoteEnded) this.close(stream);
  }

  /** RFC 9113 section 4.3: nothing comes between these frames. */
  #writeLongBlock(streamId: number, endStream: boolean, block: Buffer): void {
    const most = DEFAULT_FRAME_SIZE;
    for (let at = 0; at < block.length; at += most) {
      const isLast = at + most >= block.length;
      const flags = (isLast ? Flag.END_HEADERS : 0) | (at === 0 && endStream ? Flag.END_STREAM : 0);
      const type = at === 0 ? FrameType.HEADERS : FrameType.CONTINUATION;
      this.#output.frame(type, flags, streamId, block.subarray(at, at + most));
    }
  }
}

/**
 * The open streams of a connection. Most are opened and closed within one read: those never come into the
 * map, which would cost a query more than its frames.
 */
class OpenStreams {
  /** Undefined until the first one comes into it. */
  #listed: Map<number, Http2Stream> | undefined;
  /** The streams that the current read has opened, by growing id. */
  #fresh: Http2Stream[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(streamId: number): Http2Stream | undefined {
    if (this.#fresh.length === 0 || streamId < this.#fresh[0]!.id) return this.#listed?.get(streamId);
    const found = findById(this.#fresh, streamId);
    return found?.listing === "closed" ? undefined : found;
  }

  /** All of them, the oldest first. */
  values(): Iterable<Http2Stream> {
    for (const stream of this.#fresh) this.#list(stream);
    return this.#listed?.values() ?? [];
  }

  /** Adds a stream that the current read opens. */
  add(stream: Http2Stream): void {
    this.#size++;
    this.#fresh.push(stream);
  }

  /** @returns false if it was closed already */
  delete(stream: Http2Stream): boolean {
    if (stream.listing === "closed") return false;
    if (stream.listing === "listed") this.#listed?.delete(stream.id);
    stream.listing = "closed";
    this.#size--;
    return true;
  }

  /**
   * Ends a read: passes on the streams that it has opened and not closed. Those that stay open come into the
   * map.
   */
  settle(take: (stream: Http2Stream) => void): void {
    const fresh = this.#fresh;
    if (fresh.length === 0) return;
    for (const stream of fresh) {
      if (stream.listing === "closed") continue;
      take(stream);
      this.#list(stream);
    }
    this.#fresh = [];
  }

  #list(stream: Http2Stream): void {
    if (stream.listing !== "fresh") return;
    stream.listing = "listed";
    this.#listed ??= new Map();
    this.#listed.set(stream.id, stream);
  }
}

function findById(streams: readonly Http2Stream[], streamId: number): Http2Stream | undefined {
  let low = 0;
  let high = streams.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const stream = streams[middle]!;
    if (stream.id === streamId) return stream;
    if (stream.id < streamId) low = middle + 1;
    else high = middle - 1;
  }
  return undefined;
}
