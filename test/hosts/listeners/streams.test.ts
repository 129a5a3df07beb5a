import { connect as connectTcp } from "node:net";
import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Listener } from "../../../src/hosts/node/listen.ts";
import { Connections, listenStream } from "../../../src/hosts/node/listeners/stream.ts";
import { frameMessage, MessageFramer } from "../../../src/hosts/node/listeners/stream-connection.ts";
import type { AnswerMessage } from "../../../src/hosts/node/listeners/udp.ts";
import { keepSelfSigned, type TlsIdentity } from "../../../src/hosts/node/tls.ts";
import { ClientNetworks } from "../../../src/limits/client-rate.ts";
import { ConnectionErrors, LimitCounters, ownCount } from "../../../src/limits/counters.ts";
import { SharedClientCounts } from "../../../src/limits/shared.ts";
import { folderOfTests } from "../../folders.ts";
import { cutAt } from "../../snapshot/lines/push-lines.ts";
import { until } from "../../until.ts";
import { stopClock } from "../server/stopped-clock.ts";
import { StreamClient } from "./dns-clients.ts";

const folder = folderOfTests();
let tls: TlsIdentity;
beforeAll(async () => {
  tls = await keepSelfSigned(folder, "localhost", Date.now());
});

const running: Listener[] = [];
const clients: StreamClient[] = [];
let errors: Error[] = [];
let limits = new LimitCounters();
const hits = () => Object.fromEntries([...limits].filter(([, count]) => count > 0));
let passing: NodeJS.Timeout | undefined;
afterEach(async () => {
  vi.restoreAllMocks();
  clearInterval(passing);
  for (const client of clients.splice(0)) client.close();
  await Promise.all(running.splice(0).map((one) => one.stop(0)));
  errors = [];
  limits = new LimitCounters();
});

/** Lets time pass as fast as this process comes on, until the test ends; calls `turn` each 20 ms of it. */
function passOn(pass: (milliseconds: number) => void, turn = () => {}): void {
  passing = setInterval(() => {
    turn();
    pass(20);
  }, 10);
}

/** A message with an ID and one byte that selects the handler's action. */
const ask = (id: number, what: "answer" | "wait" | "none" | "fail" | "large" = "answer"): Uint8Array =>
  Uint8Array.of(id >> 8, id, what.charCodeAt(0));
const idOf = (message: Buffer | undefined) => message?.readUInt16BE(0);

/** Tests decide when pending queries are answered. */
class Handler {
  readonly waiting = new Map<number, () => void>();
  handled = 0;
  readonly handle: AnswerMessage = (query) => {
    this.handled++;
    const bytes = Uint8Array.from(query);
    const answer = (sent: Uint8Array<ArrayBuffer>) =>
      ({ bytes: sent, outcome: "answer", freshness: 0 }) as const;
    const what = String.fromCharCode(bytes[2]!);
    if (what === "n") return undefined;
    if (what === "f") throw new Error("a bug");
    if (what !== "w") return answer(what === "l" ? new Uint8Array(60_000) : bytes);
    return new Promise((resolve) => {
      this.waiting.set((bytes[0]! << 8) | bytes[1]!, () => resolve(answer(bytes)));
    });
  };

  /** Resolves when a pending query has arrived. */
  has(id: number): Promise<void> {
    return until(() => expect(this.waiting.has(id)).toBe(true));
  }

  /** Answers a pending query after it has arrived. */
  async release(id: number): Promise<void> {
    await this.has(id);
    this.waiting.get(id)!();
  }
}

interface Bounds {
  readonly connections?: number;
  readonly connectionsPerClient?: number;
  readonly idleSeconds?: number;
  readonly queriesPerConnection?: number;
  readonly handshakeSeconds?: number;
}

/** Starts a server. @returns connects to it from an address, over TLS with these options */
async function start({ handshakeSeconds = 10, ...bounds }: Bounds = {}, isSecure = false) {
  const handler = new Handler();
  const defaults = {
    connections: 100,
    connectionsPerClient: 100,
    idleSeconds: 60,
    queriesPerConnection: 100,
  };
  const connections = new Connections({
    kind: "dns",
    settings: { ...defaults, ...bounds },
    limits: { queryBytes: 512, handshakeSeconds },
    counters: { limits, errors: new ConnectionErrors() },
    onError: (error) => errors.push(error as Error),
    networks: new ClientNetworks({ exempt: [], ipv4PrefixBits: 32, ipv6PrefixBits: 64 }),
    open: {
      all: ownCount("dns.connections"),
      clients: new SharedClientCounts(SharedClientCounts.allocate(100, 1), 0),
    },
  });
  const bound = await listenStream("127.0.0.1", 0, handler.handle, connections, isSecure ? tls : undefined);
  running.push(bound);
  const connect = async (options: object = {}) => {
    const secured = { ca: tls.cert, ALPNProtocols: ["dot"], ...options };
    const client = await (isSecure
      ? StreamClient.tls(bound.port, secured)
      : StreamClient.tcp(bound.port, options));
    clients.push(client);
    return client;
  };
  return { handler, bound, connect };
}

/** A connection with a query that waits. */
async function startBusy(bounds: Bounds = {}) {
  const started = await start(bounds);
  const busy = await started.connect();
  busy.send(ask(1, "wait"));
  await started.handler.has(1);
  return { ...started, busy };
}

it("messages are the same in any division into segments (RFC 7766 section 8)", () => {
  const bytes = fc.uint8Array({ maxLength: 300 });
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 8 }), fc.array(fc.nat(2000)), (messages, offsets) => {
      const framer = new MessageFramer(300);
      const found: number[][] = [];
      for (const part of cutAt(Buffer.concat(messages.map(frameMessage)), offsets)) {
        framer.push(part);
        for (let message = framer.next(); message !== undefined; message = framer.next())
          found.push([...message]);
      }
      expect(found).toEqual(messages.map((message) => [...message]));
    }),
  );
});

describe("a connection (RFC 7766 section 6.2.1)", () => {
  it("answers out of order: a pending query does not delay others (section 6.2.1.1)", async () => {
    const { handler, connect } = await start();
    const client = await connect();
    client.send(ask(1, "wait"), ask(2), ask(3, "wait"), ask(4));
    expect([idOf(await client.next()), idOf(await client.next())]).toEqual([2, 4]);
    await handler.release(3);
    expect(idOf(await client.next())).toBe(3);
    await handler.release(1);
    expect(idOf(await client.next())).toBe(1);
  });

  it("leaves queries unread while too many are pending", async () => {
    const { handler, connect } = await start({ queriesPerConnection: 2 });
    const client = await connect();
    client.send(ask(1, "wait"), ask(2, "wait"), ask(3, "wait"), ask(4));
    await handler.release(2);
    expect(idOf(await client.next())).toBe(2);
    expect(handler.handled).toBe(3);
    await handler.release(1);
    expect([idOf(await client.next()), idOf(await client.next())].sort()).toEqual([1, 4]);
    await handler.release(3);
    expect(idOf(await client.next())).toBe(3);
    expect(hits()).toHaveProperty(["dns.queriesPerConnection"]);
  });

  it.each([
    ["TCP", false],
    ["TLS", true],
  ])("over %s sends all answers to a client that closed its half, then closes", async (_, isSecure) => {
    const { handler, connect } = await start({}, isSecure);
    const client = await connect();
    client.send(ask(1), ask(2, "wait"), ask(3));
    client.socket.end();
    expect([idOf(await client.next()), idOf(await client.next())]).toEqual([1, 3]);
    await handler.release(2);
    expect(idOf(await client.next())).toBe(2);
    expect(await client.next()).toBeUndefined();
  });

  it.each<[string, Uint8Array, string[]]>([
    ["after bytes that are not a query", frameMessage(ask(1, "none")), []],
    ["at the length of a query over the longest", Buffer.from([2, 1]), []],
    ["if answering fails", frameMessage(ask(1, "fail")), ["a bug"]],
  ])("ends, and no other does, %s", async (_, bytes, said) => {
    const { connect } = await start();
    const [client, other] = [await connect(), await connect()];
    client.socket.write(bytes);
    expect(await client.next()).toBeUndefined();
    expect(errors.map(({ message }) => message)).toEqual(said);
    expect(idOf(await other.ask(ask(2)))).toBe(2);
  });
});

describe("an unused connection is closed (RFC 7766 section 6.2.3)", () => {
  it("closes one without queries, and one whose query never ends, byte by byte", async () => {
    const pass = stopClock();
    const { connect } = await start({ idleSeconds: 1 });
    const [silent, slow] = [await connect(), await connect()];
    slow.socket.setNoDelay();
    slow.socket.write(Buffer.from([1, 0]));
    passOn(pass, () => slow.socket.write(Buffer.from([1])));
    expect([await silent.next(), await slow.next()]).toEqual([undefined, undefined]);
    expect(hits()).toEqual({ "dns.idleSeconds": 2 });
  });

  it("stops reading from, and closes, one whose client does not read answers", async () => {
    const pass = stopClock();
    const { handler, connect } = await start({ idleSeconds: 1 });
    const client = await connect();
    client.socket.pause();
    // 20 MB of queries for 2.4 GB of answers; the kernel's buffers hold some megabytes.
    const query = Buffer.concat([ask(1, "large"), Buffer.alloc(500)]);
    for (let sent = 0; sent < 40; sent++) client.send(...new Array<Buffer>(1000).fill(query));
    await until(() => expect(handler.handled).toBeGreaterThan(10));
    let unsent = 0;
    passOn(pass, () => {
      unsent = client.socket.writableLength || unsent;
    });
    // A paused socket detects its end only when it writes.
    await new Promise<void>((resolve) => {
      client.socket.once("error", () => resolve());
      client.socket.once("close", () => resolve());
    });
    expect(unsent).toBeGreaterThan(5_000_000);
    expect(handler.handled).toBeLessThan(2500);
  });

  it("keeps one with queries in time", async () => {
    const pass = stopClock();
    const { connect } = await start({ idleSeconds: 1 });
    const [active, idle] = [await connect(), await connect()];
    expect(idOf(await idle.ask(ask(1)))).toBe(1);
    pass(900);
    expect(idOf(await active.ask(ask(2)))).toBe(2);
    pass(900);
    await idle.closed;
    expect(idOf(await active.ask(ask(3)))).toBe(3);
  });
});

describe("connections are bounded (RFC 7766 section 6.2.2)", () => {
  it("a new connection replaces the longest idle one, and none with pending queries", async () => {
    const { handler, connect, busy } = await startBusy({ connections: 3 });
    const [idle, active] = [await connect(), await connect()];
    expect(idOf(await active.ask(ask(2)))).toBe(2);
    const another = await connect();
    expect(idOf(await another.ask(ask(3)))).toBe(3);
    expect(await idle.next()).toBeUndefined();
    expect(idOf(await active.ask(ask(4)))).toBe(4);
    expect(hits()).toEqual({ "dns.connections": 1 });
    active.send(ask(5, "wait"));
    another.send(ask(6, "wait"));
    await Promise.all([handler.has(5), handler.has(6)]);
    expect(await (await connect()).next()).toBeUndefined();
    await handler.release(1);
    expect(idOf(await busy.next())).toBe(1);
  });

  it("one that never has its handshake is closed before others, after a second", async () => {
    const { bound, connect } = await start({ connections: 2 }, true);
    const active = await connect();
    const silent = await StreamClient.tcp(bound.port);
    clients.push(silent);
    expect(idOf(await active.ask(ask(1)))).toBe(1);
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 1001);
    const another = await connect();
    expect(idOf(await another.ask(ask(2)))).toBe(2);
    expect(await silent.next()).toBeUndefined();
    vi.restoreAllMocks();
    expect(idOf(await active.ask(ask(3)))).toBe(3);
  });

  it("the bound per client closes its longest idle connection, else its new one", async () => {
    const { handler, connect, busy } = await startBusy({ connectionsPerClient: 2 });
    const idle = await connect();
    expect(idOf(await idle.ask(ask(2)))).toBe(2);
    const other = await connect({ localAddress: "127.0.0.2" });
    expect(idOf(await other.ask(ask(3)))).toBe(3);
    const next = await connect();
    expect(await idle.next()).toBeUndefined();
    next.send(ask(4, "wait"));
    await handler.has(4);
    expect(await (await connect()).next()).toBeUndefined();
    expect(hits()).toEqual({ "dns.connectionsPerClient": 2 });
    expect(idOf(await other.ask(ask(5)))).toBe(5);
    await handler.release(1);
    expect(idOf(await busy.next())).toBe(1);
    busy.close();
    await busy.closed;
    let answered: number | undefined;
    while (answered === undefined) answered = idOf(await (await connect()).ask(ask(6)));
    expect(answered).toBe(6);
  });
});

describe("stopping", () => {
  it("sends pending answers, closes idle connections, and accepts no new ones", async () => {
    const { handler, bound, connect, busy } = await startBusy();
    const idle = await connect();
    const stopped = bound.stop(60_000);
    expect(await idle.next()).toBeUndefined();
    await expect(connect()).rejects.toThrow(/ECONNREFUSED/);
    await handler.release(1);
    expect(idOf(await busy.next())).toBe(1);
    expect(await busy.next()).toBeUndefined();
    await stopped;
  });

  it("closes the remaining connections after the grace period", async () => {
    const { bound, busy } = await startBusy();
    await bound.stop(10);
    expect(await busy.next()).toBeUndefined();
  });
});

describe("TLS (RFC 7858)", () => {
  it.each([
    ["TLS 1.3 and ALPN dot", {}, "dot"],
    ["TLS 1.2", { maxVersion: "TLSv1.2" }, "dot"],
    ["dot among others", { ALPNProtocols: ["other", "dot"] }, "dot"],
    ["no ALPN", { ALPNProtocols: undefined }, false],
  ])("accepts %s", async (_, options, protocol) => {
    const { connect } = await start({}, true);
    const client = await connect(options);
    expect((client.socket as unknown as { alpnProtocol: unknown }).alpnProtocol).toBe(protocol);
    client.send(...Array.from({ length: 100 }, (__, id) => ask(id)));
    for (let id = 0; id < 100; id++) expect(idOf(await client.next())).toBe(id);
  });

  it.each([
    ["another protocol", { ALPNProtocols: ["h2"] }],
    ["TLS 1.1", { minVersion: "TLSv1.1", maxVersion: "TLSv1.1" }],
  ])("rejects %s", async (_, options) => {
    const { connect } = await start({}, true);
    await expect(connect(options)).rejects.toThrow(/alert|protocol/i);
    expect(idOf(await (await connect()).ask(ask(1)))).toBe(1);
  });

  const nothing = Buffer.alloc(0);
  it.each([
    ["does not use TLS", Buffer.from("GET / HTTP/1.1\r\n\r\n"), false, {}],
    ["sends nothing", nothing, false, { "limits.handshakeSeconds": 1 }],
    ["sends nothing, and ends its half, as load balancers do", nothing, true, {}],
    ["ends its half in the handshake", Buffer.of(22, 3, 1, 2), true, {}],
  ])("closes a connection that %s", async (_, bytes, ends, counted) => {
    const { bound, connect } = await start({ handshakeSeconds: 0.2 }, true);
    const socket = connectTcp(bound.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.resume();
    socket.write(bytes);
    if (ends) socket.end();
    await new Promise((resolve) => socket.once("close", resolve));
    expect(hits()).toEqual(counted);
    // An own handshake may take longer, too.
    const other = await until(() => connect());
    expect(idOf(await other.ask(ask(1)))).toBe(1);
  });
});
