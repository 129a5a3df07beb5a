import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { PipelinedRequests } from "../../../src/hosts/node/server/http1.ts";
import { until } from "../../until.ts";
import { serversOfTests } from "./tls-fixture.ts";

const HANDLED = 16;
const MIB = 1024 * 1024;

const servers = serversOfTests();

type Fetch = (request: Request) => Response | Promise<Response>;

/** Starts a server. @returns opens a connection to it */
async function start(secure: boolean, fetch: Fetch) {
  const { port } = await servers.start({ secure, fetch });
  return () => servers.http1(port, secure);
}

const get = (path: string | number) => `GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const gets = (count: number) => Array.from({ length: count }, (_, index) => get(index)).join("");
const pathOf = (request: Request) => new URL(request.url).pathname.slice(1);

/** The bodies `[…]` of the next responses. */
function bodies(socket: Socket, count: number): Promise<string[]> {
  const found: string[] = [];
  let rest = "";
  return new Promise((resolve, reject) => {
    const closed = () => reject(new Error(`closed after ${found.length} responses and ${rest.slice(-200)}`));
    const take = (part: Buffer) => {
      const pieces = (rest + part).split("]");
      rest = pieces.pop()!;
      for (const piece of pieces) found.push(piece.slice(piece.lastIndexOf("[") + 1));
      if (found.length < count) return;
      socket.off("data", take).off("close", closed);
      resolve(found);
    };
    socket.on("data", take).on("close", closed);
  });
}

/** Requests that wait for `release`. */
function heldRequests() {
  const begun: string[] = [];
  const held: (() => void)[] = [];
  const fetch: Fetch = async (request) => {
    const path = pathOf(request);
    if (path === "other") return new Response("[other]");
    begun.push(path);
    await new Promise<void>((resolve) => held.push(resolve));
    return new Response(`[${path}]`);
  };
  return { begun, held, fetch };
}

describe.each([true, false])("pipelined requests over HTTP/1.1 (TLS: %s)", (isSecure) => {
  it("are all answered, in order, when there are 5,000, and those with bodies although they have to wait", async () => {
    const fetch: Fetch = async (request) =>
      new Response(`${"x".repeat(300)}[${pathOf(request)}${(await request.text()).length}]`);
    const socket = (await start(isSecure, fetch))();
    socket.write(gets(5000));
    expect(await bodies(socket, 5000)).toEqual(Array.from({ length: 5000 }, (_, index) => `${index}0`));
    const body = "x".repeat(200_000);
    for (let sent = 0; sent < 40; sent++)
      socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    expect(await bodies(socket, 40)).toEqual(new Array<string>(40).fill("200000"));
  });

  it("are handled 16 at a time, and other connections are answered meanwhile", async () => {
    const { begun, held, fetch } = heldRequests();
    const connect = await start(isSecure, fetch);
    const socket = connect();
    socket.write(gets(100));
    await until(() => expect(begun).toHaveLength(HANDLED));
    const other = connect();
    other.write(get("other"));
    expect(await bodies(other, 1)).toEqual(["other"]);
    expect(begun).toHaveLength(HANDLED);
    // A response behind one that is not ready has not left: nothing begins for it.
    held[1]!();
    other.write(get("other"));
    await bodies(other, 1);
    expect(begun).toHaveLength(HANDLED);
    held[0]!();
    expect(await bodies(socket, 2)).toEqual(["0", "1"]);
    await until(() => expect(begun).toHaveLength(HANDLED + 2));
    for (let next = 2; next < 100; next++) {
      await until(() => expect(held.length).toBeGreaterThan(next));
      held[next]!();
    }
    expect(begun).toEqual(Array.from({ length: 100 }, (_, index) => `${index}`));
  });

  it("that wait are dropped when their connection closes", async () => {
    const { begun, fetch } = heldRequests();
    const connect = await start(isSecure, fetch);
    const socket = connect();
    socket.write(gets(100));
    await until(() => expect(begun).toHaveLength(HANDLED));
    socket.destroy();
    const other = connect();
    for (let round = 0; round < 20; round++) {
      other.write(get("other"));
      await bodies(other, 1);
    }
    expect(begun).toHaveLength(HANDLED);
  });
});

it("a connection whose requests wait is not read on", async () => {
  const pipelined = new PipelinedRequests();
  const held: (() => void)[] = [];
  let first: Socket | undefined;
  const server = createServer((incoming, outgoing) => {
    if (incoming.url === "/other") outgoing.end("[other]");
    else pipelined.add(incoming.socket, outgoing, () => held.push(() => outgoing.end("[x]")));
  });
  server.on("connection", (socket) => {
    first ??= socket;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const connect = () => servers.tcp((server.address() as AddressInfo).port);
  const socket = connect();
  const other = connect();
  socket.write(get("x").repeat((4 * MIB) / get("x").length));
  const askOther = async () => {
    const answered = bodies(other, 1);
    other.write(get("other"));
    await answered;
  };
  await until(() => expect(held).toHaveLength(HANDLED));
  // Node resumes a connection with every response; each round leaves time for many reads.
  for (let round = 0; round < 100; round++) {
    await askOther();
    held[round]!();
    await until(() => expect(held).toHaveLength(HANDLED + round + 1));
  }
  expect(first!.bytesRead).toBeLessThan(MIB / 2);
  server.close();
  server.closeAllConnections();
});
