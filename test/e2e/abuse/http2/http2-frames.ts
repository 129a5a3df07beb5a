import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { openRaw } from "../harness/raw-socket.ts";

/** The type bytes of frames (RFC 9113 section 6). */
export const FrameType = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

/** Flags of frames (RFC 9113 section 6). */
export const Flag = { END_STREAM: 0x1, ACK: 0x1, END_HEADERS: 0x4 } as const;

/** Settings (RFC 9113 section 6.5.2). */
export const Setting = { HEADER_TABLE_SIZE: 1, ENABLE_PUSH: 2, INITIAL_WINDOW_SIZE: 4 } as const;

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** A frame as it was received. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** One frame in bytes. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array = NOTHING): Buffer {
  const bytes = Buffer.allocUnsafe(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, 9);
  return bytes;
}

const NOTHING = new Uint8Array(0);

/** A number in four bytes: an error code, an increment of a window. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A SETTINGS frame. */
export function settings(values: Readonly<Record<number, number>> = {}): Buffer {
  const entries = Object.entries(values).map(([id, value]) => {
    const entry = Buffer.allocUnsafe(6);
    entry.writeUInt16BE(Number(id));
    entry.writeUInt32BE(value, 2);
    return entry;
  });
  return frame(FrameType.SETTINGS, 0, 0, Buffer.concat(entries));
}

/** Where a raw connection goes, and from which loopback address. */
export interface RawConnectionOptions {
  readonly port: number;
  readonly ca: string;
  readonly localAddress?: string;
  /** Default: none but the defaults of the protocol. */
  readonly settings?: Readonly<Record<number, number>>;
}

/** An HTTP/2 connection whose frames are written by hand, so that they may be wrong. */
export class RawHttp2Connection {
  readonly socket: Socket;
  readonly #tcp: Socket;
  /** Resolves when the connection has closed, with the error code of the GOAWAY frame. */
  readonly closed: Promise<number | undefined>;
  onFrame: (frame: Frame) => void = () => {};
  goaway: number | undefined;
  #received: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket, tcp: Socket) {
    this.socket = socket;
    this.#tcp = tcp;
    this.closed = new Promise((resolve) => socket.once("close", () => resolve(this.goaway)));
    socket.on("error", () => {});
    socket.on("data", (part: Buffer) => this.#take(part));
  }

  /** Opens one and sends the preface. */
  static async open(options: RawConnectionOptions): Promise<RawHttp2Connection> {
    const { socket, tcp } = await openRaw({ ...options, protocol: "h2" });
    const connection = new RawHttp2Connection(socket, tcp);
    connection.send(PREFACE, settings(options.settings));
    return connection;
  }

  /** Sends bytes, as far as the connection is still there. */
  send(...bytes: readonly Uint8Array[]): void {
    if (this.socket.writable) this.socket.write(bytes.length === 1 ? bytes[0]! : Buffer.concat(bytes));
  }

  /** Sends bytes and waits until the other side takes more of them, or is gone. */
  async sendAndDrain(...bytes: readonly Uint8Array[]): Promise<void> {
    this.send(...bytes);
    if (this.socket.writableNeedDrain && !this.socket.destroyed)
      await Promise.race([once(this.socket, "drain").catch(() => {}), this.closed]);
  }

  /**
   * Sends a PING and waits for its answer: by then the gateway has read everything before.
   * @returns whether that came in time
   */
  async roundTrip(timeoutMs: number): Promise<boolean> {
    const { onFrame } = this;
    const answered = new Promise<boolean>((resolve) => {
      this.onFrame = (one) => {
        if (one.type === FrameType.PING && (one.flags & Flag.ACK) !== 0) resolve(true);
        onFrame(one);
      };
      this.send(frame(FrameType.PING, 0, 0, Buffer.alloc(8)));
    });
    const isSilent = sleep(timeoutMs, false, { ref: false });
    return Promise.race([answered, this.closed.then(() => false), isSilent]).finally(() => {
      this.onFrame = onFrame;
    });
  }

  get isOpen(): boolean {
    return !this.socket.destroyed && this.socket.writable;
  }

  close(): void {
    this.socket.destroy();
  }

  /** Ends the connection by a TCP RST. */
  abort(): void {
    this.#tcp.resetAndDestroy();
  }

  #take(part: Buffer): void {
    let held = this.#received.length === 0 ? part : Buffer.concat([this.#received, part]);
    while (held.length >= 9 && held.length >= 9 + held.readUIntBE(0, 3)) {
      const end = 9 + held.readUIntBE(0, 3);
      const stream = held.readUInt32BE(5) & 0x7fffffff;
      const taken = { type: held[3]!, flags: held[4]!, stream, payload: held.subarray(9, end) };
      if (taken.type === FrameType.GOAWAY) this.goaway = taken.payload.readUInt32BE(4);
      if (taken.type === FrameType.SETTINGS && (taken.flags & Flag.ACK) === 0)
        this.send(frame(FrameType.SETTINGS, Flag.ACK, 0));
      this.onFrame(taken);
      held = held.subarray(end);
    }
    this.#received = held;
  }
}
