import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_REFRESH_POLICY } from "../../src/transfer/refresh-policy.ts";
import { settle } from "../gateway/fake-clock.ts";
import { realStages } from "../gateway/real-stages.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { extendedErrors } from "../resolve/extended-errors.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { openPair, seeded, WEB } from "./pair.ts";

const { limit, wait, firstWait, longestRetry } = DEFAULT_REFRESH_POLICY;
/** Time passes in these steps, in milliseconds; each is looked at. */
const STEP = 50;
const QUERIES = [WEB, "web-2.west.web.shop.svc.clusterset.local", "2.0.0.10.in-addr.arpa"].map((name) =>
  encodeQuery(name, name.endsWith("arpa") ? "PTR" : "A"),
);
const NOT_READY = 14;
const STALE = [3, 19];

type Command =
  | { readonly do: "push"; readonly cluster: string; readonly endpoints: number; readonly lease: number }
  | { readonly do: "leave"; readonly cluster: string }
  | { readonly do: "network"; readonly fails: boolean; readonly latency: number }
  | { readonly do: "tear"; readonly torn: boolean }
  | { readonly do: "pass"; readonly steps: number }
  | { readonly do: "ask" };

const cluster = fc.constantFrom("east", "west");
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("push" as const),
      cluster,
      endpoints: fc.integer({ min: 1, max: 4 }),
      lease: fc.constantFrom(5, 10, 60),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("leave" as const), cluster }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("network" as const),
      fails: fc.boolean(),
      latency: fc.constantFrom(0, 50, 400, 1500),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("tear" as const), torn: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("pass" as const), steps: fc.constantFrom(1, 7, 19, 21, 40, 90) }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("ask" as const) }) },
);

/** What the primary served from a time on. */
interface Epoch {
  readonly from: number;
  readonly ready: boolean;
  /** Answers a query as the primary would have, had it been asked later. */
  readonly answer: (query: Uint8Array, now: number) => Uint8Array;
}

/** @param shares whether another secondary asks as often, and both share what the primary says */
async function openWatched(shares: boolean, seed: number) {
  const { clock, gateway, secondary, source, open } = await openPair({}, { random: seeded(seed) });
  source.keeps = shares;
  const other = open();
  const stages = realStages();
  const history: Epoch[] = [];
  let last = "";

  const look = () => {
    const now = clock.now();
    const served = gateway.current(now);
    const seen = served === undefined ? "" : `${served.image.contentHash} ${served.leaseExpiry.join()}`;
    if (seen === last && history.length > 0) return;
    last = seen;
    if (served === undefined) {
      history.push({ from: now, ready: false, answer: (query) => stages.notReady(query)!.bytes });
      return;
    }
    const { image } = served;
    const leaseExpiry = served.leaseExpiry.slice();
    history.push({
      from: now,
      ready: true,
      answer: (query, at) =>
        stages.resolve(query, { image, leaseExpiry, view: undefined, now: at, stale: false })!.bytes,
    });
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
    if (one.do === "push")
      await until(gateway.replace(one.cluster, shopSnapshot(one.cluster, one.endpoints), one.lease));
    else if (one.do === "leave") await until(gateway.leave(one.cluster));
    else if (one.do === "network") {
      source.failure = one.fails ? new Error("unreachable") : undefined;
      source.stateLatency = source.imageLatency = one.latency;
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
    return { bytes: secondary.answer(query, undefined, now)!.bytes, now, waited: now - asked };
  };
  return { clock, gateway, source, look, between, apply, ask };
}

describe("after any changes and failures", () => {
  it("an answer is what the primary served at most `limit` ago, or says that it is stale or not ready", async () => {
    const seen = { fresh: 0, stale: 0, notReady: 0, changed: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 5, maxLength: 40 }),
        fc.boolean(),
        fc.nat(),
        async (commands, shares, seed) => {
          const { clock, source, look, between, apply, ask } = await openWatched(shares, seed);
          let servedSince = Number.POSITIVE_INFINITY;
          look();
          for (const one of commands) {
            await apply(one);
            if (one.do === "tear")
              source.changeImage = (bytes) => {
                // The very first image is checked while it answers.
                if (one.torn && servedSince < clock.now()) bytes[bytes.length - 1]! ^= 1;
                return bytes;
              };
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
                // Not as long as an image is here and the primary never said so.
                if (servedSince <= now)
                  expect(between(servedSince, now).map(({ ready }) => ready)).toContain(false);
                seen.notReady++;
                continue;
              }
              servedSince = Math.min(servedSince, now);
              const candidates = between(now - limit - STEP, now).map(({ answer }) => answer(query, now));
              expect(candidates.map(hex)).toContain(hex(bytes));
              if (new Set(candidates.map(hex)).size > 1) seen.changed++;
              seen.fresh++;
            }
          }
        },
      ),
      { numRuns: 800 },
    );
    // Each of them has to come up, else this shows little.
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(50);
  });

  it("once the primary can be reached, the newest is answered within the longest retry and the bound", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 5, maxLength: 25 }),
        fc.boolean(),
        fc.nat(),
        async (commands, shares, seed) => {
          const { clock, gateway, apply, ask } = await openWatched(shares, seed);
          for (const one of commands) {
            await apply(one);
            if (one.do === "ask") await ask(QUERIES[0]!);
          }
          await apply({ do: "network", fails: false, latency: 100 });
          await apply({ do: "push", cluster: "west", endpoints: 2, lease: 3600 });
          await apply({ do: "push", cluster: "east", endpoints: 4, lease: 3600 });
          await clock.advance(longestRetry * 1.25 + limit);
          for (const query of QUERIES) {
            const { bytes, now } = await ask(query);
            expect(hex(bytes)).toBe(hex(gateway.answer(query, undefined, now)!.bytes));
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
