import { BodyReader } from "./body.ts";
import type { FrameOutput } from "./frames.ts";
import {
  datedBlock,
  dateField,
  type FieldListLimits,
  NO_TABLE,
  type RequestLine,
  type ResponseFields,
  responseBlock,
} from "./hpack.ts";
import {
  ConnectionError,
  DEFAULT_FRAME_SIZE,
  DEFAULT_WINDOW,
  ErrorCode,
  Flag,
  FrameType,
  LARGEST_WINDOW,
} from "./protocol.ts";

/** What a stream needs of its connection. */
export interface StreamOwner {
  /** Begins a response; it is the whole one if the stream ends with it. */
  writeHeaders(stream: Http2Stream, status: number, fields: ResponseFields, endStream: boolean): void;
  /** Sends the whole body of a response in one frame; false if windows or socket do not allow it. */
  writeAtOnce(stream: Http2Stream, body: Uint8Array): boolean;
  /** Sends as much of `stream.output` as windows and socket allow. */
  writeBody(stream: Http2Stream): void;
  /** Gives bytes of the request back to the windows. */
  consumed(stream: Http2Stream, bytes: number): void;
  reset(stream: Http2Stream, code: ErrorCode): void;
}

/** A response: the bytes belong to the stream from then on. */
interface StreamResponse {
  readonly status: number;
  /** Names in any case; the values have no line ends. */
  readonly headers: ResponseFields;
  readonly body: Uint8Array | null;
  /** A body that is sent as it comes, instead of `body`. */
  readonly stream?: ReadableStream<Uint8Array> | undefined;
}

/** Bytes that wait for the peer's windows. */
interface Output {
  readonly parts: Uint8Array[];
  /** Of the first part. */
  sent: number;
  /** Whether the last part ends the stream. */
  isWhole: boolean;
}

/** One request with its response. */
export class Http2Stream {
  readonly id: number;
  /** Names and values in turn, as they came; empty if there are too many or too long ones. */
  readonly fields: readonly string[];
  readonly line: RequestLine;
  /** Which of the limits the request's fields exceed; they are not there then. */
  readonly exceeds: "bytes" | "fields" | undefined;
  /** When it began, in milliseconds of the connection's clock. */
  readonly beganAt: number;
  /** Whether it is open, and whether by the current read. */
  listing: "fresh" | "listed" | "closed" = "fresh";
  sendWindow: number;
  receiveWindow: number;
  /** Bytes of DATA so far. */
  received = 0;
  /** Bytes that were read since the last WINDOW_UPDATE. */
  unacknowledged = 0;
  /** The peer has sent all. */
  remoteEnded: boolean;
  /** This side has sent all. */
  localEnded = false;
  isReset = false;
  /** Called once, when nothing can come or go any more. */
  whenClosed: ((stream: Http2Stream) => void) | undefined;
  /** Called, before `whenClosed`, when the stream is closed before both sides have ended it. */
  whenCutOff: (() => void) | undefined;
  hasResponded = false;
  output: Output | undefined;
  readonly #owner: StreamOwner;
  /**
   * A body that came in one frame with the end of the request: the bytes of the read, until somebody takes
   * them.
   */
  #whole: Uint8Array<ArrayBuffer> | undefined;
  #body: BodyReader | undefined;
  #drained: (() => void) | undefined;
  #cancel: (() => void) | undefined;

  constructor(
    owner: StreamOwner,
    begun: Pick<
      Http2Stream,
      "id" | "fields" | "line" | "exceeds" | "beganAt" | "sendWindow" | "receiveWindow"
    >,
    remoteEnded: boolean,
  ) {
    this.#owner = owner;
    this.id = begun.id;
    this.fields = begun.fields;
    this.line = begun.line;
    this.exceeds = begun.exceeds;
    this.beganAt = begun.beganAt;
    this.sendWindow = begun.sendWindow;
    this.receiveWindow = begun.receiveWindow;
    this.remoteEnded = remoteEnded;
  }

  /** Whether nothing can come or go any more. */
  get isClosed(): boolean {
    return this.isReset || (this.localEnded && this.remoteEnded);
  }

  /**
   * A field with all of its values (cookies: RFC 9113 section 8.2.3); null if it is absent.
   * @param name in lower case
   */
  field(name: string): string | null {
    let value: string | null = null;
    const { fields } = this;
    for (let at = 0; at < fields.length; at += 2) {
      if (fields[at] !== name) continue;
      value =
        value === null ? fields[at + 1]! : `${value}${name === "cookie" ? "; " : ", "}${fields[at + 1]}`;
    }
    return value;
  }

  /** The request's body. */
  get body(): BodyReader {
    this.#body ??= this.#newBody();
    return this.#body;
  }

  /**
   * The whole body; undefined once it is longer than `most` bytes. Without a promise if it is there, and then
   * its bytes may change after the turn.
   * @throws {BodyCutOff}
   */
  collect(most: number): ReturnType<BodyReader["collect"]> {
    const whole = this.#whole;
    if (whole === undefined) return this.body.collect(most);
    this.#whole = undefined;
    this.#owner.consumed(this, whole.length);
    return whole.length > most ? undefined : whole;
  }

  /**
   * Sends the response. What is left of the request's body is read and dropped (RFC 9113 section 8.1).
   * @throws {Error} if there was a response
   * @throws {TypeError} for a value with a line end
   */
  respond({ status, headers, body, stream: parts }: StreamResponse): void {
    if (this.isClosed) {
      void parts?.cancel().catch(() => {});
      return;
    }
    if (this.hasResponded) throw new Error(`stream ${this.id} has a response already`);
    const isEmpty = parts === undefined && (body === null || body.length === 0);
    const endStream = isEmpty || this.line.method === "HEAD";
    this.#owner.writeHeaders(this, status, headers, endStream);
    this.hasResponded = true;
    if (endStream) void parts?.cancel().catch(() => {});
    else if (parts !== undefined) void this.#sendAll(parts);
    else if (!this.#owner.writeAtOnce(this, body!)) {
      this.output = { parts: [body!], sent: 0, isWhole: true };
      this.#owner.writeBody(this);
    }
    if (!this.remoteEnded && !this.isReset) this.body.drop();
  }

  /** Ends the stream without a response, or in the middle of it. */
  reset(code: ErrorCode): void {
    this.#owner.reset(this, code);
  }

  /** Takes bytes of the request's body. */
  take(bytes: Uint8Array): void {
    this.body.take(bytes);
  }

  /** Takes the only bytes of a body, without a copy until the read ends: `ended` follows. */
  takeOnly(bytes: Uint8Array<ArrayBuffer>): void {
    this.#whole = bytes;
  }

  /** The read ends: the unread part of it is copied. */
  keepBody(): void {
    if (this.#whole !== undefined) void this.body;
  }

  /** The request is complete. */
  ended(): void {
    this.remoteEnded = true;
    this.#body?.end();
  }

  /** The output is sent, or the stream is closed. */
  drained(): void {
    const drained = this.#drained;
    this.#drained = undefined;
    drained?.();
  }

  /** The stream is closed: nothing comes or goes any more. */
  closed(): void {
    if (this.#whole !== undefined) this.#owner.consumed(this, this.#whole.length);
    this.#whole = undefined;
    this.#body?.close();
    this.output = undefined;
    this.#cancel?.();
    this.drained();
    if (this.isReset) this.whenCutOff?.();
    this.whenClosed?.(this);
  }

  #newBody(): BodyReader {
    const owner = this.#owner;
    const body = new BodyReader({
      consumed: (bytes) => owner.consumed(this, bytes),
      wanted: () => this.#wanted(),
    });
    if (this.#whole !== undefined) body.take(this.#whole);
    this.#whole = undefined;
    if (this.remoteEnded) body.end();
    if (this.isClosed) body.close();
    return body;
  }

  /** RFC 9110 section 10.1.1: the client waits with the body until the server requests it. */
  #wanted(): void {
    if (this.received > 0 || this.remoteEnded || this.hasResponded || this.isReset) return;
    if (this.field("expect")?.toLowerCase() === "100-continue")
      this.#owner.writeHeaders(this, 100, {}, false);
  }

  async #sendAll(parts: ReadableStream<Uint8Array>): Promise<void> {
    const reader = parts.getReader();
    this.#cancel = () => void reader.cancel().catch(() => {});
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (this.isReset) return;
        this.output = { parts: value === undefined ? [] : [value], sent: 0, isWhole: done };
        this.#owner.writeBody(this);
        if (done) return;
        if (this.output !== undefined && !this.isReset)
          await new Promise<void>((resolve) => {
            this.#drained = resolve;
          });
      }
    } catch {
      this.reset(ErrorCode.INTERNAL_ERROR);
    }
  }
}

/** Bounds on a connection. */
export interface Http2Limits extends FieldListLimits {
  /** Requests at once; further ones are refused with REFUSED_STREAM. */
  readonly streams: number;
}

/** What happens on a connection. No listener may throw. */
export interface Http2Events {
  /** A request has come, with its body or the beginning of it; `stream.respond` answers it, now or later. */
  request(stream: Http2Stream): void;
  /**
   * A stream was reset because of what the client sent: clients that do it again and again make work for
   * nothing (CVE-2023-44487, CVE-2025-8671).
   */
  reset(): void;
  /**
   * The client sent too many frames that advance no request, or a field block that is far too long; the
   * connection ends.
   */
  flooded(): void;
  /** The client broke the protocol, and the connection ends. */
  failed(error: Error): void;
}

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
