import { describe, expect, it } from "vitest";
import { createDirectory } from "../../src/http/pages/directory.ts";
import { SegmentCache } from "../../src/transfer/parts/segment-cache.ts";
import type { Secondary } from "../../src/transfer/secondary.ts";
import { putSnapshot } from "../gateway/pushes.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { emptySnapshot, headlessExport } from "../snapshot/worlds.ts";
import { openPair } from "./pair.ts";

const ZONE = "svc.clusterset.local";
const SERVICES = 600;
const KIBIBYTE = 1024;

/** A snapshot with that many services of two endpoints each; `changed` has a third one. */
function worldOf(services: number, changed = -1) {
  const exports = Object.fromEntries(
    Array.from({ length: services }, (_, index) => [
      `shop/web-${index}`,
      { ...headlessExport(index === changed ? 3 : 2), exportedAt: "2024-01-01T00:00:00Z" },
    ]),
  );
  return { ...emptySnapshot("west"), namespaces: { shop: {} }, exports };
}

/** A primary with many segments, and an isolate: a secondary that has the segments in memory that queries needed. */
async function openIsolate(cacheBytes = 1024 * KIBIBYTE) {
  const pair = await openPair({}, { cache: new SegmentCache(cacheBytes) });
  const { gateway, done, source } = pair;
  const change = (changed?: number) =>
    done(putSnapshot(gateway, worldOf(SERVICES, changed), { leaseSeconds: 3600 }));
  await change();
  const forget = () => {
    source.roots.length = source.segments.length = source.states.length = 0;
  };
  return { ...pair, change, forget };
}

describe("an isolate that is cold", () => {
  it("needs one more for a reverse name, and answers as the primary does", async () => {
    const { clock, gateway, secondary, source, ask, done } = await openIsolate();
    await ask(`web-7.shop.${ZONE}`);
    const names = [
      `web-7.shop.${ZONE}`,
      `web-8.shop.${ZONE}`,
      `no.shop.${ZONE}`,
      "0.0.0.10.in-addr.arpa",
      "shop.test",
    ];
    for (const name of names)
      for (const type of ["A", "PTR", "SOA"]) {
        const query = encodeQuery(name, type);
        const answer = await done(Promise.resolve(secondary.answer(query, undefined, clock.now())));
        expect(answer, `${name} ${type}`).toEqual(gateway.answer(query, undefined, clock.now()));
      }
    expect(new Set(source.segments).size).toBe(source.segments.length);
    expect(source.segments.length).toBeLessThanOrEqual(4);
  });
});

describe("segments in memory", () => {
  it("stay within the bound, those that queries used last", async () => {
    const bound = 64 * KIBIBYTE;
    const cache = new SegmentCache<never>(bound);
    const pair = await openPair({}, { cache });
    await pair.done(putSnapshot(pair.gateway, worldOf(SERVICES), { leaseSeconds: 3600 }));
    let most = 0;
    await pair.ask(`web-1.shop.${ZONE}`);
    for (let service = 0; service < SERVICES; service += 5) {
      expect((await pair.ask(`web-${service}.shop.${ZONE}`)).addresses).toHaveLength(2);
      // Asked again and again, it stays.
      await pair.ask(`web-1.shop.${ZONE}`);
      most = Math.max(most, cache.bytes);
    }
    expect(most).toBeLessThanOrEqual(bound);
    expect(most).toBeGreaterThan(bound / 2);
    const first = pair.source.segments[0];
    expect(pair.source.segments.filter((hash) => hash === first).length).toBeLessThanOrEqual(2);
    expect(pair.source.segments.length).toBeGreaterThan(8);
  });

  it("are shared by queries that come at the same time: one of them fetches", async () => {
    const { clock, source, secondary, done, ask } = await openIsolate();
    await ask(`web-7.shop.${ZONE}`);
    source.segments.length = 0;
    source.segmentLatency = 30;
    const other = await otherSegment({ secondary, source, ask });
    source.segments.length = 0;
    const query = encodeQuery(other, "A");
    const answers = Array.from({ length: 50 }, () =>
      Promise.resolve(secondary.answer(query, undefined, clock.now())),
    );
    for (const answer of await done(Promise.all(answers))) expect(answer?.outcome).toBe("answer");
    expect(source.segments.length).toBeLessThanOrEqual(1);
  });

  it("that another query's cancelled request was to bring are fetched after a while", async () => {
    const { clock, source, secondary, done, ask } = await openIsolate();
    await ask("clusterset.local");
    source.hangs = true;
    const query = encodeQuery(`web-7.shop.${ZONE}`, "A");
    void secondary.answer(query, undefined, clock.now());
    source.hangs = false;
    const started = clock.now();
    const answer = await done(Promise.resolve(secondary.answer(query, undefined, clock.now())));
    expect(answer?.outcome).toBe("answer");
    expect(clock.now() - started).toBeLessThan(500);
  });
});

describe("a segment that cannot be had", () => {
  it("leaves SERVFAIL with Not Ready for its names alone, and is requested again", async () => {
    const { source, ask, events } = await openIsolate();
    await ask(`web-1.shop.${ZONE}`);
    source.rootFailure = new Error("connection refused");
    const other = `web-${await serviceInOtherSegment(source, ask)}.shop.${ZONE}`;
    expect(await ask(other)).toMatchObject({ rcode: "SERVFAIL", errors: [14] });
    expect(await ask(`web-1.shop.${ZONE}`)).toMatchObject({ rcode: "NOERROR" });
    expect(events).toContainEqual(expect.objectContaining({ event: "segment-unavailable" }));
    source.rootFailure = undefined;
    expect(await ask(other)).toMatchObject({ rcode: "NOERROR" });
  });

  it("is looked for in the next generation where it was replaced", async () => {
    const { clock, source, ask, change } = await openIsolate();
    await ask(`web-1.shop.${ZONE}`);
    await change(20);
    // Longer than the primary keeps what it replaced, shorter than the secondary asks for a state.
    let gone = 1;
    source.changeSegment = (bytes) => (gone-- > 0 ? "gone" : bytes);
    expect((await ask(`web-20.shop.${ZONE}`)).addresses).toHaveLength(3);
    expect(clock.timers).toBeLessThanOrEqual(1);
  });

  it("is given up where it is gone for ever", async () => {
    const { source, ask } = await openIsolate();
    await ask("clusterset.local");
    source.changeSegment = () => "gone";
    expect(await ask(`web-20.shop.${ZONE}`)).toMatchObject({ rcode: "SERVFAIL" });
    expect(source.segments.length).toBeLessThanOrEqual(3);
  });

  it("is bad: it is rejected, dropped, and not in memory", async () => {
    const { source, ask, events } = await openIsolate();
    await ask("clusterset.local");
    source.changeSegment = (bytes) => {
      bytes[bytes.length >> 1]! ^= 1;
      return bytes;
    };
    expect(await ask(`web-20.shop.${ZONE}`)).toMatchObject({ rcode: "SERVFAIL" });
    expect(source.dropped).toEqual([`segment ${source.segments.at(-1)}`]);
    expect(events).toContainEqual(expect.objectContaining({ event: "part-rejected", part: "segment" }));
    source.changeSegment = (bytes) => bytes;
    expect(await ask(`web-20.shop.${ZONE}`)).toMatchObject({ rcode: "NOERROR" });
  });
});

describe("the list of services", () => {
  it("is complete: an isolate fetches the segments that it lacks", async () => {
    const { source, secondary, ask, done } = await openIsolate();
    await ask(`web-1.shop.${ZONE}`);
    const { services } = createDirectory(() => secondary.listed);
    const list = await done(Promise.resolve(services({ offset: 10, most: 3, words: [], view: undefined })));
    expect(list).toMatchObject({ total: SERVICES, entries: [{}, {}, {}] });
    expect(new Set(source.segments).size).toBe(source.segments.length);
  });

  it("is left to the primary where the segments do not fit into memory, or cannot be had", async () => {
    const small = await openIsolate(64 * KIBIBYTE);
    const torn = await openIsolate();
    for (const { ask, done, secondary, source } of [small, torn]) {
      await ask(`web-1.shop.${ZONE}`);
      if (secondary === torn.secondary) source.rootFailure = new Error("connection refused");
      const { services } = createDirectory(() => secondary.listed);
      const list = await done(Promise.resolve(services({ offset: 0, most: 3, words: [], view: undefined })));
      expect(list).toMatchObject({ missing: expect.stringMatching(/look at the page of the primary/) });
    }
  });
});

type Isolate = Pick<Awaited<ReturnType<typeof openIsolate>>, "source" | "ask">;

/** The number of a service in a segment that is not in memory. */
async function serviceInOtherSegment(source: Isolate["source"], ask: Isolate["ask"]): Promise<number> {
  for (let service = 2; ; service++) {
    const before = source.segments.length;
    await ask(`web-${service}.shop.${ZONE}`);
    if (source.segments.length > before) return service;
  }
}

async function otherSegment({ source, ask }: Isolate & { readonly secondary: Secondary }): Promise<string> {
  return `web-${(await serviceInOtherSegment(source, ask)) + 1}.shop.${ZONE}`;
}
