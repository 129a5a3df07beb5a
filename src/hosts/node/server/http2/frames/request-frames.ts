import { FieldBlock, withoutPadding } from "../fields/field-block.ts";
import { checkTrailers, type RequestLine, readRequestLine } from "../fields/request-fields.ts";
import type { FieldList, HpackDecoder } from "../hpack/decoder.ts";
import type { Http2Events, Http2Limits } from "../options.ts";
import { ConnectionError, ErrorCode, Flag, LARGEST_STREAM_ID } from "../protocol.ts";
import type { PeerSettings } from "../settings.ts";
import { Http2Stream } from "../stream.ts";
import { STREAM_WINDOW, type StreamTable } from "../stream-table.ts";

/** Of requests whose fields are beyond the limits. */
const UNKNOWN_LINE: RequestLine = {
  method: "",
  scheme: "https",
  authority: "",
  path: "",
  contentLength: undefined,
};

/** What the frames of a connection work on. */
export interface FrameParts {
  readonly limits: Http2Limits;
  readonly events: Http2Events;
  /** Milliseconds. */
  readonly clock: () => number;
  readonly settings: PeerSettings;
  readonly decoder: HpackDecoder;
  readonly table: StreamTable;
  /** Takes a frame that advances no request from the flood budget. @throws {ConnectionError} if it is one too many */
  readonly spend: () => void;
}

/** The frames of requests: HEADERS, CONTINUATION, DATA and RST_STREAM (RFC 9113 sections 6.1, 6.2, 6.4 and 6.10). Each method throws a `ConnectionError` if the connection cannot go on. */
export class RequestFrames {
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
      stream.takeWhole(new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset + start, end - start));
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
