import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { bodyStream, dropBody } from "../../../../src/hosts/node/server/http1.ts";

/** Some turns of the event loop: more than a body needs that is read. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await setImmediate();
}

it("stops reading a body that is cancelled", async () => {
  const parts = new PassThrough();
  const stream = bodyStream(parts, () => {});
  await stream.cancel();
  parts.write("left");
  await turns();
  expect([parts.isPaused(), parts.readableLength]).toEqual([true, 4]);
});

it("reads a body to its end that is dropped after the response, also if it is cancelled only then", async () => {
  const parts = new PassThrough();
  const stream = bodyStream(parts, () => {});
  const done = vi.fn();
  parts.write("before");
  dropBody(parts, done);
  await stream.cancel();
  parts.end("after");
  await turns();
  expect(done.mock.calls).toEqual([[true]]);
});
