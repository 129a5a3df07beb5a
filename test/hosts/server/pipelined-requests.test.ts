import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { until } from "../../until.ts";
import { DEFAULT_SERVER_LIMITS, ownProtection } from "../default-limits.ts";
import { closed, serversOfTests } from "./tls-fixture.ts";

const MOST = 16;

const servers = serversOfTests();

type Fetch = (request: Request) => Response | Promise<Response>;

/** Starts a server. @returns opens a connection to it, and its counters */
async function start(secure: boolean, fetch: Fetch, limits = DEFAULT_SERVER_LIMITS) {
  const protection = ownProtection(limits);
  const { port } = await servers.start({ secure, fetch, limits, protection });
  return { connect: () => servers.http1(port, secure), counters: protection.counters };
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
  it("are answered in order, whichever is ready first, and those with bodies", async () => {
    const { begun, held, fetch } = heldRequests();
    const { connect } = await start(isSecure, async (request) => {
      await request.text();
      return fetch(request);
    });
    const socket = connect();
    const post = "POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /";
    socket.write(gets(MOST - 1) + post);
    const answered = bodies(socket, MOST);
    await until(() => expect(begun).toHaveLength(MOST));
    for (const release of held.reverse()) release();
    const paths = Array.from({ length: MOST - 1 }, (_, index) => `${index}`);
    expect(await answered).toEqual([...paths, "post"]);
    socket.write(get("other"));
    expect(await bodies(socket, 1)).toEqual(["other"]);
  });

  it("of which more than 16 are in progress close their connection, and no other one", async () => {
    const { begun, fetch } = heldRequests();
    const { connect, counters } = await start(isSecure, fetch);
    const [socket, other] = [connect(), connect()];
    socket.write(gets(MOST));
    await until(() => expect(begun).toHaveLength(MOST));
    expect(counters.get("http1")).toBe(0);
    socket.write(gets(1000));
    await closed(socket.resume());
    expect(counters.get("http1")).toBe(1);
    expect(begun).toHaveLength(MOST);
    other.write(get("other"));
    expect(await bodies(other, 1)).toEqual(["other"]);
  });

  it("for which there is no place are of these 16, too", async () => {
    const { begun, fetch } = heldRequests();
    const limits = { ...DEFAULT_SERVER_LIMITS, requestsInFlight: 1 };
    const { connect, counters } = await start(isSecure, fetch, limits);
    const socket = connect();
    socket.write(gets(MOST + 1));
    await closed(socket.resume());
    expect(begun).toHaveLength(1);
    expect(counters.get("http1")).toBe(1);
  });
});
