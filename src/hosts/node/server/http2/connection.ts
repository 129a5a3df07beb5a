import type { Duplex } from "node:stream";
import { ControlFrames } from "./frames/control-frames.ts";
import { FloodBudget } from "./frames/flood-budget.ts";
import { FrameOutput } from "./frames/frame-output.ts";
import { FrameReader } from "./frames/frame-reader.ts";
import { RequestFrames } from "./frames/request-frames.ts";
import { HpackDecoder } from "./hpack/decoder.ts";
import { HpackError } from "./hpack/hpack-error.ts";
import type { Http2Events, Http2Limits } from "./options.ts";
import {
  ConnectionError,
  DEFAULT_WINDOW,
  ErrorCode,
  Flag,
  FrameType,
  LARGEST_STREAM_ID,
  Setting,
} from "./protocol.ts";
import { encodeSettings, PeerSettings } from "./settings.ts";
import { takeReads } from "./socket-reads.ts";
import type { Http2Stream } from "./stream.ts";
import { CONNECTION_WINDOW, STREAM_WINDOW, StreamTable } from "./stream-table.ts";

/** Above so many bytes that the peer does not read, nothing more is read of it (RFC 9113 section 10.5). */
const MOST_UNREAD = 1024 * 1024;
/**
 * Milliseconds that a client has to answer the PING of a graceful end, and to go on sending after the end: bytes that the server does not read become a
 * TCP reset, with which the client loses the last frames.
 */
const LINGER = 1000;
/** How many bytes a client may send in that time. */
const MOST_LATE = 256 * 1024;

const monotonic = () => performance.now();

/** The server's side of one HTTP/2 connection (RFC 9113), on a socket for which the protocol was negotiated. */
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
   * Milliseconds for which every response has waited for a client that reads nothing; 0 if one of them made progress.
   * Counts from the first call on.
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
   * Ends the connection without losing a request (section 6.8): announces it, and once the client has answered names the last request that is handled;
   * the socket ends after the last response.
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
