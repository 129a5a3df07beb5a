/** Types of frames (RFC 9113 section 6). */
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

/** Flags of frames; their meaning depends on the type. */
export const Flag = { END_STREAM: 1, ACK: 1, END_HEADERS: 4, PADDED: 8, PRIORITY: 0x20 } as const;

/** RFC 9113 section 7. */
export const ErrorCode = {
  NO_ERROR: 0,
  PROTOCOL_ERROR: 1,
  INTERNAL_ERROR: 2,
  FLOW_CONTROL_ERROR: 3,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  REFUSED_STREAM: 7,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  ENHANCE_YOUR_CALM: 11,
} as const;
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** RFC 9113 section 6.5.2. */
export const Setting = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const;

/** What a client sends first (RFC 9113 section 3.4). */
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");
export const FRAME_HEADER = 9;
/** Bytes of a payload, until the peer's SETTINGS say otherwise; what this server takes never changes. */
export const DEFAULT_FRAME_SIZE = 16_384;
const LARGEST_FRAME_SIZE = 16_777_215;
export const DEFAULT_WINDOW = 65_535;
export const LARGEST_WINDOW = 2_147_483_647;
export const LARGEST_STREAM_ID = 2_147_483_647;

/** An error that ends the connection (RFC 9113 section 5.4.1). */
export class ConnectionError extends Error {
  readonly errorCode: ErrorCode;

  constructor(errorCode: ErrorCode, message: string) {
    super(message);
    this.errorCode = errorCode;
  }
}

const SETTING_BYTES = 6;

/**
 * What the peer takes (RFC 9113 section 6.5.2). Its table and its limits on fields and streams do not matter
 * to a server that indexes and pushes nothing, and frames have at most the 16,384 bytes that every peer
 * takes.
 */
export class PeerSettings {
  initialWindow = DEFAULT_WINDOW;

  /**
   * Takes over the payload of a SETTINGS frame, in order.
   * @returns by how much windows of streams change
   * @throws {ConnectionError}
   */
  take(bytes: Buffer, start: number, end: number): number {
    if ((end - start) % SETTING_BYTES !== 0)
      throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS has a cut off setting");
    const before = this.initialWindow;
    for (let at = start; at < end; at += SETTING_BYTES)
      this.#set(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2));
    return this.initialWindow - before;
  }

  #set(setting: number, value: number): void {
    if (setting === Setting.ENABLE_PUSH && value > 1)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `ENABLE_PUSH is ${value}`);
    if (setting === Setting.INITIAL_WINDOW_SIZE) {
      if (value > LARGEST_WINDOW)
        throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, `INITIAL_WINDOW_SIZE is ${value}`);
      this.initialWindow = value;
    }
    if (setting === Setting.MAX_FRAME_SIZE && (value < DEFAULT_FRAME_SIZE || value > LARGEST_FRAME_SIZE))
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `MAX_FRAME_SIZE is ${value}`);
  }
}

/** The payload of a SETTINGS frame. */
export function encodeSettings(settings: readonly (readonly [setting: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(SETTING_BYTES * settings.length);
  for (const [index, [setting, value]] of settings.entries()) {
    payload.writeUInt16BE(setting, SETTING_BYTES * index);
    payload.writeUInt32BE(value, SETTING_BYTES * index + 2);
  }
  return payload;
}
