import { describe, expect, it } from "vitest";
import { readBounded } from "../../src/transfer/bounded-body.ts";

const bytes = Uint8Array.from({ length: 12 }, (_, index) => index);
const chunks = (...sizes: readonly number[]) => {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (const size of sizes) {
        controller.enqueue(bytes.slice(at, at + size));
        at += size;
      }
      controller.close();
    },
  });
};
const response = (body: ConstructorParameters<typeof Response>[0], length?: string, encoding?: string) => {
  const headers = new Headers();
  if (length !== undefined) headers.set("content-length", length);
  if (encoding !== undefined) headers.set("content-encoding", encoding);
  return new Response(body, { headers });
};
const read = (from: Response, most: number) => readBounded(from, most, "the part");

describe("a body within its bound", () => {
  it.each([
    ["with its length", () => response(bytes, "12")],
    ["in chunks", () => response(chunks(5, 4, 3))],
    ["with a length that is none", () => response(chunks(12), "12 bytes")],
    ["with a negative length", () => response(chunks(12), "-1")],
    ["with the length of an encoding", () => response(chunks(12), "3", "gzip")],
    ["with its length and no encoding", () => response(chunks(6, 6), "12", "identity")],
  ])("is read: %s", async (_, open) => {
    expect(await read(open(), 12)).toEqual(bytes);
    await expect(read(open(), 11)).rejects.toThrow(
      /^the part may have 11 bytes and has .+: raise the limit, or serve less$/,
    );
  });

  it("is empty where there is none", async () => {
    expect(await read(response(null), 0)).toEqual(new Uint8Array(0));
    expect(await read(response(null, "0"), 0)).toEqual(new Uint8Array(0));
  });
});

it.each([
  ["1000", "the part may have 12 bytes and has 1000 bytes: raise the limit, or serve less"],
  ["11", "the part ended after 12 of 11 bytes: it is cut off"],
])("a body that says that it has %s bytes is rejected by that", async (length, message) => {
  await expect(read(response(bytes, length), 12)).rejects.toThrow(message);
});

it("a response with a length above the bound is rejected without a body", async () => {
  await expect(read(response(null, "13"), 12)).rejects.toThrow("has 13 bytes");
});
