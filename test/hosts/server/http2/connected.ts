import { duplexPair } from "node:stream";
import { Http2Connection } from "../../../../src/http2/connection.ts";
import type { Http2Limits, Http2Stream } from "../../../../src/http2/stream.ts";
import { END_HEADERS, END_STREAM, FRAME, frame, framesIn, getHeaders } from "../http2-frames.ts";

export const LIMITS: Http2Limits = { streams: 100, headerBytes: 16_384, headerFields: 64 };

/** What a connection without a network did. */
export type Connected = ReturnType<typeof connect>;

/** A connection without a network. @param answer handles each request */
export function connect(
  answer: (stream: Http2Stream) => void,
  limits: Partial<Http2Limits> = {},
  clock?: () => number,
) {
  const [client, server] = duplexPair();
  const parts: Buffer[] = [];
  client.on("data", (part) => parts.push(part));
  const received = () => Buffer.concat(parts);
  const frames = (type: number) => [...framesIn(received())].filter((one) => one.type === type);
  const failures: Error[] = [];
  const counts = { resets: 0, floods: 0 };
  const events = {
    request: answer,
    reset: () => void counts.resets++,
    flooded: () => void counts.floods++,
    failed: (error: Error) => failures.push(error),
  };
  const connection = new Http2Connection(server, { ...LIMITS, ...limits }, events, clock);
  return {
    connection,
    client,
    failures,
    counts,
    /** All that the server has sent, and its frames of a type. */
    received,
    frames,
    /** The error code of its GOAWAY, or of its reset of a stream; undefined if there is none. */
    errorOf: (stream: number) => {
      if (stream === 0) return frames(FRAME.goaway)[0]?.payload.readUInt32BE(4);
      return frames(FRAME.reset)
        .find((one) => one.stream === stream)
        ?.payload.readUInt32BE();
    },
    /** Whether the server has closed the connection. */
    isClosed: () => server.destroyed,
    /** Breaks the connection off. */
    reset: () => void server.destroy(),
    /** Sends bytes and waits until the server has taken them. */
    send: async (...pieces: readonly Uint8Array[]) => {
      for (const piece of pieces) if (!client.writableEnded) client.write(piece);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** What a server sent, without its SETTINGS, their acknowledgement, and its first WINDOW_UPDATE. */
export function answersIn(bytes: Buffer) {
  return [...framesIn(bytes)].filter(
    ({ type, stream }) => type !== FRAME.settings && !(type === WINDOW_UPDATE && stream === 0),
  );
}

export const WINDOW_UPDATE = 8;

type Fields = Readonly<Record<string, string>>;

/** A request without a body. */
export const get = (stream: number, fields: Fields = {}) =>
  frame(FRAME.headers, END_HEADERS | END_STREAM, stream, getHeaders(Object.entries(fields)));
/** A request whose body follows. */
export const post = (stream: number, fields: Fields = {}) =>
  frame(FRAME.headers, END_HEADERS, stream, getHeaders(Object.entries(fields)));
/** DATA, the last of its stream if `flags` is END_STREAM. */
export const data = (stream: number, bytes: string | Uint8Array, flags = 0) =>
  frame(FRAME.data, flags, stream, Buffer.from(bytes));

/** A number of 32 bits. */
export function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Answers with the path, and with the length of the body. */
export function echo(stream: Http2Stream): void {
  const answer = (body: Uint8Array | undefined) => {
    const text = Buffer.from(`${stream.line.method} ${stream.line.path} ${body?.length ?? 0}`);
    stream.respond({ status: 200, headers: { "content-length": String(text.length) }, body: text });
  };
  const body = stream.body.collect(1024 * 1024);
  if (body instanceof Promise) body.then(answer, () => {});
  else answer(body);
}
