import { describe, expect, it } from "vitest";
import { loadBundle } from "../../src/zone/generation/bundle.ts";
import { BLOB_MAGIC, BlobHeader, FORMAT_VERSION, HEAP_START } from "../../src/zone/segment/layout.ts";
import { compileWorld } from "../resolve/ask.ts";
import { openPair } from "./pair.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const word = (at: number, change: (value: number) => number) => (bytes: Bytes) => {
  const header = new DataView(bytes.buffer, bytes.byteOffset);
  header.setUint32(at * 4, change(header.getUint32(at * 4, true)), true);
  return bytes;
};
/** Changes the last octet of an address in the last segment, which is well-formed nevertheless. */
const flipLastOctet = (bytes: Bytes) => {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset);
  bytes[words.lastIndexOf(BLOB_MAGIC) * 4 + HEAP_START + 4]! ^= 1;
  loadBundle(bytes);
  return bytes;
};

/** What can be wrong with an image, and what is said of it. */
const LOADED_WRONG: readonly (readonly [string, (bytes: Bytes) => Bytes, RegExp])[] = [
  ["nothing", () => new Uint8Array(0), /0 bytes are too few for a generation/],
  ["foreign octets", (bytes) => bytes.fill(0x3c), /not a generation/],
  [
    "another format version",
    word(BlobHeader.version, (version) => version + 1),
    new RegExp(`format version ${FORMAT_VERSION + 1}; this program reads ${FORMAT_VERSION}`),
  ],
  ["cut off", (bytes) => bytes.slice(0, -4), /should have \d+ bytes and has \d+/],
  ["too long", (bytes) => Uint8Array.from([...bytes, 0, 0, 0, 0]), /should have \d+ bytes and has \d+/],
  [
    "another image than was asked for",
    () => compileWorld([]).generation.bytes.slice(),
    /not [0-9a-f]{32} as asked for/,
  ],
];

describe("a bad image is refused, and the last good one keeps answering", () => {
  it.each([...LOADED_WRONG, ["torn", flipLastOctet, /content does not have the hash .* torn/] as const])(
    "%s",
    async (_, change, message) => {
      const { clock, source, secondary, events, push, ask } = await openPair();
      await push("west", 2, 3600);
      await ask();
      await push("west", 3, 3600);
      const { imageHash } = secondary.status();
      source.changeImage = change;
      await clock.advance(4001);
      expect(await ask()).toMatchObject({ rcode: "NOERROR", errors: [3] });
      expect((await ask()).addresses).toHaveLength(2);
      const refused = source.images.at(-1)!;
      expect(events.slice(1)).toMatchObject([
        { event: "image-refused", contentHash: refused, error: { message: expect.stringMatching(message) } },
        { event: "transfer-failed" },
        { event: "stale" },
      ]);
      expect(source.dropped).toEqual([refused]);
      expect(secondary.status()).toMatchObject({
        ready: true,
        imageHash,
        transferError: expect.stringMatching(message),
      });

      source.changeImage = (bytes) => bytes;
      await clock.advance(70_000);
      expect(await ask()).toMatchObject({ errors: [] });
      expect((await ask()).addresses).toHaveLength(3);
    },
  );

  it.each(LOADED_WRONG)("as the very first one it leaves SERVFAIL with Not Ready: %s", async (_, change) => {
    const { source, secondary, push, ask } = await openPair();
    await push("west", 2);
    source.changeImage = change;
    expect(await ask()).toMatchObject({ rcode: "SERVFAIL", errors: [14], freshness: 0 });
    expect(secondary.status()).toMatchObject({ ready: false, clusters: [] });
  });

  it("one of another format version is transferred once in a minute", async () => {
    const { clock, source, push, ask } = await openPair();
    await push("west", 2);
    await ask();
    await push("west", 3, 3600);
    source.changeImage = word(BlobHeader.version, () => 99);
    source.images.length = 0;
    for (let second = 0; second < 59; second++) {
      await clock.advance(1000);
      await ask();
    }
    expect(source.images).toHaveLength(1);
    for (let second = 0; second < 20; second++) {
      await clock.advance(1000);
      await ask();
    }
    expect(source.images).toHaveLength(2);
  });

  it("one that was torn on its way is transferred again", async () => {
    const { clock, source, push, ask } = await openPair();
    await push("west", 2);
    await ask();
    await push("west", 3);
    source.changeImage = flipLastOctet;
    await clock.advance(1000);
    await ask();
    source.changeImage = (bytes) => bytes;
    await clock.advance(1000);
    await ask();
    await clock.advance(0);
    expect((await ask()).addresses).toHaveLength(3);
  });
});

describe("the very first image is checked while it answers", () => {
  it("in slices, and given up where it is torn", async () => {
    const { source, clock, secondary, events, push, ask } = await openPair();
    // Larger than two slices.
    await push("west", 8000);
    source.changeImage = flipLastOctet;
    expect(await ask()).toMatchObject({ rcode: "NOERROR" });
    const slices = Math.ceil(secondary.status().imageBytes / 2 ** 18);
    expect(slices).toBeGreaterThan(2);
    const rcodes: string[] = [];
    for (let slice = 0; slice < slices; slice++) rcodes.push((await ask()).rcode);
    expect(rcodes).toEqual([...Array(slices - 1).fill("NOERROR"), "SERVFAIL"]);
    expect(events.slice(1)).toMatchObject([{ event: "image-refused" }, { event: "transfer-failed" }]);
    expect(secondary.status()).toMatchObject({ ready: false, transferError: expect.stringMatching(/torn/) });

    source.changeImage = (bytes) => bytes;
    await clock.advance(1000);
    expect(await ask()).toMatchObject({ rcode: "NOERROR" });
  });

  it("a good one is not transferred again, and the next one is checked before it answers", async () => {
    const { clock, source, events, push, ask } = await openPair();
    await push("west", 8000);
    for (let query = 0; query < 20; query++) expect(await ask()).toMatchObject({ rcode: "NOERROR" });
    expect(source.images).toHaveLength(1);
    await push("west", 3);
    source.changeImage = flipLastOctet;
    await clock.advance(1000);
    await ask();
    await clock.advance(0);
    expect(events.map(({ event }) => event)).toEqual(["transferred", "image-refused", "transfer-failed"]);
    expect(await ask()).toMatchObject({ rcode: "NOERROR" });
  });

  it("two that load it at the same time both check it", async () => {
    const { clock, source, secondary, events, push, ask } = await openPair({
      stateTimeout: 400,
      imageTimeout: 400,
    });
    await push("west", 2);
    source.changeImage = flipLastOctet;
    source.imageLatency = 300;
    secondary.freshen(clock.now());
    await clock.advance(120);
    // Has lost patience with the first one.
    await ask();
    await clock.advance(400);
    expect(source.images).toHaveLength(2);
    expect(await ask()).toMatchObject({ rcode: "SERVFAIL" });
    expect(events.map(({ event }) => event)).toContain("image-refused");
  });
});

describe("an image that is gone before it is fetched", () => {
  it("is looked for by the next state, straight from the primary", async () => {
    const { clock, source, push, ask } = await openPair();
    await push("west", 2);
    let gone = 2;
    source.changeImage = (bytes) => (gone-- > 0 ? "gone" : bytes);
    expect(await ask()).toMatchObject({ rcode: "NOERROR" });
    expect(source.states).toEqual([1000, 0, 0]);
    expect(clock.timers).toBeLessThanOrEqual(1);
  });

  it("is a failure when that does not end", async () => {
    const { source, secondary, push, ask } = await openPair();
    await push("west", 2);
    source.changeImage = () => "gone";
    expect(await ask()).toMatchObject({ rcode: "SERVFAIL" });
    expect(source.states).toEqual([1000, 0, 0]);
    expect(secondary.status().transferError).toBe("the primary's image changed with each request");
  });
});
