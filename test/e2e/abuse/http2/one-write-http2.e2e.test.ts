import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ListeningGateway,
  startListeningGateway,
  WEB,
  WEB_ADDRESSES,
} from "../../clients/listening-gateway.ts";
import type { GatewayProcess } from "../../harness/processes.ts";
import { Bystander } from "../harness/bystander.ts";
import { GatewayWatch } from "../harness/gateway-watch.ts";
import { MEASURED } from "../harness/held-memory.ts";
import { cutAtRandom, Random } from "../harness/random.ts";
import { ATTACKER } from "../harness/slow-client.ts";
import { RawHttp2Connection } from "./http2-frames.ts";
import { type Http2Request, http2Requests } from "./http2-requests.ts";
import { type Violation, violations } from "./http2-violations.ts";

/** Another seed gives other mixtures and cuts: ABUSE_SEED=$RANDOM. */
const SEED = Number(process.env.ABUSE_SEED ?? 20_261_122);
/** More than the streams that a connection may have at the same time. */
const REQUESTS = 200;
const MIXTURES = 40;
/** How long a client waits for the answer to a PING where its frames may be cut off. */
const PATIENCE_MS = 300;
/** Buffers and compiled code; what is kept of a few thousand requests would show only above this. */
const MOST_GROWTH_MEBIBYTES = 128;

let listening: ListeningGateway;
let gateway: GatewayProcess;
let watch: GatewayWatch;
let requests: readonly Http2Request[];
beforeAll(async () => {
  listening = await startListeningGateway({
    env: MEASURED,
    config: { limits: { requestSeconds: 2, responseSeconds: 3, idleSeconds: 15 } },
  });
  gateway = listening.gateway;
  requests = http2Requests(gateway.tokenFor("cluster-b"));
  const question = { name: WEB, addresses: WEB_ADDRESSES };
  watch = await GatewayWatch.start(gateway, () => Bystander.start(gateway, question));
  console.log(`ABUSE_SEED=${SEED}`);
});
afterAll(() => gateway?.stop());

const open = () =>
  RawHttp2Connection.open({
    port: Number(new URL(gateway.url).port),
    ca: gateway.ca,
    localAddress: ATTACKER,
  });

/** Sends pieces, each in a write and a TLS record of its own, and waits until the gateway has read them or ended the connection. */
async function deliver(
  pieces: readonly Buffer[],
  isAcknowledged: boolean,
  end?: Violation["end"],
): Promise<void> {
  const connection = await open();
  if (isAcknowledged) await connection.roundTrip();
  for (const piece of pieces) await connection.sendAndDrain(piece);
  end?.(connection);
  await connection.roundTrip(PATIENCE_MS);
  connection.close();
}

const framesOf = (kinds: readonly Http2Request[]) =>
  kinds.flatMap((kind, index) => kind.frames(2 * index + 1));
const mixtureOf = (random: Random) => Array.from({ length: REQUESTS }, () => random.pick(requests));

describe("hundreds of requests in one write, more than there may be streams, end nothing but their connection", () => {
  test("of each kind, before and after SETTINGS are acknowledged", { timeout: 300_000 }, async () => {
    for (const kind of requests) {
      const batch = Buffer.concat(framesOf(new Array<Http2Request>(REQUESTS).fill(kind)));
      await Promise.all([false, true, true].map((isAcknowledged) => deliver([batch], isAcknowledged)));
      expect([kind.title, gateway.process.isRunning]).toEqual([kind.title, true]);
    }
    await watch.answered();
  });

  test("of all kinds together, in one write and cut at random places", async () => {
    for (let index = 0; index < MIXTURES; index++) {
      const random = new Random(SEED + index);
      const batch = Buffer.concat(framesOf(mixtureOf(random)));
      await Promise.all([
        deliver([batch], false),
        deliver([batch], true),
        deliver(cutAtRandom(random, batch, 20), index % 2 === 0),
      ]);
      expect([SEED + index, gateway.process.isRunning]).toEqual([SEED + index, true]);
    }
    await watch.answered();
  });

  test.each(violations)("together with $title", async ({ title, frames, end }) => {
    const random = new Random(SEED + title.length);
    for (let turn = 0; turn < 4; turn++) {
      const before = framesOf(mixtureOf(random));
      const middle = random.below(before.length);
      const forbidden = frames === undefined ? [] : [frames];
      const inTheMiddle = Buffer.concat([...before.slice(0, middle), ...forbidden, ...before.slice(middle)]);
      const atTheEnd = Buffer.concat([...before, ...forbidden]);
      await Promise.all([
        deliver([inTheMiddle], turn % 2 === 0, end),
        deliver([atTheEnd], turn % 2 === 0, end),
        deliver(cutAtRandom(random, inTheMiddle, 8), turn % 2 === 0, end),
      ]);
      expect([title, gateway.process.isRunning]).toEqual([title, true]);
    }
  });

  test("other clients were answered meanwhile, and the process, its sockets and its memory are unchanged", () =>
    watch.end(MOST_GROWTH_MEBIBYTES));
});
