import { describe, expect, it } from "vitest";
import { BlobHeader, FORMAT_VERSION, SegmentHeader } from "../../../src/zone/segment/layout.ts";
import { openPair } from "../pair.ts";
import { type Bytes, type Forged, forgeBlob, forgeSegment } from "./forged.ts";

const flipLastByte = (bytes: Bytes) => {
  bytes[bytes.length - 1]! ^= 1;
  return bytes;
};
const word = (at: number, change: (value: number) => number) => (bytes: Bytes) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  view.setUint32(at * 4, change(view.getUint32(at * 4, true)), true);
  return bytes;
};

/** What can happen to a part on its way, and what is said of it. */
const ON_ITS_WAY: readonly (readonly [string, (bytes: Bytes) => Bytes, RegExp])[] = [
  ["nothing", () => new Uint8Array(0), /cut off|has the hash/],
  ["foreign bytes", (bytes) => bytes.fill(0x3c), /cut off|has the hash/],
  ["cut off", (bytes) => bytes.slice(0, -4), /cut off|has the hash/],
  ["too long", (bytes) => Uint8Array.from([...bytes, 0, 0, 0, 0]), /goes on after its end|has the hash/],
  ["damaged at its end", flipLastByte, /has the hash [0-9a-f]{32}, not [0-9a-f]{32}: it is damaged/],
  ["damaged in its header", word(2, (value) => value ^ 0x100), /has the hash|cut off/],
];

describe.each(["root", "segment"] as const)(
  "a bad %s is rejected, and the last good generation keeps answering",
  (part) => {
    it.each(ON_ITS_WAY)("%s", async (_, change, message) => {
      const { clock, source, secondary, events, push, ask } = await openPair();
      await push("west", 2, 3600);
      await ask();
      await push("west", 3, 3600);
      const { rootHash } = secondary.status();
      const spoil = (how: (bytes: Bytes) => Bytes) => {
        if (part === "root") source.changeRoot = how;
        else source.changeSegment = how;
      };
      spoil(change);
      await clock.advance(4001);
      expect(await ask()).toMatchObject({ rcode: "NOERROR", errors: [3] });
      expect((await ask()).addresses).toHaveLength(2);
      const rejected = (part === "root" ? source.roots : source.segments).at(-1)!;
      expect(events.slice(1)).toContainEqual(
        expect.objectContaining({
          event: "part-rejected",
          part,
          error: expect.objectContaining({ message: expect.stringMatching(message) }),
        }),
      );
      expect(events.slice(1).map(({ event }) => event)).toEqual(
        expect.arrayContaining(["part-rejected", "transfer-failed", "stale"]),
      );
      expect(source.dropped).toContain(`${part} ${rejected}`);
      expect(secondary.status()).toMatchObject({
        ready: true,
        rootHash,
        transferError: expect.stringMatching(message),
      });

      spoil((bytes) => bytes);
      await clock.advance(70_000);
      expect(await ask()).toMatchObject({ errors: [] });
      expect((await ask()).addresses).toHaveLength(3);
    });

    it.each(ON_ITS_WAY)("as the very first one it leaves SERVFAIL with Not Ready: %s", async (_, change) => {
      const { source, secondary, push, ask } = await openPair();
      await push("west", 2);
      if (part === "root") source.changeRoot = change;
      else source.changeSegment = change;
      expect(await ask()).toMatchObject({ rcode: "SERVFAIL", errors: [14], freshness: 0 });
      expect(secondary.status()).toMatchObject({ ready: false, clusters: [] });
    });

    it("one that was damaged on its way is transferred again, whole", async () => {
      const { clock, source, push, ask } = await openPair();
      await push("west", 2);
      await ask();
      await push("west", 3);
      if (part === "root") source.changeRoot = flipLastByte;
      else source.changeSegment = flipLastByte;
      await clock.advance(1000);
      await ask();
      await clock.advance(0);
      expect(source.since.some((since) => since !== undefined)).toBe(true);
      source.since.length = 0;
      source.changeRoot = source.changeSegment = (bytes) => bytes;
      await clock.advance(1000);
      await ask();
      await clock.advance(0);
      expect((await ask()).addresses).toHaveLength(3);
      expect(source.since.every((since) => since === undefined)).toBe(true);
    });
  },
);

type ForgedOf = (forge: {
  readonly blob: (part: Parameters<typeof forgeBlob>[2], change: (bytes: Bytes) => Bytes) => Forged;
  readonly segment: (change: (bytes: Bytes) => Bytes) => Forged;
}) => Forged;

/** Parts with a fitting hash whose structure is broken. */
const FORGED: readonly (readonly [string, ForgedOf])[] = [
  ["a root that is cut off", ({ blob }) => blob("root", (bytes) => bytes.slice(0, -4))],
  [
    "a frame with other magic",
    ({ blob }) =>
      blob(
        "frame",
        word(BlobHeader.magic, (value) => value ^ 1),
      ),
  ],
  [
    "stems without an empty slot",
    ({ blob }) =>
      blob(
        "stems",
        word(SegmentHeader.slots, () => 1),
      ),
  ],
  [
    "stems with more names",
    ({ blob }) =>
      blob(
        "stems",
        word(SegmentHeader.names, (value) => value + 1),
      ),
  ],
  [
    "a page with fewer entries",
    ({ blob }) =>
      blob(
        "names",
        word(4, (value) => value - 1),
      ),
  ],
  [
    "a page of reverse names with too many",
    ({ blob }) =>
      blob(
        "reverse",
        word(4, () => 0xffffffff),
      ),
  ],
  ["a segment with other slots", ({ segment }) => segment(word(SegmentHeader.slots, (value) => value * 2))],
  [
    "a segment with a heap outside it",
    ({ segment }) => segment(word(SegmentHeader.heapEnd, () => 0x7fffffff)),
  ],
  ["a segment of no kind", ({ segment }) => segment(word(BlobHeader.kind, () => 99))],
];

describe("a forged part whose hash fits", () => {
  it.each(FORGED)("is rejected, and the last good generation keeps answering: %s", async (_, forge) => {
    const { clock, primary, source, secondary, events, push, ask } = await openPair();
    await push("west", 2, 3600);
    await ask();
    await push("west", 3, 3600);
    const transfer = primary.of("")!;
    const { rootHash } = transfer.state().status;
    await clock.advance(0);
    // A segment that the secondary does not have: that of the changed service.
    const changed = await changedSegment();
    const forged = forge({
      blob: (part, change) => forgeBlob(transfer, rootHash!, part, change),
      segment: (change) => forgeSegment(transfer, rootHash!, changed, change),
    });
    expect(forged.hash).not.toBe(rootHash);
    source.changeState = (state) => ({ ...state, status: { ...state.status, rootHash: forged.hash } });
    source.forged = forged;
    await clock.advance(1000);
    await ask();
    await clock.advance(100);
    expect(events.map(({ event }) => event)).toContain("part-rejected");
    expect(secondary.status().rootHash).not.toBe(forged.hash);
    expect((await ask()).addresses).toHaveLength(2);

    async function changedSegment(): Promise<string> {
      const other = await openPair();
      await other.push("west", 2, 3600);
      await other.ask();
      await other.push("west", 3, 3600);
      other.source.segments.length = 0;
      await other.clock.advance(1000);
      await other.ask();
      await other.clock.advance(100);
      return other.source.segments[0]!;
    }
  });

  it("of another format version is transferred once in a minute", async () => {
    const { clock, primary, source, push, ask, events } = await openPair();
    await push("west", 2);
    await ask();
    await push("west", 3, 3600);
    const transfer = primary.of("")!;
    const { rootHash } = transfer.state().status;
    const forged = forgeBlob(
      transfer,
      rootHash!,
      "root",
      word(BlobHeader.version, () => FORMAT_VERSION + 1),
    );
    source.changeState = (state) => ({ ...state, status: { ...state.status, rootHash: forged.hash } });
    source.forged = forged;
    source.roots.length = 0;
    for (let second = 0; second < 59; second++) {
      await clock.advance(1000);
      await ask();
    }
    expect(source.roots).toHaveLength(1);
    expect(events).toContainEqual(
      expect.objectContaining({
        error: expect.objectContaining({
          message: expect.stringMatching(
            new RegExp(`format version ${FORMAT_VERSION + 1}; this program reads ${FORMAT_VERSION}`),
          ),
        }),
      }),
    );
    for (let second = 0; second < 20; second++) {
      await clock.advance(1000);
      await ask();
    }
    expect(source.roots).toHaveLength(2);
  });
});

describe("a part that is gone before it is fetched", () => {
  it.each(["root", "segment"] as const)(
    "is looked for by the next state, straight from the primary: %s",
    async (part) => {
      const { clock, source, push, ask } = await openPair();
      await push("west", 2);
      let gone = 2;
      const change = (bytes: Bytes) => (gone-- > 0 ? ("gone" as const) : bytes);
      if (part === "root") source.changeRoot = change;
      else source.changeSegment = change;
      expect(await ask()).toMatchObject({ rcode: "NOERROR" });
      expect(source.states.slice(0, 2)).toEqual([1000, 0]);
      expect(source.states.length).toBeLessThanOrEqual(3);
      expect(clock.timers).toBeLessThanOrEqual(1);
    },
  );

  it("is a failure when that does not end", async () => {
    const { source, secondary, push, ask } = await openPair();
    await push("west", 2);
    source.changeRoot = () => "gone";
    expect(await ask()).toMatchObject({ rcode: "SERVFAIL" });
    expect(source.states).toEqual([1000, 0, 0]);
    expect(secondary.status().transferError).toBe("the primary's root changed with each request");
  });
});
