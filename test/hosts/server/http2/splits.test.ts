import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { takeReads } from "../../../../src/http2/frames.ts";
import { HpackDecoder } from "../../../../src/http2/hpack.ts";
import { cutAt } from "../../../snapshot/lines/push-lines.ts";
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

/** Sends requests with Node's own client. @returns what the server saw, and what the client sent and got */
async function ask(sent: Sent) {
  const session = connectHttp2(`http://127.0.0.1:${(listener.address() as AddressInfo).port}`);
  const [server] = (await once(listener, "connection")) as [Socket];
  const bytes: Buffer[] = [];
  server.on("data", (part) => bytes.push(part));
  const seen: (readonly string[])[] = [];
  const { client, failures } = connect((stream) => {
    seen.push(stream.fields);
    echo(stream);
  });
  // What comes by a socket itself is no event of the socket.
  server.pipe(client).pipe(server);
  const answers = await Promise.all(
    sent.map(async ({ fields, path, body }) => {
      const line = { ":method": body === undefined ? "GET" : "POST", ":path": path };
      const stream = session.request({ ...Object.fromEntries(fields), ...line });
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
  expect([bytes.length > 0, failures]).toEqual([true, []]);
  return { seen, answers, bytes: Buffer.concat(bytes) };
}

const fieldsIn = (block: Buffer) => new HpackDecoder(LIMITS).decode(block, 0, block.length).fields ?? [];

/** What a connection answers to bytes, by stream: a body that comes later is answered later. */
async function answersTo(...pieces: Uint8Array[]) {
  const { send, received, failures } = connect(echo);
  await send(...pieces);
  expect(failures).toEqual([]);
  return answersIn(received())
    .map(({ payload, ...frame }) => ({
      ...frame,
      // The first block of a connection, of whichever stream, begins with a table size; the date may be
      // another one.
      payload:
        frame.type === 0 ? payload.toString() : fieldsIn(payload).filter((text) => !/ GMT$/.test(text)),
    }))
    .sort((one, other) => one.stream - other.stream);
}

test("what Node's client wrote is read as it was sent (RFC 7541), and bytes that are cut anywhere have the same answers", async () => {
  const offsets = fc.array(fc.nat({ max: 60_000 }), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(requests, offsets, async (sent, ends) => {
      const { seen, answers, bytes } = await ask(sent);
      for (const [index, { fields, path, body }] of sent.entries()) {
        expect(answers[index]).toBe(`${body === undefined ? "GET" : "POST"} ${path} ${body?.length ?? 0}`);
        const read = seen[index]!;
        const values = Object.fromEntries(
          read.flatMap((name, at) => (at % 2 === 0 ? [[name, read[at + 1]]] : [])),
        );
        expect(values).toMatchObject(Object.fromEntries(fields));
      }
      expect(await answersTo(...cutAt(bytes, ends))).toEqual(await answersTo(bytes));
    }),
    { numRuns: 50 },
  );
});

describe("a socket", () => {
  async function socketPair() {
    const client = connectTcp((listener.address() as AddressInfo).port, "127.0.0.1");
    const [server] = (await once(listener, "connection")) as [Socket];
    const taken = { text: "" };
    const take = () =>
      takeReads(server, (length, bytes) => {
        taken.text += bytes.toString("latin1", 0, length);
      });
    return { client, server, taken, take };
  }

  test("gives what its stream holds already first", async () => {
    const { client, server, taken, take } = await socketPair();
    server.unshift(Buffer.from("first "));
    take();
    client.end("second");
    await once(server, "end");
    expect(taken.text).toBe("first second");
    server.destroy();
  });

  test("is not read while it is paused", async () => {
    const { client, server, taken, take } = await socketPair();
    const text = Array.from({ length: 60_000 }, (_, index) => `${index} `).join("");
    take();
    client.write("before");
    while (taken.text === "") await new Promise((resolve) => setImmediate(resolve));
    server.pause();
    client.end(text);
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(taken.text).toBe("before");
    server.resume();
    await once(server, "end");
    expect(taken.text).toBe(`before${text}`);
    server.destroy();
  });
});
