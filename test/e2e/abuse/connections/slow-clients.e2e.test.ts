import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type ListeningGateway,
  startListeningGateway,
  WEB,
  WEB_ADDRESSES,
} from "../../clients/listening-gateway.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { Bystander } from "../harness/bystander.ts";
import { MemoryWatch } from "../harness/memory.ts";
import { ATTACKER, dripUntilClosed, openTcp, openTls } from "../harness/slow-client.ts";
import { headerBlock } from "../http2/header-block.ts";
import { Flag, FrameType, frame, RawHttp2Connection, settings } from "../http2/http2-frames.ts";

const LIMITS = { requestSeconds: 1, handshakeSeconds: 1, idleSeconds: 2 };
/** Sockets, buffers and TLS states of the clients of one test, all of which are gone at its end. */
const MOST_GROWTH_MEBIBYTES = 64;
const CLIENTS = 20;

const PREFACE = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), settings()]);
const POST = "POST /dns-query HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/dns-message\r\n";
const WHOLE = Flag.END_HEADERS | Flag.END_STREAM;
const SENT = { "content-type": "application/dns-message", "content-length": "100" };

let listening: ListeningGateway;
let clear: GatewayProcess;
let gateway: GatewayProcess;
let port: number;
beforeAll(async () => {
  listening = await startListeningGateway({ config: { limits: LIMITS } });
  gateway = listening.gateway;
  port = Number(new URL(gateway.url).port);
  clear = await startGateway({ tls: false, config: { limits: LIMITS } });
});
afterAll(async () => {
  await gateway?.stop();
  await clear?.stop();
});

let bystander: Bystander;
let memory: MemoryWatch;
beforeEach(async () => {
  bystander = await Bystander.start(gateway, { name: WEB, addresses: WEB_ADDRESSES });
  memory = new MemoryWatch(gateway.process.pid);
});
afterEach(async () => {
  await bystander.answered(1);
  await bystander.stop();
  expect(memory.stop()).toBeLessThan(MOST_GROWTH_MEBIBYTES);
  expect(gateway.process.log()).not.toMatch(/"level":"(?:error|fatal)"/);
});

const tls = (protocol?: "h2" | "http/1.1") => () => openTls(port, gateway.ca, protocol);
const tcp = () => openTcp(port);
const inClear = () => openTcp(Number(new URL(clear.url).port));
const push = () =>
  `PUT /api/v1/clusters/cluster-a/snapshot HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\nauthorization: Bearer ${gateway.tokenFor("cluster-a")}\r\n`;

/** Headers on the first stream of an HTTP/2 connection. */
const headers = (flags: number, length = 0) => {
  const block = headerBlock("POST", "/dns-query", SENT);
  const whole = frame(FrameType.HEADERS, flags, 1, block);
  whole.writeUIntBE(block.length + length, 0, 3);
  return Buffer.concat([PREFACE, whole]);
};

/** What a client opens, what it sends at once, and what it goes on with byte by byte. */
const slow: [string, () => Promise<Socket>, () => string | Buffer, string?][] = [
  ["nothing after the TCP connection", tcp, () => "", ""],
  ["a ClientHello", tcp, () => Buffer.of(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc)],
  ["nothing after the TLS handshake, without a protocol", tls(), () => "", ""],
  ["nothing after the TLS handshake, HTTP/1.1", tls("http/1.1"), () => "", ""],
  ["nothing after the TLS handshake, HTTP/2", tls("h2"), () => "", ""],
  ["an HTTP/1.1 request line", tls("http/1.1"), () => "GET /"],
  ["HTTP/1.1 fields without end", tls("http/1.1"), () => "GET / HTTP/1.1\r\n", "a: b\r\n"],
  ["an HTTP/1.1 body", tls("http/1.1"), () => `${POST}content-length: 60000\r\n\r\n`],
  [
    "an HTTP/1.1 body in chunks",
    tls("http/1.1"),
    () => `${POST}transfer-encoding: chunked\r\n\r\n`,
    "1\r\nx\r\n",
  ],
  ["an HTTP/1.1 body that stops", tls("http/1.1"), () => `${POST}content-length: 60000\r\n\r\nabc`, ""],
  ["a push with a valid credential", tls("http/1.1"), () => `${push()}content-length: 60000\r\n\r\n{`, " "],
  ["half of the preface of HTTP/2", tls("h2"), () => PREFACE.subarray(0, 12), ""],
  ["a frame of HTTP/2", tls("h2"), () => Buffer.concat([PREFACE, frame(0x42, 0, 0).fill(0x40, 1, 2)]), "\0"],
  ["HTTP/2 headers, within a frame", tls("h2"), () => headers(Flag.END_HEADERS, 4000), "\0"],
  ["HTTP/2 headers that CONTINUATION never ends", tls("h2"), () => headers(0), ""],
  ["an HTTP/2 body that stops", tls("h2"), () => headers(Flag.END_HEADERS), ""],
  ["nothing in clear", inClear, () => "", ""],
  ["fields in clear", inClear, () => "GET / HTTP/1.1\r\n", "a: b\r\n"],
  ["a body in clear", inClear, () => `${POST}content-length: 60000\r\n\r\n`],
];

describe("clients that send slowly are disconnected, and others are answered meanwhile", () => {
  test.each(slow)("%s", async (_, open, atOnce, then) => {
    const sockets = await Promise.all(Array.from({ length: CLIENTS }, open));
    const all = Promise.all(sockets.map((socket) => dripUntilClosed(socket, atOnce(), then)));
    await bystander.answered(1);
    for (const received of await all) expect(received).not.toMatch(/^HTTP\/1.1 [25]/);
  });

  test("an HTTP/2 body that arrives byte by byte does not block other requests", async () => {
    const connection = await RawHttp2Connection.open({ port, ca: gateway.ca, localAddress: ATTACKER });
    let isReset = false;
    let answers = 0;
    connection.onFrame = ({ type, stream }) => {
      if (stream === 1) isReset ||= type === FrameType.RST_STREAM;
      else if (type === FrameType.DATA) answers++;
    };
    connection.send(frame(FrameType.HEADERS, Flag.END_HEADERS, 1, headerBlock("POST", "/dns-query", SENT)));
    for (let stream = 3; !isReset; stream += 2) {
      const get = frame(FrameType.HEADERS, WHOLE, stream, headerBlock("GET", "/healthz"));
      connection.send(frame(FrameType.DATA, 0, 1, Buffer.of(0)), get);
      await sleep(100);
      expect(connection.isOpen).toBe(true);
    }
    expect(answers).toBeGreaterThan(0);
    connection.close();
  });
});
