import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { CachedTransferSource } from "../../../src/hosts/workers/cached-source.ts";
import { createTransferRoutes } from "../../../src/http/transfer-routes.ts";
import { HttpTransferSource } from "../../../src/transfer/http-source.ts";
import { SegmentCache } from "../../../src/transfer/parts/segment-cache.ts";
import { TransferCounters } from "../../../src/transfer/parts/transfer-counters.ts";
import type { Secondary } from "../../../src/transfer/secondary.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import type { ReverseSegment } from "../../../src/zone/segment/reverse-segment.ts";
import type { Segment } from "../../../src/zone/segment/segment.ts";
import { putSnapshot } from "../../gateway/pushes.ts";
import { FakeCache, done as inSteps } from "../../hosts/workers/location-cache.ts";
import { encodeQuery } from "../../resolve/ask.ts";
import { emptySnapshot, headlessExport } from "../../snapshot/worlds.ts";
import { openPair } from "../pair.ts";

const SERVICES = 600;
const ZONE = "svc.clusterset.local";
const CHANGED = `web-20.shop.${ZONE}`;
/** What an entry of a directory may take in a change: its hash, and where it belongs (part-change.ts). */
const ENTRY_BYTES = 16 + 3 * 4;

/** What becomes of one service. */
interface Change {
  readonly address?: string;
  readonly port?: number;
}

/** A snapshot with 600 services of two endpoints each, one of which may be changed. */
function worldOf(change: Change = {}) {
  const exports = Object.fromEntries(
    Array.from({ length: SERVICES }, (_, index) => {
      const { address, port = 8080 } = index === 20 ? change : {};
      const own = headlessExport(0);
      const ports = [{ name: "http", protocol: "TCP", port }];
      const members = Object.fromEntries(
        [`10.1.${index >> 8}.${index & 255}`, address ?? `10.2.${index >> 8}.${index & 255}`].map(
          (one, number) => [one, { address: one, hostname: `web-${number}`, ready: true }],
        ),
      );
      return [`shop/web-${index}`, { ...own, endpoints: { [`http/TCP/${port}`]: { ports, members } } }];
    }),
  );
  return { ...emptySnapshot("west"), namespaces: { shop: {} }, exports };
}

/** Hosts over HTTP to one primary with many segments. */
async function openWorld() {
  const { clock, gateway, open } = await openPair();
  const routes = createTransferRoutes({ gateway, clock: () => clock.now() });
  const app = new Hono().route("/api/v1/transfer", routes);
  const push = (change?: Change) =>
    inSteps(clock, putSnapshot(gateway, worldOf(change), { leaseSeconds: 3600 }));
  await push();
  /** Bodies of roots and segments, by their paths. */
  const sent: { readonly path: string; readonly bytes: number }[] = [];
  const overHttp = (counters: TransferCounters) =>
    new HttpTransferSource({
      ...{ gateway: "https://primary.test", counters, clock: () => clock.now() },
      fetch: async (url, request) => {
        const response = await app.request(url, request);
        const { pathname } = new URL(url);
        const bytes = (await response.clone().arrayBuffer()).byteLength;
        if (!pathname.endsWith("/state")) sent.push({ path: pathname, bytes });
        return response;
      },
    });
  const ask = async (of: Secondary, name = CHANGED) => {
    const fresh = of.freshen(clock.now());
    if (fresh !== undefined) await inSteps(clock, fresh);
    const answer = of.answer(encodeQuery(name, "A"), undefined, clock.now());
    return inSteps(clock, Promise.resolve(answer));
  };
  /** Lengths of the segments of names, and of reverse names, that a change makes anew. */
  const changed = async (change: Change) => {
    const { names, reverse } = segmentsOf(gateway.current(clock.now())!.generation);
    await push(change);
    const after = segmentsOf(gateway.current(clock.now())!.generation);
    return { names: newIn(after.names, names), reverse: newIn(after.reverse, reverse) };
  };
  /** Lets a secondary notice the change, and answer from it. */
  const follow = async (of: Secondary) => {
    await inSteps(clock, clock.advance(4001));
    expect(await ask(of)).toMatchObject({ outcome: "answer" });
    expect(of.generation!.rootHash).toBe(gateway.status().rootHash);
  };
  return { clock, gateway, open, overHttp, sent, ask, changed, follow };
}

type Lengths = ReadonlyMap<string, number>;

function segmentsOf(generation: Generation) {
  const lengths = (segments: Iterable<Segment | ReverseSegment>): Lengths =>
    new Map(Array.from(segments, ({ hash, bytes }) => [hash, bytes.length]));
  return { names: lengths(generation.segments()), reverse: lengths(generation.reverseSegments()) };
}

function newIn(after: Lengths, before: Lengths): readonly number[] {
  return [...after].filter(([hash]) => !before.has(hash)).map(([, length]) => length);
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

/** What is counted, as numbers of now. */
const read = ({ segments, bytes }: TransferCounters) => ({
  segments: segments.primary,
  bytes: bytes.primary,
  cachedSegments: segments.cache,
  cachedBytes: bytes.cache,
});

/** What was counted since. */
function difference(counters: TransferCounters, before: ReturnType<typeof read>) {
  const after = read(counters);
  return {
    segments: after.segments - before.segments,
    bytes: after.bytes - before.bytes,
    cachedSegments: after.cachedSegments - before.cachedSegments,
    cachedBytes: after.cachedBytes - before.cachedBytes,
  };
}

/** @param reverse how many segments of reverse names change: both addresses may be in one */
const CHANGES: readonly (readonly [title: string, change: Change, reverse: readonly number[]])[] = [
  ["port: its segment", { port: 9090 }, [0]],
  ["address: its segment, and those of both reverse names", { address: "10.9.9.15" }, [1, 2]],
];

describe.each(CHANGES)("one endpoint of 600 services gets another %s", (_, change, reverse) => {
  const check = ({ names, reverse: own }: Record<"names" | "reverse", readonly number[]>) => {
    expect(names).toHaveLength(1);
    expect(reverse).toContain(own.length);
    return [...names, ...own];
  };
  const mostBytes = (lengths: readonly number[]) =>
    sum(lengths) + (lengths.length + 3) * ENTRY_BYTES + (lengths.length + 2) * 4;

  it("a secondary fetches, with the entries of the directory, in one response", async () => {
    const { open, overHttp, sent, ask, changed, follow } = await openWorld();
    const counters = new TransferCounters();
    const secondary = open({ source: overHttp(counters) });
    await ask(secondary);
    const whole = read(counters);
    expect(whole.segments).toBeGreaterThan(8);
    expect(whole.bytes).toBe(sum(sent.map(({ bytes }) => bytes)));
    const lengths = check(await changed(change));
    sent.length = 0;
    await follow(secondary);
    const fetched = difference(counters, whole);
    expect(sent.map(({ path }) => path)).toEqual([expect.stringContaining("/roots/")]);
    expect(fetched).toEqual({
      ...{ segments: lengths.length, bytes: sent[0]!.bytes },
      ...{ cachedSegments: 0, cachedBytes: 0 },
    });
    expect(sent[0]!.bytes).toBeLessThanOrEqual(mostBytes(lengths));
  });

  it("an isolate fetches the same for its whole location; others take what they use from the cache", async () => {
    const { clock, open, overHttp, sent, ask, changed, follow } = await openWorld();
    const cache = new FakeCache(clock);
    const isolate = () => {
      const counters = new TransferCounters();
      const source = new CachedTransferSource({
        ...{ source: overHttp(counters), cache, counters, key: "https://object.invalid" },
        background: (work) => void work,
        clock: () => clock.now(),
        sleep: (milliseconds) => new Promise((resolve) => void clock.setTimer(milliseconds, resolve)),
      });
      const segments = new SegmentCache<never>(1024 * 1024);
      return { counters, segments, secondary: open({ source, cache: segments }) };
    };
    const [first, second] = [isolate(), isolate()];
    await ask(first.secondary);
    await ask(second.secondary);
    expect(read(first.counters)).toMatchObject({ segments: 1, cachedSegments: 0 });
    expect(read(second.counters)).toMatchObject({ segments: 0, bytes: 0, cachedSegments: 1 });
    expect([first.segments.hits, first.segments.misses]).toEqual([1, 1]);
    const before = [read(first.counters), read(second.counters)] as const;
    const lengths = check(await changed(change));
    sent.length = 0;
    await follow(first.secondary);
    expect(sent.map(({ path }) => path)).toEqual([expect.stringContaining("/roots/")]);
    expect(difference(first.counters, before[0])).toEqual({
      ...{ segments: lengths.length, bytes: sent[0]!.bytes },
      ...{ cachedSegments: 0, cachedBytes: 0 },
    });
    expect(sent[0]!.bytes).toBeLessThanOrEqual(mostBytes(lengths));
    // Two queries, of which neither waited for a segment: it had come with the root.
    expect([first.segments.hits, first.segments.misses]).toEqual([2, 1]);
    await follow(second.secondary);
    expect(sent).toHaveLength(1);
    expect(difference(second.counters, before[1])).toMatchObject({
      ...{ segments: 0, bytes: 0, cachedSegments: 1 },
    });
  });
});
