import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { until } from "../../until.ts";
import { serversOfTests } from "./tls-fixture.ts";

const servers = serversOfTests();

/** A server whose application answers when the test says so. */
async function start(secure: boolean, respond = () => new Response("done")) {
  const { promise: answer, resolve } = Promise.withResolvers<void>();
  const seen: AbortSignal[] = [];
  const fetch = async (request: Request) => {
    await request.text();
    seen.push(request.signal);
    await answer;
    return respond();
  };
  const { port } = await servers.start({ secure, fetch });
  return { port, seen, answer: resolve };
}

const began = (seen: AbortSignal[]) => until(() => expect(seen).toHaveLength(1));
const isGone = (seen: AbortSignal[]) => until(() => expect(seen[0]!.aborted).toBe(true));
const PUT = "PUT / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\nbody";

/** A PUT over HTTP/2. */
function put(port: number) {
  const session = servers.http2(port);
  const stream = session.request({ ":method": "PUT" });
  stream.on("error", () => {});
  stream.resume().end("body");
  return { session, stream };
}

it.each(["end", "destroy", "resetAndDestroy"] as const)(
  "a request over HTTP/1.1 knows that its client has gone: %s",
  async (go) => {
    const { port, seen } = await start(false);
    const socket = servers.tcp(port);
    socket.resume().write(PUT);
    await began(seen);
    expect(seen[0]!.aborted).toBe(false);
    socket[go]();
    await isGone(seen);
  },
);

it("a request over HTTP/2 knows that its client has reset it, and its connection goes on", async () => {
  const { port, seen } = await start(true);
  const { session, stream } = put(port);
  await began(seen);
  expect(seen[0]!.aborted).toBe(false);
  stream.close(8);
  await isGone(seen);
  expect(session.closed).toBe(false);
});

it("a request over HTTP/2 knows that its connection is closed", async () => {
  const { port, seen } = await start(true);
  const { session } = put(port);
  await began(seen);
  session.destroy();
  await isGone(seen);
});

it.each([
  ["HTTP/1.1", false],
  ["HTTP/2", true],
])(
  "over %s the response to a client that has gone is cancelled, and an error of that is no error of the process",
  async (_, secure) => {
    const cancelled = vi.fn(() => Promise.reject(new Error("it cannot be cancelled")));
    const headers = { "x-accel-buffering": "no" };
    const respond = () => new Response(new ReadableStream({ cancel: cancelled }), { headers });
    const { port, seen, answer } = await start(secure, respond);
    const client = secure ? put(port).session : servers.tcp(port);
    if (!secure) (client as Socket).resume().write(PUT);
    await began(seen);
    client.destroy();
    await isGone(seen);
    answer();
    await until(() => expect(cancelled).toHaveBeenCalledOnce());
  },
);

it("a body is asked for no faster than a client over HTTP/1.1 reads, and cancelled when the client goes", async () => {
  const cancel = vi.fn();
  let pulls = 0;
  const pull = (controller: ReadableStreamDefaultController) => {
    pulls++;
    controller.enqueue(new Uint8Array(1_000_000));
  };
  const headers = { "x-accel-buffering": "no" };
  const respond = () => new Response(new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), { headers });
  const { port, seen, answer } = await start(false, respond);
  const socket = servers.tcp(port);
  socket.pause().write(PUT);
  await began(seen);
  answer();
  let before = 0;
  do {
    before = pulls;
    for (let turn = 0; turn < 1000; turn++) await setImmediate();
  } while (pulls === 0 || pulls > before);
  // The kernel's buffers hold some megabytes.
  expect(pulls).toBeLessThan(50);
  expect(cancel).not.toHaveBeenCalled();
  socket.destroy();
  await until(() => expect(cancel).toHaveBeenCalledOnce());
});

it("a client that got its response has not gone", async () => {
  const { port, seen, answer } = await start(false);
  const secured = await start(true);
  const socket = servers.tcp(port);
  let text = "";
  socket.on("data", (part) => {
    text += part;
  });
  socket.write(PUT);
  const { stream, session } = put(secured.port);
  const ended = new Promise((resolve) => stream.once("close", resolve));
  await Promise.all([began(seen), began(secured.seen)]);
  answer();
  secured.answer();
  await Promise.all([ended, until(() => expect(text).toContain("done"))]);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.end();
  session.destroy();
  await closed;
  expect([seen[0]!.aborted, secured.seen[0]!.aborted]).toEqual([false, false]);
});
