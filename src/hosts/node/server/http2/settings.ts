import {
  ConnectionError,
  DEFAULT_FRAME_SIZE,
  DEFAULT_WINDOW,
  ErrorCode,
  LARGEST_FRAME_SIZE,
  LARGEST_WINDOW,
  Setting,
} from "./protocol.ts";

const SETTING_BYTES = 6;

/**
 * What the peer takes (RFC 9113 section 6.5.2). Its table and its limits on fields and streams do not matter to a server that indexes and pushes nothing,
 * and frames have at most the 16,384 bytes that every peer takes.
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
