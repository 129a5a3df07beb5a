import { type ClientHttp2Session, constants } from "node:http2";
import type { Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Clients, clientConnections, type ServerLimits, socketNetworks } from "../../../src/config/limits.ts";
import { ClientNetworks, ClientRate } from "../../../src/limits/client-rate.ts";
import { type Limit, LimitCounters, RequestsInFlight } from "../../../src/limits/counters.ts";
import { SharedClientCounts } from "../../../src/limits/shared.ts";
import { until } from "../../until.ts";
import { DEFAULT_SERVER_LIMITS, ownProtection } from "../default-limits.ts";
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  framesIn,
  getHeaders,
  PREFACE,
  reset,
} from "./http2-frames.ts";
import { stopClock } from "./stopped-clock.ts";
import { closed, received, serversOfTests } from "./tls-fixture.ts";

const servers = serversOfTests();
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

type Started = Awaited<ReturnType<typeof start>>;

interface Settings {
  readonly limits?: Partial<ServerLimits>;
  readonly clients?: object;
  readonly secure?: boolean;
  readonly fetch?: (request: Request) => Response | Promise<Response>;
}

async function start({ limits: given, clients, secure = true, fetch }: Settings = {}) {
  const limits = { ...DEFAULT_SERVER_LIMITS, ...given };
  const counters = new LimitCounters();
  const requests = new RequestsInFlight(limits.requestsInFlight);
  const settings = Clients.parse({ exempt: [], ...clients });
  const { port } = await servers.start({
    secure,
    limits,
    fetch: fetch ?? ((request) => new Response(request.method)),
    protection: {
      ...ownProtection(limits),
      counters,
      requests,
      clients: clients && {
        networks: new ClientNetworks(socketNetworks(settings)),
        connections: settings.connections,
        open: new SharedClientCounts(SharedClientCounts.allocate(100, 1), 0),
        rate: new ClientRate(clientConnections(settings)),
      },
    },
  });
  const hits = () => Object.fromEntries([...counters].filter(([, count]) => count > 0));
  return { port, requests, hits };
}

const tcp = ({ port }: Started) => servers.tcp(port);
const secure = ({ port }: Started, protocol: "h2" | "http/1.1") => servers.secure(port, protocol);
const http2 = ({ port }: Started) => servers.http2(port);

const once = (emitter: NodeJS.EventEmitter, event: string) =>
  new Promise<void>((resolve) => emitter.once(event, () => resolve()));

const answered = async (session: ClientHttp2Session) => String(await received(session.request()));

/** A request that is answered only when it is let go. */
function holding() {
  const waiting: (() => void)[] = [];
  const fetch = () => new Promise<Response>((resolve) => waiting.push(() => resolve(new Response("late"))));
  const release = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  return { fetch, waiting, release };
}

describe("connections", () => {
  it("above the limit replace the longest idle connection", async () => {
    const server = await start({ limits: { connections: 2 } });
    const [first, second] = [http2(server), http2(server)];
    await Promise.all([answered(first), answered(second)]);
    await answered(first);
    const gone = closed(second);
    const third = http2(server);
    expect(await answered(third)).toBe("GET");
    await gone;
    expect([first.destroyed, server.hits()]).toEqual([false, { "limits.connections": 1 }]);
  });

  it("of one client are bounded, its own go, and others do not count", async () => {
    const server = await start({ clients: { connections: 2 } });
    const [first, second, third] = [http2(server), http2(server), http2(server)];
    await once(first, "connect");
    await Promise.race([closed(first), closed(second), closed(third)]);
    await until(() => expect(server.hits()).toEqual({ "clients.connections": 1 }));
    const exempt = await start({ clients: { connections: 1, exempt: ["127.0.0.1"] } });
    const proxies = await start({ clients: { connections: 1, trustedProxies: ["127.0.0.1"] } });
    for (const other of [exempt, proxies]) {
      const sessions = [http2(other), http2(other)];
      expect(await Promise.all(sessions.map(answered))).toEqual(["GET", "GET"]);
      expect(other.hits()).toEqual({});
    }
  });

  it("of one client may only come so fast", async () => {
    stopClock();
    const server = await start({ clients: { connectionsPerSecond: 1, connectionBurst: 2 } });
    expect(await Promise.all([answered(http2(server)), answered(http2(server))])).toEqual(["GET", "GET"]);
    await closed(tcp(server));
    expect(server.hits()).toEqual({ "clients.connectionsPerSecond": 1 });
  });
});

describe("requests in flight", () => {
  const OF_ONE_CLIENT = { requestsInFlight: 40, streamsPerConnection: 2 };
  it.each<[string, Settings, isHigh: boolean]>([
    ["are bounded over HTTP/2", { limits: { requestsInFlight: 2 } }, true],
    ["of one client are at most a twentieth", { limits: OF_ONE_CLIENT, clients: {} }, false],
  ])("%s: a further one may be sent again elsewhere", async (_, settings, isHigh) => {
    const { fetch, waiting, release } = holding();
    const server = await start({ ...settings, fetch });
    const sessions = [http2(server), http2(server)];
    const streams = sessions.map((session) => session.request());
    await until(() => expect(waiting).toHaveLength(2));
    expect(server.requests.isHigh).toBe(isHigh);
    const refused = sessions[0]!.request();
    refused.on("error", () => {});
    await closed(refused);
    expect(refused.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM);
    expect(server.hits()).toEqual({ "limits.requestsInFlight": 1 });
    release();
    await Promise.all(streams.map((stream) => closed(stream.resume())));
    await until(() => expect(server.requests.count).toBe(0));
    expect(server.requests.isHigh).toBe(false);
  });

  it.each([true, false])("are bounded over HTTP/1.1 (TLS: %s)", async (isSecure) => {
    const { fetch, waiting, release } = holding();
    const server = await start({ limits: { requestsInFlight: 1 }, fetch, secure: isSecure });
    const open = () => servers.http1(server.port, isSecure);
    const first = open();
    first.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    await until(() => expect(waiting).toHaveLength(1));
    const second = open();
    second.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(String(await received(second))).toMatch(/^HTTP\/1\.1 503 .*retry-after: 1\r\n/s);
    const answer = received(first);
    release();
    expect(String(await answer)).toMatch(/^HTTP\/1\.1 200 .*late$/s);
    await until(() => expect(server.requests.count).toBe(0));
  });

  it("count once for each 16 KiB of a response that their client does not read", async () => {
    const server = await start({ fetch: () => new Response("x".repeat(100 * 1024)) });
    const session = http2(server);
    session.settings({ initialWindowSize: 0 });
    await once(session, "localSettings");
    const stream = session.request();
    await once(stream, "response");
    expect(server.requests.count).toBe(1 + 6);
    stream.close();
    await until(() => expect(server.requests.count).toBe(0));
  });

  it("are none any more after clients have gone in the middle of them", async () => {
    const server = await start({ fetch: () => new Promise(() => {}) });
    const session = http2(server);
    for (let index = 0; index < 5; index++) session.request().on("error", () => {});
    const socket = secure(server, "http/1.1");
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await until(() => expect(server.requests.count).toBe(6));
    session.destroy();
    socket.destroy();
    await until(() => expect(server.requests.count).toBe(0));
  });

  it("on one connection are bounded, and the bound is counted", async () => {
    const { fetch, waiting, release } = holding();
    const server = await start({ limits: { streamsPerConnection: 3 }, fetch });
    const session = http2(server);
    await once(session, "remoteSettings");
    const streams = Array.from({ length: 10 }, () => session.request());
    const done = Promise.all(streams.map((stream) => closed(stream.resume())));
    await until(() => expect(waiting).toHaveLength(3));
    expect(server.hits()).toEqual({ "limits.streamsPerConnection": 1 });
    const letting = setInterval(release, 5);
    await done;
    clearInterval(letting);
  });
});

it("an HTTP/2 connection that resets streams again and again ends with ENHANCE_YOUR_CALM, and one that does now and then does not", async () => {
  const { fetch, waiting } = holding();
  const server = await start({ limits: { streamResets: 20, streamResetsPerSecond: 1 }, fetch });
  const session = http2(server);
  for (let index = 0; index < 15; index++) {
    const stream = session.request();
    stream.on("error", () => {});
    await until(() => expect(waiting).toHaveLength(index + 1));
    stream.close(constants.NGHTTP2_CANCEL);
    await closed(stream);
  }
  expect([session.destroyed, server.hits()]).toEqual([false, {}]);

  const socket = secure(server, "h2");
  socket.write(PREFACE);
  for (let stream = 1; stream < 2000; stream += 2)
    socket.write(
      Buffer.concat([frame(FRAME.headers, END_HEADERS | END_STREAM, stream, getHeaders()), reset(stream)]),
    );
  const goaway = [...framesIn(await received(socket))].find(({ type }) => type === FRAME.goaway);
  expect(goaway?.payload.readUInt32BE(4)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  expect(server.hits()).toEqual({ "limits.streamResets": 1 });
  await until(() => expect(server.requests.count).toBe(0));
});

const fields = (count: number, value: string) =>
  Array.from({ length: count }, (_, index) => [`x-${index}`, value] as const);
it.each<[string, readonly (readonly [string, string])[], Partial<ServerLimits>, Limit]>([
  ["too many", fields(70, "1"), {}, "limits.headerFields"],
  ["too long", fields(45, "a".repeat(120)), { headerBytes: 4096 }, "limits.headerBytes"],
  // More than Node's own parser takes, where it has the limit.
  ["far too long", fields(60, "a".repeat(500)), {}, "limits.headerBytes"],
])(
  "header fields that are %s get 431, and over HTTP/2 the connection stays",
  async (_, sent, limits, limit) => {
    for (const isSecure of [true, false]) {
      const server = await start({ secure: isSecure, limits });
      const socket = servers.http1(server.port, isSecure);
      const lines = sent.map(([name, value]) => `${name}: ${value}\r\n`).join("");
      socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${lines}\r\n`);
      expect(String(await received(socket))).toMatch(/^HTTP\/1\.1 431 /);
      expect(server.hits()).toEqual({ [limit]: 1 });
    }
    const server = await start({ limits });
    const session = http2(server);
    const stream = session.request({ ":method": "GET", ...Object.fromEntries(sent) });
    const status = await new Promise((resolve) => stream.once("response", (one) => resolve(one[":status"])));
    expect([status, server.hits()]).toEqual([431, { [limit]: 1 }]);
    expect(await answered(session)).toBe("GET");
    expect(server.requests.count).toBe(0);
  },
);

// These wait for the server to act, however long that takes: each would hang without its bound. Limits of
// Node's own are by its clock, others by the stopped one, which no stall of this process can move on.
describe("time", () => {
  /** Sends bytes at once, then others again and again until the server closes the connection. */
  async function drip(socket: Socket, atOnce: string | Buffer, again = ""): Promise<Buffer> {
    if (atOnce.length > 0) socket.write(atOnce);
    const dripping = setInterval(() => again !== "" && socket.writable && socket.write(again), 20);
    return received(socket).finally(() => clearInterval(dripping));
  }
  const post = (fields: string) => `POST / HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`;
  const openHeaders = frame(FRAME.headers, END_STREAM, 1, getHeaders());
  /** HEADERS of which more is announced than comes. */
  const cutHeaders = Buffer.from(openHeaders);
  cutHeaders.writeUIntBE(4000, 0, 3);

  it.each<[string, string | Buffer, string?]>([
    ["silence after TCP", ""],
    ["a ClientHello byte by byte", Buffer.of(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc), "x"],
  ])("for a handshake: %s", async (_, atOnce, again) => {
    const server = await start({ limits: { handshakeSeconds: 0.2 } });
    await drip(tcp(server), atOnce, again);
    expect(server.hits()).toEqual({ "limits.handshakeSeconds": 1 });
  });

  it.each<[string, "h2" | "http/1.1" | "clear", string | Buffer, string?]>([
    ["silence after the handshake, HTTP/2", "h2", ""],
    ["silence after the handshake, HTTP/1.1", "http/1.1", ""],
    ["silence in clear", "clear", ""],
    ["half of the preface of HTTP/2", "h2", PREFACE.subarray(0, 12)],
    ["silence after the preface of HTTP/2", "h2", PREFACE],
    ["HTTP/2 headers that CONTINUATION never ends", "h2", Buffer.concat([PREFACE, openHeaders])],
    ["HTTP/2 headers byte by byte", "h2", Buffer.concat([PREFACE, cutHeaders]), "\0"],
    ["HTTP/1.1 headers that stop", "http/1.1", "GET / HTTP/1.1\r\nHost: a\r\n"],
    ["HTTP/1.1 headers without end", "http/1.1", "GET / HTTP/1.1\r\n", "a: b\r\n"],
    ["an HTTP/1.1 body that stops", "http/1.1", `${post("Content-Length: 9")}half`],
    ["an HTTP/1.1 body byte by byte", "http/1.1", post("Content-Length: 60000"), "x"],
    ["an HTTP/1.1 body in chunks", "http/1.1", post("Transfer-Encoding: chunked"), "1\r\nx\r\n"],
  ])("for a request: %s", async (_, protocol, atOnce, again) => {
    const server = await start({
      limits: { requestSeconds: 0.2 },
      secure: protocol !== "clear",
      fetch: async (request) => new Response(await request.text()),
    });
    const pass = stopClock();
    const socket = protocol === "clear" ? tcp(server) : secure(server, protocol);
    await once(socket, protocol === "clear" ? "connect" : "secureConnect");
    const passing = setInterval(() => pass(20), 20);
    expect(String(await drip(socket, atOnce, again))).not.toMatch(/^HTTP\/1\.1 [25]/);
    clearInterval(passing);
    expect(server.hits()).toMatchObject({ "limits.requestSeconds": 1 });
  });

  it("for a body over HTTP/2: the stream alone goes", async () => {
    // Of the server's patience with the client's answer to a PING.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { promise: began, resolve: begin } = Promise.withResolvers<void>();
    const server = await start({
      fetch: async (request) => {
        begin();
        return new Response(await request.text());
      },
    });
    const pass = stopClock();
    const session = http2(server);
    const pinged = once(session, "ping");
    const stuck = session.request({ ":method": "POST" });
    stuck.on("error", () => {});
    stuck.write("half");
    await began;
    pass(DEFAULT_SERVER_LIMITS.requestSeconds * 1000 + 1);
    await Promise.all([closed(stuck), pinged]);
    expect(server.hits()).toEqual({ "limits.requestSeconds": 1 });
    // By then the server has read the answer to the PING.
    await answered(session);
    vi.advanceTimersByTime(60_000);
    await answered(session);
    expect(session.destroyed).toBe(false);
  });

  it("for a body over HTTP/2 of a client that answers no PING either: the connection goes", async () => {
    const server = await start({
      limits: { requestSeconds: 0.2 },
      fetch: async (request) => new Response(await request.text()),
    });
    const socket = secure(server, "h2");
    const gone = closed(socket);
    socket.resume();
    const post = Buffer.from(getHeaders());
    post[0] = 0x83;
    socket.write(Buffer.concat([PREFACE, frame(FRAME.headers, END_HEADERS, 1, post)]));
    await gone;
    expect(server.hits()).toEqual({ "limits.requestSeconds": 1 });
  });

  it("for clients without further requests, over HTTP/2 and HTTP/1.1", async () => {
    const server = await start({ limits: { idleSeconds: 0.1 } });
    const pass = stopClock();
    const idle = async () => {
      await until(() => expect(server.requests.count).toBe(0));
      pass(101);
    };
    const session = http2(server);
    expect(await answered(session)).toBe("GET");
    await idle();
    await closed(session);
    const socket = secure(server, "http/1.1");
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(socket, "data");
    await idle();
    await closed(socket.resume());
    await until(() => expect(server.hits()).toEqual({ "limits.idleSeconds": 2 }));
  });

  it.each(["h2", "http/1.1"] as const)("not for the time that a response over %s took", async (protocol) => {
    const { fetch, waiting, release } = holding();
    const server = await start({ limits: { idleSeconds: 10 }, fetch });
    const pass = stopClock();
    const socket = secure(server, protocol);
    if (protocol === "h2")
      socket.write(Buffer.concat([PREFACE, frame(FRAME.headers, END_HEADERS | END_STREAM, 1, getHeaders())]));
    else socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    socket.resume();
    await until(() => expect(waiting).toHaveLength(1));
    pass(11_000);
    release();
    await until(() => expect(server.requests.count).toBe(0));
    await new Promise<void>((resolve) => socket.end(resolve));
    await closed(socket);
    expect(server.hits()).toEqual({});
  });

  it.each(["h2", "http/1.1"] as const)("for taking a response over %s", async (protocol) => {
    const large = new Response(new Uint8Array(50_000_000));
    const server = await start({ limits: { responseSeconds: 0.2 }, fetch: () => large.clone() });
    if (protocol === "h2") {
      const session = http2(server);
      const stream = session.request();
      stream.on("error", () => {});
      // Never read: its window is used up and stays so.
      await new Promise<void>((resolve) => stream.once("close", resolve));
      expect(session.destroyed).toBe(false);
    } else {
      const socket = secure(server, protocol);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      socket.pause();
      await until(() => expect(server.hits()).toEqual({ "limits.responseSeconds": 1 }));
      socket.resume();
      await closed(socket);
    }
    expect(server.hits()).toEqual({ "limits.responseSeconds": 1 });
    await until(() => expect(server.requests.count).toBe(0));
  });
});
