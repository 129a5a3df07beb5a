import fc from "fast-check";
import { expect, it } from "vitest";
import { CLOCK_TOLERANCE } from "../../../src/database/ranks.ts";
import { expectMet } from "../../property-share.ts";
import { day, HOUR, MINUTE, openSharedService, type SharedService } from "../shared-service.ts";

const LEASE = HOUR;
const STARTS = day(3);

/**
 * What happens to one of two clusters. Times are in minutes, and claimed ones relative to now, or else to the
 * start.
 */
type Step = { readonly who: "east" | "west"; readonly passes: number } & (
  | { readonly does: "put" | "patch"; readonly claims: Claim | undefined; readonly namespace: boolean }
  | { readonly does: "renew" | "leave" | "restart" | "nothing" }
);
type Claim = { readonly ago: number } | { readonly at: number };

const passes = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 8 }) },
  { weight: 2, arbitrary: fc.integer({ min: 9, max: 70 }) },
  fc.integer({ min: 71, max: 3000 }),
);
const claim: fc.Arbitrary<Claim> = fc.oneof(
  fc.record({ ago: fc.constantFrom(-9, -3, 0, 1, 2, 4, 6, 30, 90) }),
  fc.record({ at: fc.constantFrom(-3_000_000, -40, 0, 5, 100) }),
);
const who = fc.constantFrom("east" as const, "west" as const);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      who,
      passes,
      does: fc.constantFrom("put" as const, "patch" as const),
      claims: fc.option(claim, { nil: undefined, freq: 3 }),
      namespace: fc.integer({ min: 0, max: 5 }).map((number) => number > 0),
    }),
  },
  fc.record({
    who,
    passes,
    does: fc.constantFrom("renew" as const, "leave" as const, "restart" as const, "nothing" as const),
  }),
);

/** A claim to be older than a service of the other cluster, by one that was seen without it meanwhile. */
const lateClaim: fc.Arbitrary<Step[]> = fc
  .record({ who, passes, ago: fc.integer({ min: 2, max: 4 }), does: fc.constantFrom("put", "patch") })
  .map(({ who, passes, ago, does }) => {
    const other = who === "east" ? "west" : "east";
    const push = { does, namespace: true } as const;
    return [
      { ...push, who, passes, claims: undefined },
      { ...push, who: other, passes: 1, claims: { ago: 0 } },
      { ...push, who, passes: 1, claims: { ago } },
    ];
  });
const steps = fc
  .array(fc.oneof({ weight: 6, arbitrary: step.map((one) => [one]) }, { arbitrary: lateClaim, weight: 1 }), {
    minLength: 4,
    maxLength: 24,
  })
  .map((some) => some.flat());

/** A sight of a cluster, or its leaving: all that the slow model knows. */
interface Sight {
  readonly at: number;
  /** The creation time of the export that is served; undefined where there is none. */
  readonly claimed: number | undefined;
  readonly left?: true;
}

/**
 * When an export began to be served, and from when it counts: by one walk through the whole history of its
 * cluster.
 */
function rankOf(
  history: readonly Sight[],
): { readonly servedAt: number; readonly counts: number } | undefined {
  const sights = history.filter(({ left }) => left === undefined);
  const last = sights.at(-1);
  if (last?.claimed === undefined) return undefined;
  const { claimed } = last;
  const before = sights.findLast((sight) => sight.claimed !== claimed);
  const first = sights[before === undefined ? 0 : sights.indexOf(before) + 1]!;
  const wasLive =
    before !== undefined &&
    first.at - before.at < LEASE &&
    !history.slice(history.indexOf(before), history.indexOf(first)).some(({ left }) => left);
  const isSeen = wasLive && claimed >= before.at && claimed >= first.at - CLOCK_TOLERANCE;
  const isPlausible = claimed <= first.at + CLOCK_TOLERANCE && claimed >= Date.UTC(2020);
  return { servedAt: first.at, counts: isSeen && isPlausible ? Math.min(claimed, first.at) : first.at };
}

function isLive(history: readonly Sight[], now: number): boolean {
  const last = history.at(-1);
  return last !== undefined && last.left === undefined && now - last.at < LEASE;
}

/** Carries a step out, and writes down what the gateway saw. */
async function carryOut(world: SharedService, one: Step, histories: Record<Step["who"], Sight[]>) {
  const now = world.clock.now();
  const history = histories[one.who];
  if (one.does === "restart") return world.restart();
  if (one.does === "leave") {
    await world.leave(one.who);
    history.push({ at: now, claimed: history.at(-1)?.claimed, left: true });
  }
  if (one.does === "renew" && isLive(history, now)) {
    await world.renew(one.who);
    history.push({ at: now, claimed: history.at(-1)!.claimed });
  }
  if (one.does !== "put" && one.does !== "patch") return;
  const { claims, namespace } = one;
  const claimed =
    claims === undefined
      ? undefined
      : "ago" in claims
        ? now - claims.ago * MINUTE
        : STARTS + claims.at * MINUTE;
  const reported = { namespace, ...(claimed !== undefined && { exportedAt: claimed }) };
  await world[isLive(history, now) ? one.does : "put"](one.who, reported);
  history.push({ at: now, claimed: namespace ? claimed : undefined });
}

it("whatever two clusters do, the gateway ranks them as the slow model, and none overtakes what was served 5 minutes before", async () => {
  let runs = 0;
  let compared = 0;
  let kept = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (steps) => {
      runs++;
      const world = openSharedService();
      for (const cluster of ["east", "west"]) await world.put(cluster);
      await world.at(STARTS);
      const histories = { east: [] as Sight[], west: [] as Sight[] };
      for (const one of steps) {
        await world.at(world.clock.now() + one.passes * MINUTE);
        await carryOut(world, one, histories);
        const now = world.clock.now();
        const [east, west] = (["east", "west"] as const).map((id) =>
          isLive(histories[id], now) ? rankOf(histories[id]) : undefined,
        );
        const first =
          west === undefined || (east !== undefined && east.counts <= west.counts) ? "east" : "west";
        expect(world.owner()).toBe(east === undefined && west === undefined ? undefined : first);
        if (east === undefined || west === undefined) continue;
        compared++;
        if (Math.abs(east.servedAt - west.servedAt) <= CLOCK_TOLERANCE) continue;
        kept++;
        expect(world.owner()).toBe(east.servedAt < west.servedAt ? "east" : "west");
      }
    }),
    { numRuns: 300 },
  );
  expectMet(compared, runs);
  expectMet(kept, runs / 3);
});
