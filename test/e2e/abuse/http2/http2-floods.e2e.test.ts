import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { frame, PREFACE } from "../../../hosts/server/http2-frames.ts";
import { type ListeningGateway, startListeningGateway } from "../../clients/listening-gateway.ts";
import { eventually, metric } from "../../harness/answers.ts";
import { Bystander, overHttps } from "../harness/bystanders.ts";
import { heldMebibytes, MEASURED } from "../harness/held.ts";
import { RawClient } from "../harness/raw-client.ts";
import { Flag, FrameType, headerBlock, initialWindow, literal, uint32, WHOLE } from "./http2-frames.ts";

/** Hundreds of megabytes, or millions of frames, would show; a connection's buffers do not. */
const MOST_GROWTH_MEBIBYTES = 96;
/** How many frames are sent at once. */
const BATCH = 500;

const GET = headerBlock(
  "GET",
  "/dns-query?dns=AAABAAABAAAAAAAAA3dlYgRzaG9wA3N2YwpjbHVzdGVyc2V0BWxvY2FsAAABAAE",
);
const POST = headerBlock("POST", "/dns-query", { "content-type": "application/dns-message" });
const get = (stream: number) => frame(FrameType.HEADERS, WHOLE, stream, GET);
const post = (stream: number) => frame(FrameType.HEADERS, Flag.END_HEADERS, stream, POST);
const reset = (stream: number) => frame(FrameType.RST_STREAM, 0, stream, uint32(8));
const ping = () => frame(FrameType.PING, 0, 0, Buffer.alloc(8));
/** 4,000 bytes for the dynamic table, and a thousand references to them: 4 MB out of one kilobyte. */
const filling = Buffer.concat([GET, literal("x", "y".repeat(4000), 0x40)]);
const referring = Buffer.concat([GET, Buffer.alloc(1000, 0xbe)]);
const long = Buffer.concat([GET, literal("x", "y".repeat(28_000))]);

/** Frames of an attack. */
interface Flood {
  readonly title: string;
  /** What the connection starts with. */
  readonly first?: Buffer;
  /** What is sent again and again. @param stream a new one each time */
  readonly again: (stream: number) => Buffer;
  readonly times: number;
  /** The limit by which the gateway has to end the connection; without it the gateway may take everything. */
  readonly limit?: string;
  /** Whether the client takes nothing that the gateway sends. */
  readonly isDeaf?: boolean;
}

/** Attacks that HTTP/2 servers have met, and a few more. */
const floods: readonly Flood[] = [
  {
    title: "rapid reset (CVE-2023-44487)",
    again: (stream) => Buffer.concat([get(stream), reset(stream)]),
    times: 50_000,
    limit: "limits.streamResets",
  },
  {
    title: "resets that the gateway is made to send (CVE-2025-8671)",
    again: (stream) => Buffer.concat([post(stream), frame(FrameType.WINDOW_UPDATE, 0, stream, uint32(0))]),
    times: 50_000,
    limit: "limits.streamResets",
  },
  {
    title: "CONTINUATION without end (CVE-2024-27316)",
    first: frame(FrameType.HEADERS, Flag.END_STREAM, 1, GET),
    again: (stream) => frame(FrameType.CONTINUATION, 0, 1, literal(`x-${stream}`, "y".repeat(1000))),
    times: 20_000,
    limit: "http2",
  },
  {
    title: "header blocks that unpack into megabytes",
    first: frame(FrameType.HEADERS, WHOLE, 1, filling),
    again: (stream) => frame(FrameType.HEADERS, WHOLE, stream + 2, referring),
    times: 1000,
    limit: "limits.headerFields",
  },
  {
    title: "fields longer than a header may be",
    again: (stream) =>
      Buffer.concat([
        frame(FrameType.HEADERS, Flag.END_STREAM, stream, long.subarray(0, 16_000)),
        frame(FrameType.CONTINUATION, Flag.END_HEADERS, stream, long.subarray(16_000)),
      ]),
    times: 1000,
    limit: "limits.headerBytes",
  },
  {
    title: "more streams than are allowed, none of which ends",
    again: post,
    times: 10_000,
    limit: "limits.streamsPerConnection",
  },
  { title: "PING, by a deaf client", again: ping, times: 1_000_000, limit: "http2", isDeaf: true },
  {
    title: "SETTINGS, by a deaf client",
    again: () => initialWindow(1),
    times: 1_000_000,
    limit: "http2",
    isDeaf: true,
  },
  {
    title: "SETTINGS of a thousand entries",
    again: () => frame(FrameType.SETTINGS, 0, 0, Buffer.alloc(6000, Buffer.of(0x7f, 1, 0, 0, 0, 0))),
    times: 100,
    limit: "limits.requestSeconds",
  },
  {
    title: "updates of a window that nothing waits for",
    again: () => frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(1)),
    times: 100_000,
  },
  { title: "resets of a stream that is closed", first: get(1), again: () => reset(1), times: 100_000 },
  {
    title: "PRIORITY",
    again: (stream) => frame(FrameType.PRIORITY, 0, stream, Buffer.of(0, 0, 0, 0, 16)),
    times: 100_000,
  },
  {
    title: "DATA without content",
    first: post(1),
    again: () => frame(FrameType.DATA, 0, 1),
    times: 100_000,
  },
  { title: "frames of an unknown type", again: () => frame(0x42, 0, 0, Buffer.alloc(100)), times: 100_000 },
];

describe("floods over HTTP/2 are ended or taken, in bounded memory, and others are answered meanwhile", () => {
  let listening: ListeningGateway;
  beforeAll(async () => {
    listening = await startListeningGateway({
      env: MEASURED,
      config: { limits: { requestSeconds: 5, idleSeconds: 5 } },
    });
  });
  afterAll(() => listening?.gateway.stop());

  test.each(floods)("$title", async ({ first, again, times, limit, isDeaf = false }) => {
    const { gateway } = listening;
    const bystander = await Bystander.start(overHttps(listening));
    const held = await heldMebibytes(gateway);
    const { pid } = gateway.process;
    const port = Number(new URL(gateway.url).port);
    const client = await RawClient.open({ port, ca: gateway.ca, protocol: "h2" });
    const counted = () => metric(gateway, "clusterset_doh_limited_total", { limit: limit ?? "" });
    const before = await counted();
    if (isDeaf) client.deafen();
    await client.send(Buffer.concat([PREFACE, frame(FrameType.SETTINGS, Flag.ACK, 0)]));
    if (first !== undefined) await client.send(first);
    for (let sent = 0; sent < times && client.isOpen; sent += BATCH)
      await client.send(
        Buffer.concat(Array.from({ length: BATCH }, (_, index) => again(2 * (sent + index) + 1))),
      );
    await bystander.answered(1);
    if (limit !== undefined) {
      await client.closed;
      await eventually(counted).toBeGreaterThan(before);
    }
    // With the connection, where the gateway has not ended it.
    expect((await heldMebibytes(gateway)) - held).toBeLessThan(MOST_GROWTH_MEBIBYTES);
    await client.end("close");
    await bystander.stop();
    expect(gateway.process.pid).toBe(pid);
    expect(gateway.process.log()).not.toMatch(/"level":"(?:error|fatal)"/);
  });
});
