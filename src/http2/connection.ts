import type { Duplex } from "node:stream";
import { FloodBudget, FrameOutput, FrameReader, takeReads } from "./frames.ts";
import {
  checkTrailers,
  FieldBlock,
  type FieldList,
  HpackDecoder,
  HpackError,
  type RequestLine,
  readRequestLine,
  withoutPadding,
} from "./hpack.ts";
import {
  ConnectionError,
  DEFAULT_WINDOW,
  ErrorCode,
  encodeSettings,
  Flag,
  FrameType,
  LARGEST_STREAM_ID,
  LARGEST_WINDOW,
  PeerSettings,
  Setting,
} from "./protocol.ts";
import {
  CONNECTION_WINDOW,
  type Http2Events,
  type Http2Limits,
  Http2Stream,
  STREAM_WINDOW,
  StreamTable,
} from "./stream.ts";

/** Above so many bytes that the peer does not read, nothing more is read of it (RFC 9113 section 10.5). */
const MOST_UNREAD = 1024 * 1024;
/**
 * Milliseconds that a client has to answer the PING of a graceful end, and to go on sending after the end:
 * bytes that the server does not read become a TCP reset, with which the client loses the last frames.
 */
const LINGER = 1000;
/** How many bytes a client may send in that time. */
const MOST_LATE = 256 * 1024;

const monotonic = () => performance.now();

/**
 * The server's side of one HTTP/2 connection (RFC 9113), on a socket for which the protocol was negotiated.
 */
export class Http2Connection {
  readonly #socket: Duplex;
  readonly #events: Http2Events;
  readonly #output: FrameOutput;
  readonly #reader: FrameReader;
  readonly #table: StreamTable;
  readonly #requests: RequestFrames;
  readonly #control: ControlFrames;
  readonly #spend: () => void;
  readonly #handle: (stream: Http2Stream) => void;
  #hasSettings = false;
  #isReading = false;
  #stalled: { readonly sent: number | undefined; readonly since: number } | undefined;
  #isGoingAway = false;
  #isEnded = false;
  /** Bytes that came after the end. */
  #late = 0;

  /** @param clock milliseconds, monotonic */
  constructor(socket: Duplex, limits: Http2Limits, events: Http2Events, clock = monotonic) {
    this.#socket = socket;
    this.#events = events;
    this.#output = new FrameOutput(socket);
    const flood = new FloodBudget(clock);
    this.#spend = () => {
      if (flood.take()) return;
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "too many frames that advance no request");
    };
    this.#handle = (stream) => {
      events.request(stream);
      stream.keepBody();
    };
    const settings = new PeerSettings();
    this.#table = new StreamTable(
      this.#output,
      events,
      () => this.#changed(),
      () => flood.earn(),
    );
    const decoder = new HpackDecoder(limits);
    const parts = { limits, events, clock, settings, decoder, table: this.#table, spend: this.#spend };
    this.#requests = new RequestFrames(parts);
    this.#control = new ControlFrames(parts, this.#output);
    this.#reader = new FrameReader((type, flags, streamId, bytes, start, end) =>
      this.#frame(type, flags, streamId, bytes, start, end),
    );
    this.#start(limits);
    takeReads(socket, (length, bytes) => this.#read(length, bytes));
    socket.on("drain", () => this.#drained());
    socket.on("end", () => {
      this.#requests.isClosing = true;
      this.#endIfDone();
    });
    socket.on("close", () => this.#table.closeAll());
  }

  /** Requests without a complete response, and those whose body has not come to its end. */
  get openStreams(): number {
    return this.#table.streams.size;
  }

  /** The requests that are open, the oldest first. */
  streams(): Iterable<Http2Stream> {
    return this.#table.streams.values();
  }

  /**
   * Milliseconds for which every response has waited for a client that reads nothing; 0 if one of them made
   * progress. Counts from the first call on.
   */
  stalledFor(now: number): number {
    const sent = this.#table.sentToStalledClient;
    if (sent === undefined || sent !== this.#stalled?.sent) this.#stalled = { sent, since: now };
    return now - this.#stalled!.since;
  }

  /** Asks the client for a sign of life (section 6.7). @param answered called with it, once */
  ping(answered: () => void): void {
    this.#control.sendPing(answered);
    this.#output.flush();
  }

  /**
   * Ends the connection without losing a request (section 6.8): announces it, and once the client has
   * answered names the last request that is handled; the socket ends after the last response.
   */
  goAway(): void {
    if (this.#isGoingAway || this.#isEnded) return;
    this.#isGoingAway = true;
    this.#writeGoAway(LARGEST_STREAM_ID, ErrorCode.NO_ERROR);
    const close = () => {
      clearTimeout(timer);
      if (this.#isEnded || this.#requests.isClosing) return;
      this.#requests.isClosing = true;
      this.#writeGoAway(this.#table.lastStreamId, ErrorCode.NO_ERROR);
      this.#output.flush();
      this.#endIfDone();
    };
    const timer = setTimeout(close, LINGER).unref();
    this.ping(close);
  }

  /** Ends the connection now; requests without a response are lost. */
  end(code: ErrorCode, reason = ""): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#writeGoAway(this.#table.lastStreamId, code, reason);
    this.#table.closeAll();
    this.#endSocket();
  }

  #start({ streams, headerBytes }: Http2Limits): void {
    const settings = encodeSettings([
      [Setting.MAX_CONCURRENT_STREAMS, streams],
      [Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW],
      [Setting.MAX_HEADER_LIST_SIZE, headerBytes],
    ]);
    this.#output.frame(FrameType.SETTINGS, 0, 0, settings);
    this.#output.number(FrameType.WINDOW_UPDATE, 0, CONNECTION_WINDOW - DEFAULT_WINDOW);
    this.#output.flush();
  }

  #read(length: number, bytes: Buffer): void {
    if (this.#isEnded) {
      this.#late += length;
      if (this.#late > MOST_LATE) this.#socket.destroy();
      return;
    }
    this.#isReading = true;
    this.#requests.beginRead();
    try {
      this.#reader.feed(bytes, length);
    } catch (error) {
      this.#fail(error as Error);
    }
    this.#table.settle(this.#handle);
    this.#isReading = false;
    this.#output.flush();
    this.#endIfDone();
    if (this.#socket.writableLength > MOST_UNREAD) this.#socket.pause();
  }

  #drained(): void {
    this.#table.resume();
    this.#output.flush();
    if (this.#socket.isPaused()) this.#socket.resume();
  }

  #fail(error: Error): void {
    const code =
      error instanceof ConnectionError
        ? error.errorCode
        : error instanceof HpackError
          ? ErrorCode.COMPRESSION_ERROR
          : ErrorCode.INTERNAL_ERROR;
    if (code === ErrorCode.ENHANCE_YOUR_CALM) this.#events.flooded();
    this.#events.failed(error);
    this.end(code, code === ErrorCode.INTERNAL_ERROR ? "" : error.message);
  }

  #changed(): void {
    if (this.#isReading) return;
    this.#output.flushSoon();
    this.#endIfDone();
  }

  #endIfDone(): void {
    if (!this.#requests.isClosing || this.#isEnded || this.openStreams > 0) return;
    this.#isEnded = true;
    this.#endSocket();
  }

  #endSocket(): void {
    this.#output.flush();
    this.#socket.end();
    setTimeout(() => this.#socket.destroy(), LINGER).unref();
  }

  #writeGoAway(lastStreamId: number, code: ErrorCode, reason = ""): void {
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(lastStreamId, 0);
    payload.writeUInt32BE(code, 4);
    this.#output.frame(FrameType.GOAWAY, 0, 0, payload, Buffer.from(reason));
  }

  #frame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (this.#isEnded) return;
    if (!this.#hasSettings) {
      if (type !== FrameType.SETTINGS || (flags & Flag.ACK) !== 0)
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "the first frame is not SETTINGS");
      this.#hasSettings = true;
    }
    const { openBlock } = this.#requests;
    if (openBlock !== undefined && (type !== FrameType.CONTINUATION || streamId !== openBlock))
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "a frame interrupts a field block");
    switch (type) {
      case FrameType.HEADERS:
        this.#requests.headers(flags, streamId, bytes, start, end);
        break;
      case FrameType.DATA:
        this.#requests.data(flags, streamId, bytes, start, end);
        break;
      case FrameType.WINDOW_UPDATE:
        this.#control.windowUpdate(streamId, bytes, start, end);
        break;
      case FrameType.CONTINUATION:
        this.#requests.continuation(flags, bytes, start, end);
        break;
      case FrameType.RST_STREAM:
        this.#requests.rstStream(streamId, end - start);
        break;
      case FrameType.SETTINGS:
        this.#control.settings(flags, streamId, bytes, start, end);
        break;
      case FrameType.PING:
        this.#control.ping(flags, streamId, bytes, start, end);
        break;
      case FrameType.PRIORITY:
        this.#control.priority(streamId, bytes, start, end);
        break;
      case FrameType.GOAWAY:
        this.#control.goAway(streamId, end - start);
        break;
      case FrameType.PUSH_PROMISE:
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "a client pushes");
      default:
        // Section 4.1: unknown types are ignored.
        this.#spend();
    }
  }
}

/**
 * The frames about a connection and its windows: SETTINGS, PING, PRIORITY, GOAWAY and WINDOW_UPDATE (RFC 9113
 * sections 6.3 and 6.5 to 6.9). Each method throws a `ConnectionError` if the connection cannot go on.
 */
class ControlFrames {
  readonly #settings: PeerSettings;
  readonly #table: StreamTable;
  readonly #spend: () => void;
  readonly #output: FrameOutput;
  /**
   * What to call with the answer to each PING, by the number in its payload. Most connections never have one.
   */
  #pings: Map<number, () => void> | undefined;
  #lastPing = 0;

  constructor(parts: Pick<FrameParts, "settings" | "table" | "spend">, output: FrameOutput) {
    this.#settings = parts.settings;
    this.#table = parts.table;
    this.#spend = parts.spend;
    this.#output = output;
  }

  goAway(streamId: number, size: number): void {
    if (streamId !== 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "GOAWAY names a stream");
    if (size < 8) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `GOAWAY has ${size} bytes`);
    this.#spend();
  }

  windowUpdate(streamId: number, bytes: Buffer, start: number, end: number): void {
    if (end - start !== 4)
      throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `WINDOW_UPDATE has ${end - start} bytes`);
    this.#spend();
    const by = bytes.readUInt32BE(start) & LARGEST_WINDOW;
    if (streamId === 0) {
      if (by === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE by 0");
      this.#table.sendWindow += by;
      if (this.#table.sendWindow > LARGEST_WINDOW)
        throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "the window of the connection is too large");
      this.#table.resume();
      return;
    }
    this.#table.checkNotIdle(streamId, "a window update");
    const stream = this.#table.streams.get(streamId);
    if (stream === undefined) return;
    if (by === 0) {
      this.#table.fail(stream, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    stream.sendWindow += by;
    if (stream.sendWindow > LARGEST_WINDOW) this.#table.fail(stream, ErrorCode.FLOW_CONTROL_ERROR);
    else this.#table.writeBody(stream);
  }

  settings(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (streamId !== 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "SETTINGS names a stream");
    this.#spend();
    if ((flags & Flag.ACK) !== 0) {
      if (start !== end)
        throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "an acknowledgement has settings");
      return;
    }
    const change = this.#settings.take(bytes, start, end);
    this.#output.frame(FrameType.SETTINGS, Flag.ACK, 0);
    if (change !== 0) this.#table.changeInitialWindow(change);
  }

  ping(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    if (streamId !== 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "PING names a stream");
    if (end - start !== 8)
      throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `PING has ${end - start} bytes`);
    this.#spend();
    if ((flags & Flag.ACK) === 0) {
      this.#output.frame(FrameType.PING, Flag.ACK, 0, bytes.subarray(start, end));
      return;
    }
    const number = bytes.readUInt32BE(start);
    const answered = bytes.readUInt32BE(start + 4) === 0 ? this.#pings?.get(number) : undefined;
    if (answered === undefined) return;
    this.#pings!.delete(number);
    answered();
  }

  /** Sends a PING. @param answered called with its answer, once */
  sendPing(answered: () => void): void {
    this.#pings ??= new Map();
    this.#pings.set(++this.#lastPing, answered);
    const payload = Buffer.alloc(8);
    payload.writeUInt32BE(this.#lastPing);
    this.#output.frame(FrameType.PING, 0, 0, payload);
  }

  priority(streamId: number, bytes: Buffer, start: number, end: number): void {
    if (streamId === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "PRIORITY names no stream");
    this.#spend();
    const stream = this.#table.streams.get(streamId);
    const isWrong = end - start !== 5;
    if (!isWrong && (bytes.readUInt32BE(start) & LARGEST_STREAM_ID) !== streamId) return;
    const code = isWrong ? ErrorCode.FRAME_SIZE_ERROR : ErrorCode.PROTOCOL_ERROR;
    if (stream !== undefined) this.#table.fail(stream, code);
    else if (streamId <= this.#table.lastStreamId) this.#table.refuse(streamId, code);
    else throw new ConnectionError(code, "PRIORITY is wrong");
  }
}

/** Of requests whose fields exceed the limits. */
const UNKNOWN_LINE: RequestLine = {
  method: "",
  scheme: "https",
  authority: "",
  path: "",
  contentLength: undefined,
};

/** What the frames of a connection work on. */
interface FrameParts {
  readonly limits: Http2Limits;
  readonly events: Http2Events;
  /** Milliseconds. */
  readonly clock: () => number;
  readonly settings: PeerSettings;
  readonly decoder: HpackDecoder;
  readonly table: StreamTable;
  /**
   * Takes a frame that advances no request from the flood budget.
   * @throws {ConnectionError} if it is one too many
   */
  readonly spend: () => void;
}

/**
 * The frames of requests: HEADERS, CONTINUATION, DATA and RST_STREAM (RFC 9113 sections 6.1, 6.2, 6.4 and
 * 6.10). Each method throws a `ConnectionError` if the connection cannot go on.
 */
class RequestFrames {
  /** Whether requests that begin now are not handled: the client knows (section 6.8). */
  isClosing = false;
  readonly #limits: Http2Limits;
  readonly #events: Http2Events;
  /** When the current read began, in milliseconds. */
  #readAt = 0;
  readonly #clock: () => number;
  readonly #settings: PeerSettings;
  readonly #decoder: HpackDecoder;
  readonly #table: StreamTable;
  readonly #spend: () => void;
  #block: FieldBlock | undefined;

  constructor(parts: FrameParts) {
    this.#limits = parts.limits;
    this.#events = parts.events;
    this.#clock = parts.clock;
    this.#settings = parts.settings;
    this.#decoder = parts.decoder;
    this.#table = parts.table;
    this.#spend = parts.spend;
  }

  /** The stream whose field block has begun; nothing else may come before its end. */
  get openBlock(): number | undefined {
    return this.#block?.streamId;
  }

  /** Begins a read, which has one time. */
  beginRead(): void {
    this.#readAt = this.#clock();
  }

  headers(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    // Section 5.1.1: clients open odd streams.
    if (streamId % 2 === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "HEADERS on an even stream");
    const hasPriority = (flags & Flag.PRIORITY) !== 0;
    const fragment = withoutPadding(flags, bytes, start, end, hasPriority);
    if (hasPriority && (bytes.readUInt32BE(fragment.start - 5) & LARGEST_STREAM_ID) === streamId)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "a stream depends on itself");
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if ((flags & Flag.END_HEADERS) !== 0)
      this.#fields(streamId, endStream, this.#decoder.decode(bytes, fragment.start, fragment.end));
    else {
      this.#block = new FieldBlock(streamId, endStream);
      this.#block.add(bytes, fragment.start, fragment.end, this.#limits.headerBytes);
    }
  }

  continuation(flags: number, bytes: Buffer, start: number, end: number): void {
    const block = this.#block;
    if (block === undefined)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "CONTINUATION follows no HEADERS");
    if (start === end) this.#spend();
    block.add(bytes, start, end, this.#limits.headerBytes);
    if ((flags & Flag.END_HEADERS) === 0) return;
    this.#block = undefined;
    const whole = block.whole();
    this.#fields(block.streamId, block.endStream, this.#decoder.decode(whole, 0, whole.length));
  }

  #fields(streamId: number, endStream: boolean, list: FieldList): void {
    if (streamId > this.#table.lastStreamId) {
      this.#open(streamId, endStream, list);
      return;
    }
    const stream = this.#table.streams.get(streamId);
    if (stream !== undefined) this.#trailers(stream, endStream, list);
    else if (this.#table.ignores(streamId)) this.#spend();
    else throw new ConnectionError(ErrorCode.STREAM_CLOSED, "HEADERS on a closed stream");
  }

  #open(streamId: number, endStream: boolean, list: FieldList): void {
    // Section 6.8: the client knows that this one is not handled.
    if (this.isClosing) {
      this.#table.ignoredStreamId = streamId;
      return;
    }
    this.#table.lastStreamId = streamId;
    if (this.#table.streams.size >= this.#limits.streams) {
      this.#table.refuse(streamId, ErrorCode.REFUSED_STREAM);
      return;
    }
    const { fields = [], exceeds, malformed } = list;
    const line = malformed ?? (exceeds === undefined ? readRequestLine(fields) : UNKNOWN_LINE);
    // Section 8.1.1: a malformed request is an error of its stream; the sum of DATA is the declared length.
    if (typeof line === "string" || (endStream && (line.contentLength ?? 0) > 0)) {
      this.#table.refuse(streamId, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    const begun = {
      id: streamId,
      fields,
      line,
      exceeds,
      beganAt: this.#readAt,
      sendWindow: this.#settings.initialWindow,
      receiveWindow: STREAM_WINDOW,
    };
    this.#table.streams.add(new Http2Stream(this.#table, begun, endStream));
  }

  #trailers(stream: Http2Stream, endStream: boolean, { fields = [], malformed }: FieldList): void {
    if (stream.remoteEnded) this.#table.fail(stream, ErrorCode.STREAM_CLOSED);
    else if (!endStream || malformed !== undefined || checkTrailers(fields) !== undefined)
      this.#table.fail(stream, ErrorCode.PROTOCOL_ERROR);
    else this.#endRemotely(stream);
  }

  data(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    this.#table.checkNotIdle(streamId, "DATA");
    const size = end - start;
    const data = withoutPadding(flags, bytes, start, end, false);
    this.#table.receiveWindow -= size;
    if (this.#table.receiveWindow < 0)
      throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "DATA exceeds the window of the connection");
    const endStream = (flags & Flag.END_STREAM) !== 0;
    if (data.start === data.end && !endStream) this.#spend();
    const stream = this.#table.streams.get(streamId);
    if (stream === undefined || stream.remoteEnded) {
      this.#dataOnClosed(stream, streamId, size);
      return;
    }
    stream.receiveWindow -= size;
    stream.received += data.end - data.start;
    const isTooLong = stream.received > (stream.line.contentLength ?? Number.POSITIVE_INFINITY);
    if (stream.receiveWindow < 0 || isTooLong) {
      this.#table.giveBack(size);
      this.#table.fail(stream, isTooLong ? ErrorCode.PROTOCOL_ERROR : ErrorCode.FLOW_CONTROL_ERROR);
      return;
    }
    const padding = size - (data.end - data.start);
    if (padding > 0) this.#table.consumed(stream, padding);
    if (data.end > data.start) this.#take(stream, endStream, bytes, data.start, data.end);
    if (endStream) this.#endRemotely(stream);
    else if (stream.body.isTooMuch) this.#table.reset(stream, ErrorCode.NO_ERROR);
  }

  #take(stream: Http2Stream, endStream: boolean, bytes: Buffer, start: number, end: number): void {
    // A Buffer's slice() is no copy, so that handlers get a plain array.
    if (endStream && stream.listing === "fresh" && stream.received === end - start)
      stream.takeOnly(new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset + start, end - start));
    else stream.take(bytes.subarray(start, end));
  }

  #dataOnClosed(stream: Http2Stream | undefined, streamId: number, size: number): void {
    this.#table.giveBack(size);
    this.#spend();
    if (stream !== undefined) this.#table.fail(stream, ErrorCode.STREAM_CLOSED);
    else if (!this.#table.ignores(streamId))
      throw new ConnectionError(ErrorCode.STREAM_CLOSED, "DATA on a closed stream");
  }

  #endRemotely(stream: Http2Stream): void {
    const { contentLength } = stream.line;
    if (contentLength !== undefined && contentLength !== stream.received) {
      this.#table.fail(stream, ErrorCode.PROTOCOL_ERROR);
      return;
    }
    stream.ended();
    if (stream.localEnded) this.#table.close(stream);
  }

  rstStream(streamId: number, size: number): void {
    this.#table.checkNotIdle(streamId, "a reset");
    if (size !== 4) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, `RST_STREAM has ${size} bytes`);
    this.#spend();
    const stream = this.#table.streams.get(streamId);
    if (stream === undefined) return;
    this.#table.close(stream);
    this.#events.reset();
  }
}
