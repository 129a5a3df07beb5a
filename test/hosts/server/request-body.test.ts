import { PassThrough } from "node:stream";
import { expect, test, vi } from "vitest";
import { readBody } from "../../../src/hosts/node/server/http1.ts";
import { GatheredBytes } from "../../../src/http2/body.ts";

test("a body of one-byte chunks is not copied once for each chunk", async () => {
  const copied = vi.spyOn(Buffer, "concat");
  const parts = new PassThrough();
  const body = readBody(parts, 5000);
  for (let byte = 0; byte < 5000; byte++) parts.emit("data", Buffer.from([byte]));
  parts.emit("end");
  expect(await body).toEqual(Uint8Array.from({ length: 5000 }, (_, byte) => byte));
  expect(copied).not.toHaveBeenCalled();
  copied.mockRestore();
});

test("parts of one byte take at most twice their size", () => {
  const bytes = new GatheredBytes();
  for (let byte = 0; byte < 5000; byte++) bytes.add(Uint8Array.of(byte));
  const { buffer, length } = bytes.take();
  expect([length, buffer.byteLength <= 10_000]).toEqual([5000, true]);
});

test("one part alone is not copied, nor are the messages in it", () => {
  const part = Uint8Array.of(1, 2, 3, 4);
  const bytes = new GatheredBytes();
  bytes.add(part);
  const taken = [bytes.take(1), bytes.take(2), bytes.take()];
  expect(taken).toEqual([Uint8Array.of(1), Uint8Array.of(2, 3), Uint8Array.of(4)]);
  expect(taken.every(({ buffer }) => buffer === part.buffer)).toBe(true);
});

test("memory of an empty body may be transferred to another thread", () => {
  const bytes = new GatheredBytes();
  structuredClone(0, { transfer: [bytes.take().buffer] });
  bytes.add(Uint8Array.of(1));
  expect([...bytes.take(), ...bytes.take()]).toEqual([1]);
});
