import type { ClientHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { until } from "../../until.ts";
import { closed, serversOfTests } from "./tls-fixture.ts";

const servers = serversOfTests();

/** A PUT over HTTP/1.1, or over HTTP/2, to an application that answers when the test says so. */
async function put(isSecure: boolean, respond = () => new Response("done")) {
  const { promise: answer, resolve } = Promise.withResolvers<void>();
  const signals: AbortSignal[] = [];
  const fetch = async (request: Request) => {
    await request.text();
    signals.push(request.signal);
    await answer;
    return respond();
  };
  const { port } = await servers.start({ secure: isSecure, fetch });
  const client: Socket | ClientHttp2Stream = isSecure
    ? servers.http2(port).request({ ":method": "PUT" })
    : servers.tcp(port);
  client.on("error", () => {});
  if (isSecure) client.end("body");
  else client.write("PUT / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\nbody");
  await until(() => expect(signals).toHaveLength(1));
  expect(signals[0]!.aborted).toBe(false);
  const isGone = () => until(() => expect(signals[0]!.aborted).toBe(true));
  return { client, signal: signals[0]!, answer: resolve, isGone };
}

const socketOf = (client: unknown) => client as Socket;
const streamOf = (client: unknown) => client as ClientHttp2Stream;

it.each<[string, (client: unknown) => void, endsSession?: boolean]>([
  ["ended its HTTP/1.1 connection", (client) => socketOf(client).end()],
  ["closed its HTTP/1.1 connection", (client) => socketOf(client).destroy()],
  ["reset its HTTP/1.1 connection", (client) => socketOf(client).resetAndDestroy()],
  ["reset its HTTP/2 stream", (client) => streamOf(client).close(8), false],
  ["closed its HTTP/2 connection", (client) => streamOf(client).session!.destroy(), true],
])("a request knows that its client %s", async (_, go, endsSession) => {
  const { client, isGone } = await put(endsSession !== undefined);
  const session = endsSession === undefined ? undefined : streamOf(client).session;
  client.resume();
  go(client);
  await isGone();
  expect(session?.destroyed).toBe(endsSession);
});

const STREAMED = { headers: { "x-accel-buffering": "no" } };

it.each([
  ["HTTP/1.1", false],
  ["HTTP/2", true],
])(
  "over %s the response to a client that has gone is cancelled, and an error of that is no error of the process",
  async (_, isSecure) => {
    const cancelled = vi.fn(() => Promise.reject(new Error("it cannot be cancelled")));
    const respond = () => new Response(new ReadableStream({ cancel: cancelled }), STREAMED);
    const { client, isGone, answer } = await put(isSecure, respond);
    if (isSecure) streamOf(client).session!.destroy();
    else client.destroy();
    await isGone();
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
  const { client, answer } = await put(
    false,
    () => new Response(new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), STREAMED),
  );
  client.pause();
  answer();
  let before = 0;
  do {
    before = pulls;
    for (let turn = 0; turn < 1000; turn++) await setImmediate();
  } while (pulls === 0 || pulls > before);
  // The kernel's buffers hold some megabytes.
  expect(pulls).toBeLessThan(50);
  expect(cancel).not.toHaveBeenCalled();
  client.destroy();
  await until(() => expect(cancel).toHaveBeenCalledOnce());
});

it.each([true, false])("a client that got its response has not gone (HTTP/2: %s)", async (isSecure) => {
  const { client, signal, answer } = await put(isSecure);
  let text = "";
  client.on("data", (part) => {
    text += part;
  });
  const gone = closed(client);
  answer();
  await until(() => expect(text).toContain("done"));
  client.end();
  await gone;
  expect(signal.aborted).toBe(false);
});
