import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ListeningGateway,
  startListeningGateway,
  WEB,
  WEB_ADDRESSES,
} from "../../clients/listening-gateway.ts";
import { eventually, metric } from "../../harness/answers.ts";
import { Bystander } from "../harness/bystander.ts";
import { heldMebibytes, MEASURED } from "../harness/held.ts";
import { ATTACKER } from "../harness/raw-socket.ts";
import { floods } from "./http2-frame-floods.ts";
import { RawHttp2Connection } from "./http2-frames.ts";

/**
 * An attack of hundreds of megabytes, or of millions of frames, would show; a connection's buffers do not.
 */
const MOST_GROWTH_MEBIBYTES = 96;

/** How many frames are sent at once. */
const BATCH = 500;

describe("floods over HTTP/2 are ended or taken, in bounded memory, and others are answered meanwhile", () => {
  let listening: ListeningGateway;
  beforeAll(async () => {
    const limits = { requestSeconds: 5, idleSeconds: 5 };
    listening = await startListeningGateway({ env: MEASURED, config: { limits } });
  });
  afterAll(() => listening?.gateway.stop());

  test.each(floods)("$title", async ({ first, again, times, ends, isDeaf = false }) => {
    const { gateway } = listening;
    const bystander = await Bystander.start(gateway, { name: WEB, addresses: WEB_ADDRESSES });
    const held = await heldMebibytes(gateway);
    const { pid } = gateway.process;
    const port = Number(new URL(gateway.url).port);
    const connection = await RawHttp2Connection.open({ port, ca: gateway.ca, localAddress: ATTACKER });
    const name = ends && `clusterset_doh_${"limit" in ends ? "limited" : "connection_errors"}_total`;
    const counted = async () => (name === undefined ? 0 : await metric(gateway, name, { ...ends }));
    const before = await counted();
    if (isDeaf) connection.socket.pause();
    if (first !== undefined) connection.send(first());
    for (let sent = 0; sent < times && connection.isOpen; sent += BATCH)
      await connection.sendAndDrain(
        ...Array.from({ length: Math.min(BATCH, times - sent) }, (_, index) => again(sent + index)),
      );
    await bystander.answered(1);
    if (ends !== undefined) {
      await connection.closed;
      await eventually(counted).toBeGreaterThan(before);
    }
    // With the connection, where the gateway has not ended it.
    expect((await heldMebibytes(gateway)) - held).toBeLessThan(MOST_GROWTH_MEBIBYTES);
    connection.close();
    await bystander.stop();
    expect(gateway.process.pid).toBe(pid);
    expect(gateway.process.log()).not.toMatch(/"level":"(?:error|fatal)"/);
  });
});
