import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BIG,
  type ListeningGateway,
  startListeningGateway,
  WEB,
  WEB_ADDRESSES,
} from "../../clients/listening-gateway.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { queryBytes } from "../../servers/dns.ts";
import { Bystander } from "../harness/bystander.ts";
import { MemoryWatch } from "../harness/memory.ts";
import { ATTACKER, openTcp } from "../harness/slow-client.ts";
import { headerBlock } from "../http2/header-block.ts";
import { Flag, FrameType, frame, RawHttp2Connection, Setting, uint32 } from "../http2/http2-frames.ts";

const LIMITS = { requestSeconds: 1, responseSeconds: 1, idleSeconds: 2 };
const WHOLE = Flag.END_HEADERS | Flag.END_STREAM;
/** Answers that wait count, too: 100 streams of 5 kB for each of ten connections. */
const MOST_GROWTH_MEBIBYTES = 64;

describe("clients that do not read their answers", () => {
  let listening: ListeningGateway;
  let clear: GatewayProcess;
  beforeAll(async () => {
    listening = await startListeningGateway({ config: { limits: LIMITS } });
    clear = await startGateway({ tls: false, config: { limits: LIMITS } });
  });
  afterAll(async () => {
    await listening?.gateway.stop();
    await clear?.stop();
  });

  const big = headerBlock(
    "GET",
    `/dns-query?dns=${queryBytes({ name: BIG, type: "A", edns: true }, 0).toString("base64url")}`,
  );
  const open = () =>
    RawHttp2Connection.open({
      port: Number(new URL(listening.gateway.url).port),
      ca: listening.gateway.ca,
      localAddress: ATTACKER,
      settings: { [Setting.INITIAL_WINDOW_SIZE]: 0 },
    });
  const question = { name: WEB, addresses: WEB_ADDRESSES };

  test("HTTP/2 connections with empty windows are closed", async () => {
    const { gateway } = listening;
    const bystander = await Bystander.start(gateway, question);
    const memory = new MemoryWatch(gateway.process.pid);
    const connections = await Promise.all(Array.from({ length: 10 }, open));
    for (const connection of connections)
      for (let stream = 1; stream < 200; stream += 2)
        connection.send(frame(FrameType.HEADERS, WHOLE, stream, big));
    await bystander.answered(1);
    await Promise.all(connections.map(({ closed }) => closed));
    expect(memory.stop()).toBeLessThan(MOST_GROWTH_MEBIBYTES);
    await bystander.stop();
  });

  test("a stream whose answer is not read is reset, and other streams of the connection continue", async () => {
    const bystander = await Bystander.start(listening.gateway, question);
    const connection = await open();
    let isReset = false;
    connection.onFrame = ({ type, stream }) => {
      isReset ||= stream === 1 && type === FrameType.RST_STREAM;
    };
    connection.send(frame(FrameType.HEADERS, WHOLE, 1, big));
    for (let stream = 3; !isReset && connection.isOpen; stream += 2) {
      const get = frame(FrameType.HEADERS, WHOLE, stream, headerBlock("GET", "/healthz"));
      connection.send(get, frame(FrameType.WINDOW_UPDATE, 0, stream, uint32(1000)));
      await sleep(100);
    }
    connection.close();
    await bystander.stop();
  });

  test("HTTP/1.1 connections whose client does not read are closed", async () => {
    // The first pages load and compile code, which is not growth by this client.
    for (let page = 0; page < 100; page++) await clear.http("/setup");
    const memory = new MemoryWatch(clear.process.pid);
    const socket = await openTcp(Number(new URL(clear.url).port));
    socket.pause();
    const gone = new Promise((resolve) => socket.once("close", resolve));
    // More than all buffers between here and there take.
    for (let sent = 0; sent < 20_000 && socket.writable; sent++)
      socket.write("GET /setup HTTP/1.1\r\nhost: localhost\r\n\r\n");
    // Who does not read notices the end by what it writes.
    const pulse = setInterval(() => socket.writable && socket.write("\r\n"), 100);
    await gone.finally(() => clearInterval(pulse));
    expect((await clear.http("/healthz")).status).toBe(200);
    // What is read at once, 64 KiB, holds 1,600 such requests, but 16 pages of tens of kilobytes wait at most.
    expect(memory.stop()).toBeLessThan(2 * MOST_GROWTH_MEBIBYTES);
  });
});
