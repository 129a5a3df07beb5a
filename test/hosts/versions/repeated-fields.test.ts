import { once } from "node:events";
import type { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import type { HttpRequest } from "../../../src/http/messages/message.ts";
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  framesIn,
  getHeaders,
  PREFACE,
} from "../server/http2-frames.ts";
import { serversOfTests } from "../server/tls-fixture.ts";

const servers = serversOfTests();

/** The value of a field, as the server's handlers see it. */
async function seen(
  protocol: "h2" | "http/1.1",
  name: string,
  values: readonly string[],
): Promise<string | null> {
  let value: string | null = "not asked";
  const handler = (request: HttpRequest) => {
    value = request.header(name);
    return { status: 204, headers: {}, body: null };
  };
  const paths = { at: () => handler, failed: () => ({ status: 500, headers: {}, body: null }) };
  const { port } = await servers.start({ paths });
  const socket = servers.secure(port, protocol);
  if (protocol === "h2") {
    const block = getHeaders(values.map((one) => [name, one]));
    socket.write(Buffer.concat([PREFACE, frame(FRAME.headers, END_HEADERS | END_STREAM, 1, block)]));
  } else {
    const lines = values.map((one) => `${name}: ${one}\r\n`).join("");
    socket.write(`GET / HTTP/1.1\r\nhost: a\r\n${lines}\r\n`);
  }
  await answered(socket, protocol);
  return value;
}

async function answered(socket: TLSSocket, protocol: string): Promise<void> {
  let bytes = Buffer.alloc(0);
  const isAnswered = () =>
    protocol === "h2" ? [...framesIn(bytes)].some(({ type }) => type === FRAME.headers) : bytes.length > 0;
  while (!isAnswered()) bytes = Buffer.concat([bytes, (await once(socket, "data"))[0] as Buffer]);
}

test.each([
  ["accept", ["a/b", "c/d"], "a/b, c/d"],
  ["authorization", ["Bearer one", "Bearer two"], "Bearer one, Bearer two"],
  ["content-type", ["application/dns-message", "text/plain"], "application/dns-message, text/plain"],
  ["cookie", ["a=1", "b=2"], "a=1; b=2"],
  ["x-absent", [], null],
  ["x-empty", [""], ""],
])(
  "the field %s with the values %j is %j over HTTP/1.1 and HTTP/2 (RFC 9110 section 5.3, RFC 9113 section 8.2.3)",
  async (name, values, value) => {
    expect(await seen("http/1.1", name, values)).toBe(value);
    expect(await seen("h2", name, values)).toBe(value);
  },
);
