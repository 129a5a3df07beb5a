import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { takeReads } from "../../../../src/http2/frames.ts";

const listener = createServer();
beforeAll(async () => {
  await once(listener.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  listener.close();
});

async function socketPair(): Promise<readonly [Socket, Socket]> {
  const client = connect((listener.address() as AddressInfo).port, "127.0.0.1");
  const [server] = (await once(listener, "connection")) as [Socket];
  return [client, server];
}

/** Takes what comes, and collects it as text. */
function collect(socket: Parameters<typeof takeReads>[0]) {
  const taken = { text: "", buffers: new Set<ArrayBufferLike>() };
  takeReads(socket, (length, bytes) => {
    taken.text += bytes.toString("latin1", 0, length);
    taken.buffers.add(bytes.buffer);
  });
  return taken;
}

const text = Array.from({ length: 60_000 }, (_, index) => `${index} `).join("");
test("what the stream of a socket holds already comes first", async () => {
  const [client, server] = await socketPair();
  server.unshift(Buffer.from("first "));
  const taken = collect(server);
  client.end("second");
  await once(server, "end");
  expect(taken.text).toBe("first second");
  server.destroy();
});

test("a paused socket is not read until it is resumed", async () => {
  const [client, server] = await socketPair();
  const taken = collect(server);
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
