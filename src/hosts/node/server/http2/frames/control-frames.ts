import {
  ConnectionError,
  ErrorCode,
  Flag,
  FrameType,
  LARGEST_STREAM_ID,
  LARGEST_WINDOW,
} from "../protocol.ts";
import type { PeerSettings } from "../settings.ts";
import type { StreamTable } from "../stream-table.ts";
import type { FrameOutput } from "./frame-output.ts";
import type { FrameParts } from "./request-frames.ts";

/**
 * The frames about a connection and its windows: SETTINGS, PING, PRIORITY, GOAWAY and WINDOW_UPDATE (RFC 9113 sections 6.3 and 6.5 to 6.9). Each
 * method throws a `ConnectionError` if the connection cannot go on.
 */
export class ControlFrames {
  readonly #settings: PeerSettings;
  readonly #table: StreamTable;
  readonly #spend: () => void;
  readonly #output: FrameOutput;
  /** What to call with the answer to each PING, by the number in its payload. Most connections never have one. */
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
