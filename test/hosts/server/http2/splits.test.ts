import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Http2Connection } from "../../../../src/http2/connection.ts";
import { HpackDecoder } from "../../../../src/http2/hpack.ts";
import type { Http2Stream } from "../../../../src/http2/stream.ts";
import { cutAt } from "../../../snapshot/lines/bytes.ts";
import { answersIn, connect, echo, LIMITS } from "./connected.ts";

/** Fields as clients may send them; some repeat, so that they come from a table. */
const fields = fc.array(
  fc.tuple(
    fc.constantFrom<string>("accept", "user-agent", "x-one", "x-two", "cookie2", "authorization"),
    fc.oneof(fc.constantFrom("a", "application/dns-message"), fc.stringMatching(/^[!-~][ -~]{0,60}[!-~]$/)),
  ),
  { maxLength: 8 },
);
const requests = fc.array(
  fc.record({
    fields,
    path: fc.stringMatching(/^\/[!-~]{0,40}$/),
    body: fc.option(fc.uint8Array({ maxLength: 40_000 }), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 6 },
);

type Sent = typeof requests extends fc.Arbitrary<infer Value> ? Value : never;

// Real sockets: over a stream in JavaScript Node's own client aborts the process (an assertion in
// OnDataChunkReceived).
const listener = createServer();
beforeAll(async () => {
  await once(listener.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  listener.close();
});

/**
 * Sends requests with Node's own client to a connection.
 * @returns what the server saw, and what the client sent
 */
async function ask(sent: Sent) {
  const session = connectHttp2(`http://127.0.0.1:${(listener.address() as AddressInfo).port}`);
  const [server] = (await once(listener, "connection")) as [Socket];
  // What comes by a socket itself is no event of the socket.
  const [near, far] = duplexPair();
  const bytes: Buffer[] = [];
  server.on("data", (part) => bytes.push(part));
  server.pipe(far).pipe(server);
  const seen: (readonly string[])[] = [];
  const events = {
    request(stream: Http2Stream) {
      seen.push(stream.fields);
      echo(stream);
    },
    reset() {},
    flooded() {},
    failed(error: Error) {
      throw error;
    },
  };
  new Http2Connection(near, LIMITS, events);
  const answers = await Promise.all(
    sent.map(async ({ fields, path, body }) => {
      const headers: Record<string, string> = {};
      for (const [name, value] of fields) headers[name] = value;
      const stream = session.request({
        ...headers,
        ":method": body === undefined ? "GET" : "POST",
        ":path": path,
      });
      stream.setEncoding("utf8");
      stream.end(body);
      let text = "";
      for await (const part of stream) text += part;
      return text;
    }),
  );
  const closed = once(server, "close");
  await new Promise<void>((resolve) => session.close(resolve));
  await closed;
  expect(bytes.length).toBeGreaterThan(0);
  return { seen, answers, bytes: Buffer.concat(bytes) };
}

test("fields that Node's encoder wrote are read as they were sent (RFC 7541)", async () => {
  await fc.assert(
    fc.asyncProperty(requests, async (sent) => {
      const { seen, answers } = await ask(sent);
      for (const [index, { fields, path, body }] of sent.entries()) {
        expect(answers[index]).toBe(`${body === undefined ? "GET" : "POST"} ${path} ${body?.length ?? 0}`);
        const expected = new Map(fields);
        const pairs = Array.from({ length: seen[index]!.length / 2 }, (_, at) =>
          seen[index]!.slice(2 * at, 2 * at + 2),
        );
        expect(new Map(pairs.filter(([name]) => expected.has(name!)) as [string, string][])).toEqual(
          expected,
        );
      }
    }),
    { numRuns: 50 },
  );
});

const fieldsIn = (block: Buffer) => new HpackDecoder(LIMITS).decode(block, 0, block.length).fields ?? [];

test("bytes that are cut anywhere have the same answers", async () => {
  await fc.assert(
    fc.asyncProperty(
      requests,
      fc.array(fc.nat({ max: 60_000 }), { maxLength: 40 }),
      async (sent, offsets) => {
        const { bytes } = await ask(sent);
        const whole = connect(echo);
        await whole.send(bytes);
        const pieces = connect(echo);
        await pieces.send(...cutAt(bytes, offsets));
        // A body that comes later is answered later: the order holds within a stream.
        const answers = (given: Buffer) =>
          answersIn(given)
            .map(({ type, flags, stream, payload }) => ({
              type,
              flags,
              stream,
              // The first block of a connection, of whichever stream, begins with a table size; the date may
              // be another one.
              payload:
                type === 0 ? payload.toString() : fieldsIn(payload).filter((text) => !/ GMT$/.test(text)),
            }))
            .sort((one, other) => one.stream - other.stream);
        expect(answers(pieces.received())).toEqual(answers(whole.received()));
        expect(pieces.failures).toEqual([]);
      },
    ),
    { numRuns: 30 },
  );
});
