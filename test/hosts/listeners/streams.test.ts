import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { Listener } from "../../../src/hosts/node/listen.ts";
import { Connections, listenStream } from "../../../src/hosts/node/listeners/stream.ts";
import type { AnswerMessage } from "../../../src/hosts/node/listeners/udp.ts";
import { keepSelfSigned, type TlsIdentity } from "../../../src/hosts/node/tls.ts";
import { ClientNetworks } from "../../../src/limits/client-rate.ts";
import { ConnectionErrors, LimitCounters, ownCount } from "../../../src/limits/counters.ts";
import { SharedClientCounts } from "../../../src/limits/shared.ts";
import type { Answer } from "../../../src/resolve/record-writer.ts";
import { folderOfTests } from "../../folders.ts";
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
afterEach(async () => {
  vi.restoreAllMocks();
  clearInterval(passing);
  for (const client of clients.splice(0)) client.close();
  await Promise.all(running.splice(0).map((one) => one.stop(0)));
  errors = [];
  limits = new LimitCounters();
});

let passing: NodeJS.Timeout | undefined;
/**
 * Lets time pass for the server as fast as this process comes on, until the test ends.
 * @param turn called before each 20 ms of it
 */
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
    const answer = (sent: Uint8Array<ArrayBuffer>): Answer => ({
      bytes: sent,
      outcome: "answer",
      freshness: 0,
    });
    switch (String.fromCharCode(bytes[2]!)) {
      case "n":
        return undefined;
      case "f":
        throw new Error("a bug");
      case "l":
        return answer(new Uint8Array(60_000));
      case "w":
        return new Promise((resolve) => {
          this.waiting.set((bytes[0]! << 8) | bytes[1]!, () => resolve(answer(bytes)));
        });
      default:
        return answer(bytes);
    }
  };

  /** Answers pending queries after they have arrived. */
  async release(id: number): Promise<void> {
    await this.until(() => this.waiting.has(id));
    this.waiting.get(id)!();
  }

  until(condition: () => boolean): Promise<void> {
    return until(() => expect(condition()).toBe(true));
  }
}

interface Bounds {
  readonly connections?: number;
  readonly connectionsPerClient?: number;
  readonly idleSeconds?: number;
  readonly queriesPerConnection?: number;
}

function connectionsOf(bounds: Bounds & { readonly handshakeSeconds?: number }): Connections {
  const { handshakeSeconds = 10, ...settings } = bounds;
  return new Connections({
    kind: "dns",
    settings: {
      connections: 100,
      connectionsPerClient: 100,
      idleSeconds: 60,
      queriesPerConnection: 100,
      ...settings,
    },
    limits: { queryBytes: 512, handshakeSeconds },
    counters: { limits, errors: new ConnectionErrors() },
    onError: (error) => errors.push(error as Error),
    networks: new ClientNetworks({ exempt: [], ipv4PrefixBits: 32, ipv6PrefixBits: 64 }),
    open: {
      all: ownCount("dns.connections"),
      clients: new SharedClientCounts(SharedClientCounts.allocate(100, 1), 0),
    },
  });
}

async function start(bounds: Bounds = {}) {
  const handler = new Handler();
  const bound = await listenStream("127.0.0.1", 0, handler.handle, connectionsOf(bounds));
  running.push(bound);
  const connect = async (localAddress?: string) => {
    const client = await StreamClient.tcp(bound.port, localAddress === undefined ? {} : { localAddress });
    clients.push(client);
    return client;
  };
  return { handler, bound, connect };
}

async function startTls(bounds: Bounds & { handshakeSeconds?: number } = {}) {
  const handler = new Handler();
  const bound = await listenStream("127.0.0.1", 0, handler.handle, connectionsOf(bounds), tls);
  running.push(bound);
  const connect = async (options: object = {}) => {
    const client = await StreamClient.tls(bound.port, { ca: tls.cert, ALPNProtocols: ["dot"], ...options });
    clients.push(client);
    return client;
  };
  return { handler, bound, connect };
}

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
    await handler.until(() => handler.handled > 0);
    await handler.release(2);
    expect(idOf(await client.next())).toBe(2);
    expect(handler.handled).toBe(3);
    await handler.release(1);
    expect([idOf(await client.next()), idOf(await client.next())].sort()).toEqual([1, 4]);
    await handler.release(3);
    expect(idOf(await client.next())).toBe(3);
    expect(hits()).toHaveProperty(["dns.queriesPerConnection"]);
  });

  it("sends all answers to a client that closed its half, then closes", async () => {
    const { handler, connect } = await start();
    const client = await connect();
    client.send(ask(1), ask(2, "wait"), ask(3));
    client.socket.end();
    expect([idOf(await client.next()), idOf(await client.next())]).toEqual([1, 3]);
    await handler.release(2);
    expect(idOf(await client.next())).toBe(2);
    expect(await client.next()).toBeUndefined();
  });

  it.each([
    ["bytes that are not a query", [ask(1, "none")]],
    ["a query over the longest length", [new Uint8Array(513)]],
  ])("ends after %s", async (_, messages) => {
    const { connect } = await start();
    const client = await connect();
    client.send(...messages);
    expect(await client.next()).toBeUndefined();
    expect(errors).toEqual([]);
  });

  it("ends, and no other does, if answering fails", async () => {
    const { connect } = await start();
    const [client, other] = [await connect(), await connect()];
    client.send(ask(1, "fail"));
    expect(await client.next()).toBeUndefined();
    expect(errors.map(({ message }) => message)).toEqual(["a bug"]);
    expect(idOf(await other.ask(ask(2)))).toBe(2);
  });
});

describe("an unused connection is closed (RFC 7766 section 6.2.3)", () => {
  it("closes one without queries", async () => {
    const pass = stopClock();
    const { connect } = await start({ idleSeconds: 1 });
    const client = await connect();
    passOn(pass);
    expect(await client.next()).toBeUndefined();
    expect(hits()).toEqual({ "dns.idleSeconds": 1 });
  });

  it("closes one whose query never ends, byte by byte", async () => {
    const pass = stopClock();
    const { connect } = await start({ idleSeconds: 1 });
    const client = await connect();
    client.socket.setNoDelay();
    client.socket.write(Buffer.from([1, 0]));
    passOn(pass, () => client.socket.write(Buffer.from([1])));
    expect(await client.next()).toBeUndefined();
  });

  it("stops reading from, and closes, one whose client does not read answers", async () => {
    const pass = stopClock();
    const { handler, connect } = await start({ idleSeconds: 1 });
    const client = await connect();
    client.socket.pause();
    // 20 MB of queries for 2.4 GB of answers; the kernel's buffers hold some megabytes.
    const query = Buffer.concat([ask(1, "large"), Buffer.alloc(500)]);
    for (let sent = 0; sent < 40; sent++) client.send(...new Array<Buffer>(1000).fill(query));
    await handler.until(() => handler.handled > 10);
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
  it("a new connection replaces the longest idle one", async () => {
    const { handler, connect } = await start({ connections: 3 });
    const [busy, idle, active] = [await connect(), await connect(), await connect()];
    busy.send(ask(1, "wait"));
    await handler.until(() => handler.waiting.has(1));
    expect(idOf(await active.ask(ask(2)))).toBe(2);
    const another = await connect();
    expect(idOf(await another.ask(ask(3)))).toBe(3);
    expect(await idle.next()).toBeUndefined();
    expect(idOf(await active.ask(ask(4)))).toBe(4);
    expect(hits()).toEqual({ "dns.connections": 1 });
    await handler.release(1);
    expect(idOf(await busy.next())).toBe(1);
  });

  it("one that never has its handshake is closed before others, after a second", async () => {
    const { bound, connect } = await startTls({ connections: 2 });
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

  it("a connection with pending queries is not closed", async () => {
    const { handler, connect } = await start({ connections: 1 });
    const busy = await connect();
    busy.send(ask(1, "wait"));
    await handler.until(() => handler.waiting.has(1));
    expect(await (await connect()).next()).toBeUndefined();
    await handler.release(1);
    expect(idOf(await busy.next())).toBe(1);
  });

  it("the bound per client counts only open connections", async () => {
    const { connect } = await start({ connectionsPerClient: 1 });
    const first = await connect("127.0.0.1");
    expect(idOf(await first.ask(ask(1)))).toBe(1);
    expect(await (await connect("127.0.0.1")).next()).toBeUndefined();
    expect(hits()).toEqual({ "dns.connectionsPerClient": 1 });
    expect(idOf(await (await connect("127.0.0.2")).ask(ask(2)))).toBe(2);
    first.close();
    await first.closed;
    let answered: number | undefined;
    while (answered === undefined) answered = idOf(await (await connect("127.0.0.1")).ask(ask(3)));
    expect(answered).toBe(3);
  });
});

describe("stopping", () => {
  it("sends pending answers, closes idle connections, and accepts no new ones", async () => {
    const { handler, bound, connect } = await start();
    const [busy, idle] = [await connect(), await connect()];
    busy.send(ask(1, "wait"));
    await handler.until(() => handler.waiting.has(1));
    const stopped = bound.stop(60_000);
    expect(await idle.next()).toBeUndefined();
    await expect(connect()).rejects.toThrow(/ECONNREFUSED/);
    await handler.release(1);
    expect(idOf(await busy.next())).toBe(1);
    expect(await busy.next()).toBeUndefined();
    await stopped;
  });

  it("closes the remaining connections after the grace period", async () => {
    const { handler, bound, connect } = await start();
    const busy = await connect();
    busy.send(ask(1, "wait"));
    await handler.until(() => handler.waiting.has(1));
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
    const { connect } = await startTls();
    const client = await connect(options);
    expect((client.socket as unknown as { alpnProtocol: unknown }).alpnProtocol).toBe(protocol);
    client.send(...Array.from({ length: 100 }, (__, id) => ask(id)));
    for (let id = 0; id < 100; id++) expect(idOf(await client.next())).toBe(id);
  });

  it.each([
    ["another protocol", { ALPNProtocols: ["h2"] }],
    ["TLS 1.1", { minVersion: "TLSv1.1", maxVersion: "TLSv1.1" }],
  ])("rejects %s", async (_, options) => {
    const { connect } = await startTls();
    await expect(connect(options)).rejects.toThrow(/alert|protocol/i);
    expect(idOf(await (await connect()).ask(ask(1)))).toBe(1);
  });

  it.each([
    ["does not use TLS", Buffer.from("GET / HTTP/1.1\r\n\r\n"), {}],
    ["sends nothing", Buffer.alloc(0), { "limits.handshakeSeconds": 1 }],
  ])("closes a connection that %s", async (_, bytes, counted) => {
    const { bound, connect } = await startTls({ handshakeSeconds: 0.2 });
    const socket = connectTcp(bound.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.resume();
    socket.write(bytes);
    await new Promise((resolve) => socket.once("close", resolve));
    expect(hits()).toEqual(counted);
    // An own handshake may take longer, too.
    const other = await until(() => connect());
    expect(idOf(await other.ask(ask(1)))).toBe(1);
  });

  it("uses a replaced certificate for new connections", async () => {
    const { bound, connect } = await startTls();
    const before = await connect();
    const next = await keepSelfSigned(join(folder, "next"), "localhost", Date.now());
    bound.renew!(next);
    expect(idOf(await (await connect({ ca: next.cert })).ask(ask(1)))).toBe(1);
    await expect(connect()).rejects.toThrow(/certificate/);
    expect(idOf(await before.ask(ask(2)))).toBe(2);
  });
});
