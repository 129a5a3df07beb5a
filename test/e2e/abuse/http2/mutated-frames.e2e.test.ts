import { afterAll, beforeAll, describe, test } from "vitest";
import {
  type ListeningGateway,
  startListeningGateway,
  WEB,
  WEB_ADDRESSES,
} from "../../clients/listening-gateway.ts";
import { carryOut, type Onset } from "../harness/attack.ts";
import { Bystander } from "../harness/bystander.ts";
import { GatewayWatch } from "../harness/gateway-watch.ts";
import { heldMebibytes, MEASURED } from "../harness/held.ts";
import { ATTACKER } from "../harness/slow-client.ts";
import { mutatedSequence, STREAMS_OF_SEQUENCE } from "./frame-mutations.ts";
import { FrameType, frame, RawHttp2Connection, uint32 } from "./http2-frames.ts";
import { type Http2Request, http2Requests } from "./http2-requests.ts";

/** Another seed gives other sequences: ABUSE_SEED=$RANDOM. One connection of a seed again: ABUSE_SEED=<it> ABUSE_SEQUENCES=1. */
const SEED = Number(process.env.ABUSE_SEED ?? 20_261_122);
const SEQUENCES = Number(process.env.ABUSE_SEQUENCES ?? 5_000);
/**
 * Those before memory is measured: by then the heap and compiled code have their size. From 1,500 connections to 10,500 of them it was between
 * 293 and 383 MiB, without a trend.
 */
const WARM_UP = Math.floor(SEQUENCES / 5);
/** After so many the memory is printed. */
const PART = 100_000;
/** At once. More of them get a long run over sooner: a connection mostly waits for the answer to a PING that never comes. */
const CONNECTIONS = Number(process.env.ABUSE_CONNECTIONS ?? 4);
/** Sequences that leave in one write, and writes of a connection that the gateway does not end. */
const MOST_IN_ONE_WRITE = 24;
const WRITES = 40;
/** How long a client waits for the answer to a PING: frames that are cut off swallow it. */
const PATIENCE_MS = 250;
const MOST_GROWTH_MEBIBYTES = 128;

describe("frames that a seed has mutated", () => {
  let listening: ListeningGateway;
  let requests: readonly Http2Request[];
  beforeAll(async () => {
    listening = await startListeningGateway({
      env: MEASURED,
      config: { ...LONG_LEASES, limits: { requestSeconds: 10, responseSeconds: 3, idleSeconds: 15 } },
    });
    const all = http2Requests(listening.gateway.tokenFor("cluster-b"));
    requests = all.filter(({ isViolation }) => !isViolation);
  });
  afterAll(() => listening?.gateway.stop());

  /** Sends sequences until the gateway ends the connection. Its GOAWAY has the last stream that it read. */
  async function play({ random, sending }: Onset): Promise<number> {
    const { gateway } = listening;
    const port = Number(new URL(gateway.url).port);
    const connection = await RawHttp2Connection.open({ port, ca: gateway.ca, localAddress: ATTACKER });
    let stream = 1;
    let lastStream = 0;
    connection.onFrame = ({ type, payload }) => {
      if (type === FrameType.GOAWAY) lastStream = Math.min(stream, payload.readUInt32BE() & 0x7fffffff);
    };
    for (let write = 0; write < WRITES && connection.isOpen; write++) {
      const parts: Buffer[] = [];
      const firstStream = stream;
      for (let left = 1 + random.below(MOST_IN_ONE_WRITE); left > 0; left--) {
        parts.push(mutatedSequence(random, requests, stream));
        stream += STREAMS_OF_SEQUENCE;
      }
      const bytes = Buffer.concat([...parts, MORE_WINDOW]);
      sending(bytes);
      await connection.sendAndDrain(bytes);
      const isRead = await connection.roundTrip(PATIENCE_MS);
      lastStream = isRead ? stream : Math.max(firstStream, lastStream);
      if (!isRead) break;
    }
    if (random.once(3)) connection.abort();
    else connection.close();
    return Math.ceil(lastStream / STREAMS_OF_SEQUENCE);
  }

  test(`${SEQUENCES} sequences with the seed ${SEED}: the process goes on, and others are answered`, {
    timeout: 1_800_000 * Math.max(1, SEQUENCES / PART),
  }, async () => {
    const { gateway } = listening;
    const parts = { gateway, connections: CONNECTIONS, play };
    const warmUp = { ...parts, title: "mutated frames, first part", seed: SEED, sequences: WARM_UP };
    const connections = await carryOut(warmUp);
    const question = { name: WEB, addresses: WEB_ADDRESSES };
    const watch = await GatewayWatch.start(gateway, () => Bystander.start(gateway, question));
    let seed = SEED + connections;
    for (let left = SEQUENCES - WARM_UP; left > 0; left -= PART) {
      const sequences = Math.min(left, PART);
      seed += await carryOut({ ...parts, title: "mutated frames", seed, sequences });
      console.log(`the gateway holds ${Math.round(await heldMebibytes(gateway))} MiB`);
    }
    await watch.end(MOST_GROWTH_MEBIBYTES);
  });
});

/** A million sequences take hours on a busy machine, and nobody renews the leases of the clusters. */
const LONG_LEASES = { lease: { minimumSeconds: 10, defaultSeconds: 86_400, maximumSeconds: 86_400 } };
const MORE_WINDOW = frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(1 << 16));
