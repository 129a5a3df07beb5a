import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ListeningGateway,
  startListeningGateway,
  WEB,
  WEB_ADDRESSES,
} from "../../clients/listening-gateway.ts";
import { Bystander } from "../harness/bystander.ts";
import { ATTACKER, dripUntilClosed, openTls } from "../harness/slow-client.ts";
import { headerBlock } from "./header-block.ts";
import { Flag, FrameType, frame, RawHttp2Connection } from "./http2-frames.ts";

const LIMITS = { requestSeconds: 1, idleSeconds: 2 };
const FRAME = 16_000;

/** Over HTTP/1.1, and over HTTP/2 by a client that has not acknowledged any limit, or has. */
describe.each(["HTTP/1.1", "HTTP/2", "HTTP/2, acknowledged"])("over %s", (protocol) => {
  let listening: ListeningGateway;
  let port: number;
  beforeAll(async () => {
    listening = await startListeningGateway({ config: { limits: LIMITS } });
    port = Number(new URL(listening.gateway.url).port);
  });
  afterAll(() => listening?.gateway.stop());

  test.each([30_000, 60_000, 100_000, 1_000_000])(
    "a parameter dns of %i bytes is not answered",
    async (length) => {
      const { gateway } = listening;
      const bystander = await Bystander.start(gateway, { name: WEB, addresses: WEB_ADDRESSES });
      const path = `/dns-query?dns=${"A".repeat(length)}`;
      if (protocol === "HTTP/1.1") {
        const socket = await openTls(port, gateway.ca, "http/1.1");
        const received = await dripUntilClosed(socket, `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`, "");
        expect(received).toMatch(/^(?:HTTP\/1.1 431|$)/);
      } else expect(await answeredWithData(path, protocol.endsWith("acknowledged"))).toBe(false);
      await bystander.stop();
    },
  );

  /** Whether a GET of this path gets a body over HTTP/2 before it is refused, or the connection ends. */
  async function answeredWithData(path: string, isAcknowledged: boolean): Promise<boolean> {
    const { ca } = listening.gateway;
    const connection = await RawHttp2Connection.open({ port, ca, localAddress: ATTACKER });
    const refused = new Promise<boolean>((resolve) => {
      connection.onFrame = ({ type, flags, stream }) => {
        if (stream !== 1) return;
        if (type === FrameType.DATA) resolve(true);
        if (type === FrameType.RST_STREAM || (flags & Flag.END_STREAM) !== 0) resolve(false);
      };
    });
    if (isAcknowledged) await connection.roundTrip();
    const block = headerBlock("GET", path);
    for (let start = 0; start < block.length; start += FRAME) {
      const type = start === 0 ? FrameType.HEADERS : FrameType.CONTINUATION;
      const last = start + FRAME >= block.length ? Flag.END_HEADERS : 0;
      const flags = last | (start === 0 ? Flag.END_STREAM : 0);
      connection.send(frame(type, flags, 1, block.subarray(start, start + FRAME)));
    }
    const outcome = await Promise.race([refused, connection.closed.then(() => false)]);
    connection.close();
    return outcome;
  }
});
