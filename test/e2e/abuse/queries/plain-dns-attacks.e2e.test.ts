import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { type ListeningGateway, startListeningGateway, WEB } from "../../clients/listening-gateway.ts";
import { queryBytes } from "../../servers/dns.ts";
import { carryOut, type Onset } from "../harness/attack.ts";
import { overPlainDns } from "../harness/bystanders.ts";
import { type GatewayWatch, watchGateway } from "../harness/gateway-watch.ts";
import { MEASURED } from "../harness/held.ts";
import { cutAtRandom } from "../harness/random.ts";
import { type Ending, RawClient } from "../harness/raw-client.ts";
import { brokenTls, messageSequence, mutatedDatagram, pipelinedQueries } from "./stream-bytes.ts";

/**
 * Another seed gives other sequences: ABUSE_SEED=$RANDOM. One connection of a seed again: ABUSE_SEED=<it>
 * ABUSE_SEQUENCES=1.
 */
const SEED = Number(process.env.ABUSE_SEED ?? 20_261_122);
const SEQUENCES = Number(process.env.ABUSE_SEQUENCES ?? 4_000);
const DATAGRAMS = Number(process.env.ABUSE_SEQUENCES ?? 10_000);
const CONNECTIONS = 4;
const MOST_IN_ONE_WRITE = 8;
/** Datagrams of one socket, which is closed before all answers are there. */
const DATAGRAMS_OF_SOCKET = 100;
const LAST_ID = 0xfffe;
/** How long a client waits for an answer, or for the end of a connection that it has ended. */
const PATIENCE_MS = 500;
const MOST_GROWTH_MEBIBYTES = 96;
const ENDINGS: readonly Ending[] = ["half-close", "half-close", "close", "reset"];

describe("plain DNS over TCP, TLS and UDP: malformed bytes end at most their connection", () => {
  let listening: ListeningGateway;
  let watch: GatewayWatch;
  beforeAll(async () => {
    const limits = { requestSeconds: 10, responseSeconds: 3, idleSeconds: 15 };
    listening = await startListeningGateway({ env: MEASURED, config: { limits } });
    watch = await watchGateway(listening.gateway, ...overPlainDns(listening));
  });
  afterAll(() => listening?.gateway.stop());

  const carry = (title: string, sequences: number, play: (onset: Onset) => Promise<number>) =>
    carryOut({ gateway: listening.gateway, title, seed: SEED, sequences, connections: CONNECTIONS, play });
  const tcp = () => RawClient.open({ port: listening.dnsPort });
  const dot = () => RawClient.open({ port: listening.dotPort, ca: listening.gateway.ca, protocol: "dot" });

  describe.each([
    ["TCP", tcp],
    ["TLS", dot],
  ])("over %s", (transport, open) => {
    test("thousands of queries in one write, and the end in each way", async () => {
      for (let turn = 0; turn < 40; turn++) {
        const client = await open();
        await client.send(pipelinedQueries(2000));
        await client.end(ENDINGS[turn % ENDINGS.length]!, PATIENCE_MS);
      }
      await watch.answered();
    });

    test(`${SEQUENCES} mutated sequences with the seed ${SEED}`, async () => {
      await carry(`mutated DNS over ${transport}`, SEQUENCES, async ({ random, sending }) => {
        const client = await open();
        let sent = 0;
        while (client.isOpen && !random.once(2)) {
          const count = 1 + random.below(MOST_IN_ONE_WRITE);
          const bytes = Buffer.concat(Array.from({ length: count }, () => messageSequence(random)));
          sending(bytes);
          for (const piece of random.once(3) ? cutAtRandom(random, bytes, 6) : [bytes])
            await client.send(piece);
          sent += count;
        }
        await client.end(random.pick(ENDINGS), PATIENCE_MS);
        return sent;
      });
      await watch.answered();
    });
  });

  test("broken TLS: garbage, incomplete handshakes, alerts and records in the middle", async () => {
    const { dotPort, gateway } = listening;
    for (const port of [dotPort, Number(new URL(gateway.url).port)])
      await carry(`broken TLS at ${port === dotPort ? "DNS" : "HTTPS"}`, 400, async ({ random, sending }) => {
        const inTheMiddle = random.once(2);
        const client = await RawClient.open({ port, ...(inTheMiddle && { ca: gateway.ca }) });
        if (inTheMiddle && random.once(2)) await client.send(pipelinedQueries(random.below(50)));
        const bytes = brokenTls(random);
        sending(bytes);
        client.sendBelow(bytes);
        await client.end(random.pick(ENDINGS), PATIENCE_MS);
        return 1;
      });
    await watch.answered();
  });

  test(`${DATAGRAMS} mutated datagrams with the seed ${SEED}`, async () => {
    await carry("mutated datagrams", DATAGRAMS, async ({ random, sending }) => {
      const socket = createSocket("udp4");
      socket.connect(listening.dnsPort, "127.0.0.1");
      await once(socket, "connect");
      for (let left = DATAGRAMS_OF_SOCKET; left > 1; left--) {
        const datagram = mutatedDatagram(random);
        sending(datagram);
        socket.send(datagram);
      }
      socket.send(queryBytes({ name: WEB, type: "A" }, LAST_ID));
      // Some wait until the gateway has come so far, and some are gone before there is an answer.
      if (random.once(4)) await new Promise((resolve) => socket.send(Buffer.of(0), resolve));
      else await Promise.race([answerTo(socket, LAST_ID), sleep(PATIENCE_MS)]);
      socket.close();
      return DATAGRAMS_OF_SOCKET;
    });
    await watch.answered();
  });

  test("other clients were answered meanwhile, and the process, its sockets and its memory are unchanged", () =>
    watch.end(MOST_GROWTH_MEBIBYTES));
});

/** Resolves when an answer with this ID comes. */
function answerTo(socket: Socket, id: number): Promise<void> {
  return new Promise((resolve) => {
    socket.on("message", (answer) => {
      if (answer.readUInt16BE(0) === id) resolve();
    });
  });
}
