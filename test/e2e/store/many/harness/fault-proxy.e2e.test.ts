import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../../../harness/answers.ts";
import { freePort } from "../../../servers/ports.ts";
import { FaultProxy } from "./fault-proxy.ts";

let echo: Server;
let proxy: FaultProxy;
const accepted = new Set<Socket>();

beforeAll(async () => {
  const port = await freePort();
  echo = createServer((socket) => {
    accepted.add(socket);
    socket.once("close", () => accepted.delete(socket));
    socket.on("error", () => {});
    socket.pipe(socket);
  });
  echo.listen(port, "127.0.0.1");
  await once(echo, "listening");
  proxy = await FaultProxy.start(port);
});

afterAll(async () => {
  await proxy?.close();
  echo?.close();
});

beforeEach(() => proxy.heal());

/** A client of the proxy, with all that it got back. */
class Client {
  readonly socket = connect(proxy.port, "127.0.0.1");
  received = "";
  failure: string | undefined;
  isClosed = false;

  constructor() {
    this.socket.setEncoding("utf8");
    this.socket.on("data", (text: string) => {
      this.received += text;
    });
    this.socket.on("error", (error: NodeJS.ErrnoException) => {
      this.failure = error.code;
    });
    this.socket.on("close", () => {
      this.isClosed = true;
    });
  }

  static async connected(): Promise<Client> {
    const client = new Client();
    await client.echoes("hello ");
    return client;
  }

  async echoes(text: string): Promise<void> {
    const wanted = this.received + text;
    this.socket.write(text);
    await eventually(() => this.received).toBe(wanted);
  }
}

test("passes bytes on and counts them", async () => {
  const before = { ...proxy.passed };
  const client = await Client.connected();
  expect(proxy.passed).toEqual({ toServer: before.toServer + 6, fromServer: before.fromServer + 6 });
  client.socket.end();
  await eventually(() => [client.isClosed, proxy.connections, accepted.size]).toEqual([true, 0, 0]);
});

test("delays what arrives, and keeps its order", async () => {
  const client = await Client.connected();
  proxy.delay(300);
  const begun = performance.now();
  await client.echoes("late ");
  // The delay of the way there, and of the way back: a timer is never early.
  expect(performance.now() - begun).toBeGreaterThan(590);
  client.socket.write("first ");
  proxy.delay(0);
  client.socket.write("then");
  await eventually(() => client.received).toBe("hello late first then");
  client.socket.destroy();
});

test("cuts connections with a reset, and lets clients connect again", async () => {
  const client = await Client.connected();
  proxy.cut();
  await eventually(() => client.failure).toBe("ECONNRESET");
  await eventually(() => accepted.size).toBe(0);
  (await Client.connected()).socket.destroy();
});

test("refuses connections until it is healed", async () => {
  const client = await Client.connected();
  await proxy.refuse();
  await eventually(() => client.failure).toBe("ECONNRESET");
  const refused = new Client();
  await eventually(() => refused.failure).toBe("ECONNREFUSED");
  await proxy.heal();
  (await Client.connected()).socket.destroy();
});

test("half open, it accepts connections and bytes, and nothing comes back, also after it is healed", async () => {
  const client = await Client.connected();
  proxy.swallow();
  const other = new Client();
  const before = proxy.passed.toServer;
  for (const { socket } of [client, other]) socket.write("lost");
  await eventually(() => [client, other].map(({ socket }) => socket.bytesWritten)).toEqual([10, 4]);
  await eventually(() => proxy.connections).toBe(2);
  await proxy.heal();
  await (await Client.connected()).echoes("again");
  for (const { socket } of [client, other]) socket.write("lost");
  await eventually(() => accepted.size).toBe(1);
  expect([client.received, other.received, client.isClosed, other.isClosed]).toEqual([
    "hello ",
    "",
    false,
    false,
  ]);
  expect(proxy.passed.toServer - before).toBe(11);
  for (const { socket } of [client, other]) socket.destroy();
});

test("closes the client's connection where the server refuses its own", async () => {
  const nobody = await FaultProxy.start(await freePort());
  const socket = connect(nobody.port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "close");
  await eventually(() => nobody.connections).toBe(0);
  await nobody.close();
});
