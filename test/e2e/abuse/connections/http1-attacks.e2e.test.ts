import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ListeningGateway, startListeningGateway } from "../../clients/listening-gateway.ts";
import { carryOut, type Onset } from "../harness/attack.ts";
import { inClear, overHttps } from "../harness/bystanders.ts";
import { mutateBytes } from "../harness/byte-mutations.ts";
import { type GatewayWatch, watchGateway } from "../harness/gateway-watch.ts";
import { MEASURED } from "../harness/held.ts";
import { cutAtRandom, Random } from "../harness/random.ts";
import { type Ending, RawClient } from "../harness/raw-client.ts";
import { type Http1Request, http1Requests } from "./http1-requests.ts";

/**
 * Another seed gives other sequences: ABUSE_SEED=$RANDOM. One connection of a seed again: ABUSE_SEED=<it>
 * ABUSE_SEQUENCES=1.
 */
const SEED = Number(process.env.ABUSE_SEED ?? 20_261_122);
const SEQUENCES = Number(process.env.ABUSE_SEQUENCES ?? 2_000);
/**
 * Node does not report the reset of a connection that the gateway does not read: only these limits end it.
 */
const LIMITS = { handshakeSeconds: 5, requestSeconds: 5, responseSeconds: 5, idleSeconds: 5 };
const REQUESTS = 200;
const CONNECTIONS = 4;
const MOST_PIPELINED = 8;
/** How long a client waits for the end of a connection that it has ended. */
const PATIENCE_MS = 500;
const MOST_GROWTH_MEBIBYTES = 96;

describe.each([
  ["over TLS", true],
  ["in clear", false],
])("HTTP/1.1 %s: no bytes end more than their connection", (_, tls) => {
  let listening: ListeningGateway;
  let watch: GatewayWatch;
  let whole: readonly Http1Request[];
  let broken: readonly Http1Request[];
  beforeAll(async () => {
    listening = await startListeningGateway({ tls, env: MEASURED, config: { limits: LIMITS } });
    const { gateway } = listening;
    ({ whole, broken } = http1Requests(gateway.tokenFor("cluster-b")));
    await pipeline(new Array<Http1Request>(REQUESTS).fill(whole[0]!));
    watch = await watchGateway(gateway, tls ? overHttps(listening) : inClear(listening));
  });
  afterAll(() => listening?.gateway.stop());

  const open = () => {
    const { url, ca } = listening.gateway;
    const port = Number(new URL(url).port);
    return RawClient.open({ port, ...(tls && { ca, protocol: "http/1.1" }) });
  };

  /**
   * Sends requests in one write, or in pieces, and waits until the gateway has read them or ended the
   * connection.
   */
  async function pipeline(
    requests: readonly Http1Request[],
    cut = (bytes: Buffer) => [bytes],
  ): Promise<void> {
    const client = await open();
    for (const piece of cut(Buffer.concat(requests.map(({ bytes }) => bytes)))) await client.send(piece);
    await client.end(requests.at(-1)?.end ?? "half-close", PATIENCE_MS);
  }

  test("hundreds of requests of each kind in one write, and before each that is broken, whole and cut at random places", async () => {
    const random = new Random(SEED);
    for (const kind of [...whole, ...broken]) {
      await pipeline(new Array<Http1Request>(REQUESTS).fill(kind));
      const before = Array.from({ length: random.below(REQUESTS) }, () => random.pick(whole));
      await pipeline([...before, kind]);
      await pipeline([...before.slice(-20), kind, ...before], (bytes) => cutAtRandom(random, bytes, 20));
      expect([kind.title, listening.gateway.process.isRunning]).toEqual([kind.title, true]);
    }
    await watch.answered();
  });

  test(`${SEQUENCES} mutated requests with the seed ${SEED}`, async () => {
    const play = async ({ random, sending }: Onset) => {
      const client = await open();
      let sent = 0;
      while (client.isOpen && !random.once(2)) {
        const requests = Array.from({ length: 1 + random.below(MOST_PIPELINED) }, () => {
          const { bytes } = random.pick(random.once(4) ? broken : whole);
          return random.once(2) ? mutateBytes(random, bytes) : bytes;
        });
        const bytes = Buffer.concat([...requests, mutateBytes(random, random.pick(whole).bytes)]);
        sending(bytes);
        for (const piece of random.once(3) ? cutAtRandom(random, bytes, 6) : [bytes])
          await client.send(piece);
        sent += requests.length + 1;
      }
      await client.end(random.pick<Ending>(["half-close", "half-close", "close", "reset"]), PATIENCE_MS);
      return sent;
    };
    const { gateway } = listening;
    const title = `mutated HTTP/1.1 ${tls ? "over TLS" : "in clear"}`;
    await carryOut({ gateway, title, seed: SEED, sequences: SEQUENCES, connections: CONNECTIONS, play });
    await watch.answered();
  });

  test("other clients were answered meanwhile, and the process, its sockets and its memory are unchanged", () =>
    watch.end(MOST_GROWTH_MEBIBYTES));
});
