import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { END_HEADERS, END_STREAM, FRAME, frame, framesIn, getHeaders, PREFACE } from "./http2-frames.ts";

const POST = 0x83;
const PING = frame(FRAME.ping, 0, 0, Buffer.alloc(8));
/** More than the streams that a connection may have at the same time. */
const REQUESTS = 200;
const TRIES = 6;

let folder: string;
let server: ChildProcessWithoutNullStreams;
let port: number;
let errors = "";
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "clusterset-doh-one-write-"));
  server = spawn(process.execPath, [fileURLToPath(new URL("body-server.ts", import.meta.url)), folder]);
  server.stderr.on("data", (text) => {
    errors += text;
  });
  const [text] = (await once(server.stdout, "data")) as [Buffer];
  port = Number(text);
});
afterAll(() => {
  server?.stdin.end();
  rmSync(folder, { recursive: true });
});

/** Opens a connection, by whose SETTINGS both sides go from then on. */
async function open(): Promise<TLSSocket> {
  const ca = readFileSync(join(folder, "tls", "self-signed.crt"));
  const socket = connect({ host: "127.0.0.1", servername: "localhost", port, ca, ALPNProtocols: ["h2"] });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  const opened = frameOf(socket, FRAME.ping);
  socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 1, 0), PING]));
  expect(await opened).toBe(true);
  return socket;
}

/** Resolves with true where such a frame comes, and with false where the connection ends before. */
function frameOf(socket: TLSSocket, type: number): Promise<boolean> {
  let received = Buffer.alloc(0);
  return new Promise((resolve) => {
    socket.on("data", (part) => {
      received = Buffer.concat([received, part as Buffer]);
      for (const one of framesIn(received)) if (one.type === type) resolve(true);
    });
    socket.once("close", () => resolve(false));
  });
}

const headers = (stream: number) => {
  // 200 of them come in more than one read.
  const block = getHeaders([["x", "y".repeat(100)]]);
  block[0] = POST;
  return frame(FRAME.headers, END_HEADERS, stream, block);
};
const body = (stream: number, flags: number) => frame(FRAME.data, flags, stream, Buffer.alloc(50));
const trailers = (stream: number) =>
  frame(FRAME.headers, END_HEADERS | END_STREAM, stream, Buffer.from([0, 1, 0x78, 1, 0x79]));

describe("200 POSTs without a length in one write do not end the process", () => {
  it.each([
    ["ended by DATA", (stream: number) => [headers(stream), body(stream, END_STREAM)]],
    ["ended by trailers", (stream: number) => [headers(stream), body(stream, 0), trailers(stream)]],
    ["unfinished", (stream: number) => [headers(stream), body(stream, 0)]],
  ])("%s", async (_, request) => {
    for (let turn = 0; turn < TRIES; turn++) {
      const socket = await open();
      const requests = Array.from({ length: REQUESTS }, (__, index) => request(2 * index + 1)).flat();
      // Answered, or the end of the connection: it had more streams than it may have.
      const isRead = frameOf(socket, FRAME.ping);
      socket.write(Buffer.concat([...requests, PING]));
      await isRead;
      socket.destroy();
    }
    const socket = await open();
    const answered = frameOf(socket, FRAME.headers);
    socket.write(Buffer.concat([headers(1), body(1, END_STREAM)]));
    expect([await answered, server.exitCode, errors]).toEqual([true, null, ""]);
    socket.destroy();
  });
});
