import type { Socket } from "node:net";
import { availableParallelism } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { memoryLimit } from "../../../../src/hosts/node/process.ts";
import { autoThreads, cpuLimit } from "../../../../src/hosts/node/threads/thread-count.ts";
import {
  type ListeningGateway,
  startListeningGateway,
  WEB,
  WEB_ADDRESSES,
} from "../../clients/listening-gateway.ts";
import { eventually } from "../../harness/answers.ts";
import { Bystander } from "../harness/bystander.ts";
import { heldMebibytes, MEASURED, socketsOf } from "../harness/held.ts";
import { openTcp, openTls } from "../harness/slow-client.ts";

const CONNECTIONS = 300;
const LIMITS = { connections: CONNECTIONS, handshakeSeconds: 5, requestSeconds: 5, idleSeconds: 5 };
/** How many threads answer, each with six listeners. */
const THREADS = autoThreads({
  cores: availableParallelism(),
  cpus: cpuLimit(),
  memoryBytes: memoryLimit(),
});
/** Those that listen, those that are being closed, and those of ordinary clients. */
const OTHER_SOCKETS = 6 * THREADS + 8;
/** A thousand connections of which something stays would show. */
const MOST_GROWTH_MEBIBYTES = 64;
const QUESTION = { name: WEB, addresses: WEB_ADDRESSES };

describe("more connections than there are places for", () => {
  let listening: ListeningGateway;
  let port: number;
  let ca: string;
  beforeAll(async () => {
    listening = await startListeningGateway({ env: MEASURED, config: { limits: LIMITS } });
    port = Number(new URL(listening.gateway.url).port);
    ca = listening.gateway.ca;
  });
  afterAll(() => listening?.gateway.stop());

  const floods: [string, number, () => Promise<Socket>][] = [
    ["silent after TCP", 3000, () => openTcp(port)],
    ["silent after the TLS handshake, HTTP/2", 1000, () => openTls(port, ca, "h2")],
    ["silent after the TLS handshake, HTTP/1.1", 1000, () => openTls(port, ca, "http/1.1")],
  ];
  test.each(floods)("%s: %i of them are bounded, and leave room for new ones", async (_, count, open) => {
    const { gateway } = listening;
    const pid = gateway.process.pid!;
    const held = await heldMebibytes(gateway);
    // Its connection is there before; new ones are turned away while every place is taken.
    const kept = await Bystander.start(gateway, QUESTION, { opensConnections: false });
    const sockets: Promise<Socket | undefined>[] = [];
    let most = 0;
    for (let opened = 0; opened < count; opened++) {
      sockets.push(open().catch(() => undefined));
      if (opened % 100 !== 99) continue;
      await Promise.race([Promise.allSettled(sockets), kept.answered(1)]);
      most = Math.max(most, socketsOf(pid));
    }
    expect(most).toBeGreaterThan(CONNECTIONS / 3);
    expect(most).toBeLessThanOrEqual(CONNECTIONS + OTHER_SOCKETS);
    await kept.answered(1);
    // All of them are closed by the gateway, so that there is room again.
    for (const socket of await Promise.all(sockets))
      if (socket !== undefined && !socket.destroyed)
        await new Promise((resolve) => socket.once("close", resolve));
    await eventually(() => socketsOf(pid)).toBeLessThan(OTHER_SOCKETS);
    const fresh = await Bystander.start(gateway, QUESTION);
    await Promise.all([kept.stop(), fresh.stop()]);
    expect((await heldMebibytes(gateway)) - held).toBeLessThan(MOST_GROWTH_MEBIBYTES);
    expect(gateway.process.log()).not.toMatch(/"level":"(?:error|fatal)"/);
  });
});
