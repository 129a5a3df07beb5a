import { decode } from "dns-packet";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_REFRESH_POLICY } from "../../src/transfer/refresh-schedule.ts";
import { answerNow } from "../gateway/open-keyed.ts";
import { expectMet } from "../property-share.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { extendedErrors } from "../resolve/extended-errors.ts";
import { WEB } from "./pair.ts";
import { command, openWatched, STEP } from "./watched.ts";

const { limit, wait, firstWait, longestRetry } = DEFAULT_REFRESH_POLICY;
const QUERIES = [WEB, "web-2.west.web.shop.svc.clusterset.local", "2.0.0.10.in-addr.arpa"].map((name) =>
  encodeQuery(name, name.endsWith("arpa") ? "PTR" : "A"),
);
const NOT_READY = 14;
const STALE = [3, 19];

describe("after any changes and failures", () => {
  it("an answer is what the primary served at most `limit` ago, or says that it is stale or not ready", async () => {
    const seen = { fresh: 0, stale: 0, notReady: 0, changed: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 5, maxLength: 40 }),
        fc.boolean(),
        fc.nat(),
        async (commands, shares, seed) => {
          const { source, look, between, apply, ask } = await openWatched(shares, seed, QUERIES);
          let servedSince = Number.POSITIVE_INFINITY;
          let isTorn = false;
          look();
          for (const one of commands) {
            await apply(one);
            if (one.do === "tear") {
              isTorn = one.torn;
              source.changePart = (bytes) => {
                if (one.torn) bytes[bytes.length - 1]! ^= 1;
                return bytes;
              };
            }
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
              const candidates = served.map(({ answer }) => answer(query, now));
              // A key may be newer than the leases with which it is answered.
              expect(candidates.map(contentOf)).toContain(contentOf(bytes));
              const leasedUntil = Math.max(...served.map((epoch) => epoch.leasedUntil));
              expect(ttlOf(bytes) * 1000).toBeLessThanOrEqual(Math.max(0, leasedUntil - now));
              if (new Set(candidates.map(hex)).size > 1) seen.changed++;
              seen.fresh++;
            }
          }
        },
      ),
      { numRuns: 800 },
    );
    // Each of them has to come up, else this shows little.
    expectMet(Math.min(...Object.values(seen)), 50);
  });

  it("once the primary can be reached, the newest is answered within the longest retry and the bound", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 5, maxLength: 25 }),
        fc.boolean(),
        fc.nat(),
        async (commands, shares, seed) => {
          const { clock, gateway, apply, ask } = await openWatched(shares, seed, QUERIES);
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
            expect(hex(bytes)).toBe(hex(answerNow(gateway.everything, query, undefined, now).bytes));
          }
        },
      ),
      { numRuns: 100 },
    );
  });
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

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
