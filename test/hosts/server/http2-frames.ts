/** An HTTP/2 frame (RFC 9113 section 4.1). */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, continuation: 9 };
export const END_STREAM = 1;
export const END_HEADERS = 4;

/** What a client begins with: the preface and empty settings. */
export const PREFACE = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  frame(FRAME.settings, 0, 0),
]);

/** `GET https://a/` in HPACK, with more fields as literals that are not indexed (RFC 7541 section 6.2.2). */
export function getHeaders(fields: readonly (readonly [string, string])[] = []): Buffer {
  const authority = Buffer.from([0x82, 0x87, 0x84, 0x41, 0x01, 0x61]);
  const literal = (text: string) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
  const literals = fields.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]);
  return Buffer.concat([authority, ...literals]);
}

/** Says that a stream is not wanted any more: CANCEL. */
export const reset = (stream: number) => frame(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, 8]));

/** The frames in what a server sent. */
export function* framesIn(
  bytes: Buffer,
): Generator<{ type: number; flags: number; stream: number; payload: Buffer }> {
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3);
    if (end > bytes.length) return;
    yield {
      type: bytes[at + 3]!,
      flags: bytes[at + 4]!,
      stream: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(at + 9, end),
    };
    at = end;
  }
}
