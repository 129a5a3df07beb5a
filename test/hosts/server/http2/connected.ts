import { type Duplex, duplexPair } from "node:stream";
import { Http2Connection } from "../../../../src/http2/connection.ts";
import type { Http2Limits, Http2Stream } from "../../../../src/http2/stream.ts";
import { END_HEADERS, END_STREAM, FRAME, frame, framesIn, getHeaders } from "../http2-frames.ts";

export const LIMITS: Http2Limits = { streams: 100, headerBytes: 16_384, headerFields: 64 };

/** What a connection did. */
export interface Connected {
  readonly connection: Http2Connection;
  readonly client: Duplex;
  readonly failures: Error[];
  resets: number;
  floods: number;
  /** Whether the server has closed the connection. */
  isClosed(): boolean;
  /** All that the server has sent. */
  received(): Buffer;
  /** Sends bytes and waits until the server has taken them. */
  send(...pieces: readonly Uint8Array[]): Promise<void>;
}

/** A connection without a network. @param answer handles each request */
export function connect(
  answer: (stream: Http2Stream) => void,
  limits: Partial<Http2Limits> = {},
  clock?: () => number,
): Connected {
  const [client, server] = duplexPair();
  const parts: Buffer[] = [];
  client.on("data", (part) => parts.push(part));
  const failures: Error[] = [];
  const events = {
    request: answer,
    reset: () => {
      connected.resets++;
    },
    flooded: () => {
      connected.floods++;
    },
    failed: (error: Error) => failures.push(error),
  };
  const connection = new Http2Connection(server, { ...LIMITS, ...limits }, events, clock);
  const connected: Connected = {
    connection,
    client,
    failures,
    resets: 0,
    floods: 0,
    isClosed: () => server.destroyed,
    received: () => Buffer.concat(parts),
    send: async (...pieces) => {
      for (const piece of pieces) if (!client.writableEnded) client.write(piece);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    },
  };
  return connected;
}

/**
 * The frames that a server has sent, without its SETTINGS, their acknowledgement, and its first
 * WINDOW_UPDATE.
 */
export function answersIn(bytes: Buffer) {
  return [...framesIn(bytes)].filter(
    ({ type, stream }) => type !== FRAME.settings && !(type === WINDOW_UPDATE && stream === 0),
  );
}

export const WINDOW_UPDATE = 8;

type Fields = readonly (readonly [string, string])[];

/** A request without a body. */
export const get = (stream: number, fields?: Fields) =>
  frame(FRAME.headers, END_HEADERS | END_STREAM, stream, getHeaders(fields));
/** A request whose body follows. */
export const post = (stream: number, fields?: Fields) =>
  frame(FRAME.headers, END_HEADERS, stream, getHeaders(fields));

/** A number of 32 bits. */
export function number(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** The error code of the GOAWAY, or of the reset of a stream; undefined if there is none. */
export function errorIn(bytes: Buffer, stream: number): number | undefined {
  const found = [...framesIn(bytes)].find(
    (one) => one.type === (stream === 0 ? FRAME.goaway : FRAME.reset) && one.stream === stream,
  );
  return found?.payload.readUInt32BE(stream === 0 ? 4 : 0);
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
