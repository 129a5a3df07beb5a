import { decode } from "dns-packet";
import fc from "fast-check";
import { expect, it } from "vitest";
import { DEFAULT_REFRESH_POLICY } from "../../src/transfer/refresh-schedule.ts";
import { settle } from "../gateway/fake-clock.ts";
import { answerNow } from "../gateway/open-keyed.ts";
import { expectMet } from "../property-share.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { extendedErrors } from "../resolve/extended-errors.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { openPair, seeded, WEB } from "./pair.ts";

const { limit, wait, firstWait, longestRetry } = DEFAULT_REFRESH_POLICY;
const QUERIES = [WEB, "web-2.west.web.shop.svc.clusterset.local", "2.0.0.10.in-addr.arpa"].map((name) =>
  encodeQuery(name, name.endsWith("arpa") ? "PTR" : "A"),
);
const NOT_READY = 14;
const STALE = [3, 19];

/** Time passes in these steps, in milliseconds; each is looked at. */
const STEP = 50;

const cluster = fc.constantFrom("east", "west");
/** Something that happens to a primary, a secondary, or the way between them. */
const command = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("push" as const),
      cluster,
      endpoints: fc.integer({ min: 1, max: 4 }),
      lease: fc.constantFrom<number>(5, 10, 60),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave" as const), cluster }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("network" as const),
      fails: fc.boolean(),
      latency: fc.constantFrom<number>(0, 50, 400, 1500),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("tear" as const), torn: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("pass" as const),
      steps: fc.constantFrom<number>(1, 7, 19, 21, 40, 90),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("ask" as const) }) },
);

type Command = typeof command extends fc.Arbitrary<infer One> ? One : never;

/** What the primary served from a time on. */
interface Epoch {
  readonly from: number;
  readonly ready: boolean;
  /** Until when the longest lease runs; no TTL is longer. */
  readonly leasedUntil: number;
  readonly answers: ReadonlyMap<Uint8Array, Uint8Array>;
}

/**
 * A primary whose answers to `QUERIES` are remembered, of each state, and a secondary of it.
 * @param shares whether another secondary asks as often, and both share what the primary says
 */
async function openWatched(shares: boolean, seed: number) {
  const { clock, held, gateway, secondary, source, open } = await openPair({}, { random: seeded(seed) });
  source.keeps = shares;
  const other = open();
  const history: Epoch[] = [];
  let last = "";

  const look = () => {
    const now = clock.now();
    const { ready, clusters } = gateway.everything.status();
    const leases = clusters.map(({ expiresAt }) => expiresAt);
    const seen = ready ? `${gateway.state.position} ${leases}` : "";
    if (seen === last && history.length > 0) return;
    last = seen;
    const answers = new Map(
      QUERIES.map((query) => [query, answerNow(gateway.everything, query, undefined, now).bytes]),
    );
    history.push({ from: now, ready, leasedUntil: ready ? Math.max(0, ...leases) : 0, answers });
  };
  const pass = async (steps: number) => {
    for (let step = 0; step < steps; step++) {
      if (shares) other.freshen(clock.now());
      await clock.advance(STEP);
      look();
    }
  };
  /** Waits for a change, looking all the time. */
  const until = async (change: Promise<unknown>) => {
    let settled = false;
    change.then(() => {
      settled = true;
    });
    for (await settle(); !settled; await settle()) {
      await clock.advance(1);
      look();
    }
    look();
  };
  const apply = async (one: Command) => {
    if (one.do === "push") await until(held.put(shopSnapshot(one.cluster, one.endpoints), one.lease));
    else if (one.do === "leave") await until(gateway.leave(one.cluster));
    else if (one.do === "network") {
      source.failure = one.fails ? new Error("unreachable") : undefined;
      source.stateLatency = one.latency;
      source.partLatency = () => one.latency;
    } else if (one.do === "pass") await pass(one.steps);
  };
  /** What the primary served at some time between. */
  const between = (from: number, to: number) =>
    history.filter(
      (epoch, index) => epoch.from <= to && (history[index + 1]?.from ?? Number.POSITIVE_INFINITY) >= from,
    );
  /** Asks one query as a host does, and says what came, when, and after how long. */
  const ask = async (query: Uint8Array) => {
    const asked = clock.now();
    const fresh = secondary.freshen(asked);
    let waits = fresh !== undefined;
    fresh?.then(() => {
      waits = false;
    });
    await clock.advance(0);
    while (waits) await pass(1);
    const now = clock.now();
    const answer = Promise.resolve(secondary.answer(query, undefined, now));
    await until(answer);
    return { bytes: (await answer)!.bytes, now: clock.now(), waited: now - asked };
  };
  return { clock, gateway, source, look, between, apply, ask };
}

it("after any changes and failures an answer is what the primary served at most `limit` ago, or says that it is stale or not ready; once the primary can be reached, the newest is answered within the longest retry and the bound", async () => {
  const seen = { fresh: 0, stale: 0, notReady: 0, changed: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { minLength: 5, maxLength: 40 }),
      fc.boolean(),
      fc.nat(),
      async (commands, shares, seed) => {
        const { clock, gateway, source, look, between, apply, ask } = await openWatched(shares, seed);
        let servedSince = Number.POSITIVE_INFINITY;
        let isTorn = false;
        source.changePart = (bytes) => {
          if (isTorn) bytes[bytes.length - 1]! ^= 1;
          return bytes;
        };
        look();
        for (const one of commands) {
          await apply(one);
          if (one.do === "tear") isTorn = one.torn;
          if (one.do !== "ask") continue;
          for (const query of QUERIES) {
            const { bytes, now, waited } = await ask(query);
            expect(waited).toBeLessThanOrEqual((servedSince <= now ? wait : firstWait) + STEP);
            const errors = extendedErrors(bytes);
            if (errors.some((code) => STALE.includes(code))) {
              seen.stale++;
              continue;
            }
            if (errors.includes(NOT_READY)) {
              // Not as long as parts can be fetched and the primary never said so.
              if (servedSince <= now && !isTorn && source.failure === undefined)
                expect(between(servedSince, now).map(({ ready }) => ready)).toContain(false);
              seen.notReady++;
              continue;
            }
            servedSince = Math.min(servedSince, now);
            const served = between(now - limit - STEP, now);
            const candidates = served.map(({ answers }) => contentOf(answers.get(query)!));
            // A key may be newer than the leases with which it is answered.
            expect(candidates).toContain(contentOf(bytes));
            const leasedUntil = Math.max(...served.map((epoch) => epoch.leasedUntil));
            expect(ttlOf(bytes) * 1000).toBeLessThanOrEqual(Math.max(0, leasedUntil - now));
            if (new Set(candidates).size > 1) seen.changed++;
            seen.fresh++;
          }
        }
        isTorn = false;
        await apply({ do: "network", fails: false, latency: 100 });
        await apply({ do: "push", cluster: "west", endpoints: 2, lease: 3600 });
        await apply({ do: "push", cluster: "east", endpoints: 4, lease: 3600 });
        await clock.advance(longestRetry * 1.25 + limit);
        for (const query of QUERIES) {
          const { bytes, now } = await ask(query);
          const newest = answerNow(gateway.everything, query, undefined, now);
          expect(decode(Buffer.from(bytes))).toEqual(decode(Buffer.from(newest.bytes)));
        }
      },
    ),
    { numRuns: 800 },
  );
  // Each of them has to come up, else this shows little.
  expectMet(Math.min(...Object.values(seen)), 50);
});

/** An answer without TTLs and serial. */
function contentOf(bytes: Uint8Array): string {
  const { answers = [], flags, questions } = decode(Buffer.from(bytes));
  const records = answers.map((record) => ({ ...record, ttl: 0 }));
  return JSON.stringify([flags, questions, records]);
}

/** The longest TTL of an answer; 0 where it has no records. */
function ttlOf(bytes: Uint8Array): number {
  const { answers = [] } = decode(Buffer.from(bytes));
  return Math.max(0, ...answers.map((record) => (record as { ttl: number }).ttl));
}
