import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  frameMessage,
  MessageFramer,
  MessageTooLong,
} from "../../../src/hosts/node/listeners/stream-connection.ts";

const bytes = (maxLength: number) => fc.uint8Array({ maxLength });

/** Cuts bytes into parts of these sizes; the last part is the rest. */
function cut(whole: Buffer, sizes: readonly number[]): Buffer[] {
  const parts: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    parts.push(whole.subarray(at, at + size));
    at += size;
  }
  return [...parts, whole.subarray(at)];
}

function readAll(framer: MessageFramer): number[][] {
  const found: number[][] = [];
  for (let message = framer.next(); message !== undefined; message = framer.next()) found.push([...message]);
  return found;
}

describe("messages after their length (RFC 7766 section 8)", () => {
  it("are the same in any division into segments", () => {
    fc.assert(
      fc.property(fc.array(bytes(40), { maxLength: 8 }), fc.array(fc.nat(12)), (messages, sizes) => {
        const framer = new MessageFramer(40);
        const found: number[][] = [];
        for (const part of cut(Buffer.concat(messages.map(frameMessage)), sizes)) {
          framer.push(part);
          found.push(...readAll(framer));
        }
        expect(found).toEqual(messages.map((message) => [...message]));
      }),
    );
  });

  it("that come byte by byte take no memory for each byte", () => {
    const framer = new MessageFramer(40);
    framer.push(Buffer.from([0]));
    // The framer copies what it keeps.
    const reused = Buffer.alloc(1);
    for (const byte of [3, 1, 2, 3]) {
      reused[0] = byte;
      framer.push(reused);
    }
    expect([...framer.next()!]).toEqual([1, 2, 3]);
  });

  it("may have 65,535 bytes", () => {
    const framer = new MessageFramer(65_535);
    framer.push(frameMessage(new Uint8Array(65_535)));
    expect(framer.next()).toHaveLength(65_535);
  });

  it("are rejected by their length alone", () => {
    const framer = new MessageFramer(512);
    framer.push(Buffer.from([2]));
    expect(framer.next()).toBeUndefined();
    framer.push(Buffer.from([1]));
    expect(() => framer.next()).toThrow(MessageTooLong);
  });
});
