import { once } from "node:events";
import { connect } from "node:tls";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { FRAME, frame, framesIn, PREFACE } from "../http2-frames.ts";
import { serversOf } from "../tls-fixture.ts";
import { get } from "./connected.ts";

const servers = serversOf("idle-memory");

setFlagsFromString("--expose-gc");
const collect: (options: object) => void = runInNewContext("gc");

/** In pieces: a frame that is cut off, and a header of one. */
const requests = Buffer.concat([PREFACE, frame(FRAME.settings, 1, 0), get(1), get(3)]);
const PIECES = [
  requests.subarray(0, 30),
  requests.subarray(30, requests.length - 5),
  requests.subarray(requests.length - 5),
];

/** Bytes of buffers that are in use. */
async function heldBytes(): Promise<number> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  for (let again = 0; again < 3; again++)
    collect({ type: "major", execution: "sync", flavor: "last-resort" });
  return process.memoryUsage().arrayBuffers;
}

/** Uses up the slab of which Node cuts short buffers, as other requests do: whoever holds one of them holds a slab alone. */
function useSlab(): void {
  for (let used = 0; used < 2 * Buffer.poolSize; used += 20_000) Buffer.allocUnsafe(20_000);
}

/** No array and no `Buffer`: of these Node's client holds a copy in a slab. */
const OFFERED = new DataView(Uint8Array.from([2, 0x68, 0x32]).buffer);

/** A connection that had an answer, to requests in pieces. */
async function openIdle(port: number): Promise<void> {
  const options = { host: "127.0.0.1", port, ca: servers.tls.cert, ALPNProtocols: OFFERED };
  const socket = servers.keep(connect(options));
  await once(socket, "secureConnect");
  useSlab();
  const answered = new Promise<void>((resolve) => {
    let received: Buffer = Buffer.alloc(0);
    socket.on("data", (part) => {
      received = Buffer.concat([received, part]);
      const frames = [...framesIn(received)];
      if (!frames.some(({ type, stream }) => type === FRAME.headers && stream === 3)) return;
      received = Buffer.alloc(0);
      socket.removeAllListeners("data").resume();
      resolve();
    });
  });
  for (const piece of PIECES) {
    socket.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 5));
    useSlab();
  }
  await answered;
  useSlab();
}

test("an idle connection holds no buffer", async () => {
  const count = 30;
  const port = await servers.startFine();
  await openIdle(port);
  const before = await heldBytes();
  for (let opened = 0; opened < count; opened++) await openIdle(port);
  expect((await heldBytes()) - before).toBeLessThan(count * 4096);
});
