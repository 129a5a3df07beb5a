import { decode } from "dns-packet";
import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { CLOCK_TOLERANCE, FOUNDING } from "../../src/database/ranks.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { exported, snapshot } from "../merge/fixtures.ts";
import { expectMet } from "../property-share.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { TurningClock } from "./fake-clock.ts";
import { patchCluster, putSnapshot } from "./open-gateway.ts";
import { answerNow, memoryDatabase, openKeyed } from "./open-keyed.ts";

const BEGAN = Date.parse("2026-06-01T00:00:00Z");
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** When a day begins: day 1 is the gateway's first. */
const day = (number: number) => BEGAN + (number - 1) * DAY;
const iso = (at: number) => new Date(at).toISOString();

/**
 * The clusters that may export the service, each with a port of its own, by which its answers are recognized.
 * Hostile ones sort first.
 */
const PORTS: Readonly<Record<string, number>> = { east: 1001, north: 1002, west: 1003 };

/** How a cluster reports `shop/web`: with its creation time, or not at all. */
interface Reported {
  readonly exportedAt?: number | string;
  /** Default: the cluster has the namespace. */
  readonly namespace?: boolean;
}

/** A cluster that exports `shop/web` on its own port, or does not. */
function reporting(clusterId: string, { exportedAt, namespace = true }: Reported): ClusterSnapshot {
  const time = typeof exportedAt === "number" ? iso(exportedAt) : exportedAt;
  const number = PORTS[clusterId]!;
  const web =
    time === undefined
      ? {}
      : {
          "shop/web": exported({
            exportedAt: time,
            ports: [{ name: "http", protocol: "TCP", port: number }],
            externalIPs: [`10.0.0.${number - 1000}`],
          }),
        };
  return snapshot(clusterId, { namespaces: namespace ? { shop: {} } : {}, exports: web });
}

/** A gateway on a clock of its own, whose clusters all know one service. */
function openSharedService() {
  const clock = new TurningClock(BEGAN);
  const database = memoryDatabase();
  const open = () => openKeyed({ database, clock });
  let gateway = open();
  const generations = new Map<string, number>();
  const ask = () => {
    const query = encodeQuery("_http._tcp.web.shop.svc.clusterset.local", "SRV");
    return decode(Buffer.from(answerNow(gateway.everything, query, undefined, clock.now()).bytes));
  };
  return {
    clock,
    /** Sets the clock, and lets pass what happens until then. It goes back, too, with no timer. */
    at: async (time: number) => {
      const now = clock.now();
      if (time >= now) await clock.advance(time - now);
      else clock.stall(time - now);
    },
    put: async (clusterId: string, reported: Reported = {}, lease = 3600) => {
      const pushed = await putSnapshot(gateway, reporting(clusterId, reported), { leaseSeconds: lease });
      generations.set(clusterId, pushed.generation);
    },
    /** A delta that changes the snapshot to what is reported. */
    patch: async (clusterId: string, reported: Reported = {}, lease = 3600) => {
      const { exports, namespaces } = reporting(clusterId, reported);
      const delta = {
        namespaces: { shop: namespaces.shop ?? null },
        exports: { "shop/web": exports["shop/web"] ?? null },
      };
      const base = generations.get(clusterId)!;
      const pushed = await patchCluster(gateway, clusterId, base, delta, { leaseSeconds: lease });
      generations.set(clusterId, pushed.generation);
    },
    renew: (clusterId: string, lease = 3600) =>
      gateway.renew(clusterId, generations.get(clusterId)!, { leaseSeconds: lease }),
    leave: (clusterId: string) => gateway.leave(clusterId),
    /** Opens another gateway over what the first one stored. */
    restart: async () => {
      await gateway.close();
      gateway = open();
    },
    /** The cluster whose port is answered, as clients see it; undefined where there is none. */
    owner: () => {
      const { answers = [] } = ask();
      const ports = new Set(answers.map((one) => (one.type === "SRV" ? one.data.port : 0)));
      return Object.keys(PORTS).find((clusterId) => ports.has(PORTS[clusterId]!));
    },
    /** The findings of implausible creation times. */
    implausible: async () =>
      (await gateway.everything.survey())!.findings.filter(({ reason }) => reason === "ImplausibleTimestamp"),
  };
}

type SharedService = ReturnType<typeof openSharedService>;

let world: SharedService;
beforeEach(() => {
  world = openSharedService();
});

describe("an export of which another cluster has the service", () => {
  beforeEach(async () => {
    await world.put("east");
    await world.put("north");
    await world.put("west", { exportedAt: day(1) - DAY });
    await world.at(day(40));
    await world.put("west", { exportedAt: day(1) - DAY });
    await world.put("east");
  });
  const attempts: [string, () => Promise<unknown>][] = [
    ["an old time", () => world.put("east", { exportedAt: "2020-01-01T00:00:01Z" })],
    ["an impossible time", () => world.put("east", { exportedAt: "1970-01-01T00:00:00Z" })],
    ["a time ahead", () => world.put("east", { exportedAt: "2999-01-01T00:00:00Z" })],
    ["a time with an offset", () => world.put("east", { exportedAt: "2020-01-02T00:00:00+14:00" })],
    [
      "an old time of a cluster that nobody knew",
      async () => {
        await world.leave("north");
        await world.put("north", { exportedAt: day(0) });
      },
    ],
    [
      "an old time while the clock is back",
      async () => {
        await world.at(BEGAN + HOUR);
        await world.put("east", { exportedAt: day(0) });
      },
    ],
    [
      "an old time in a restart while the clock is back",
      async () => {
        await world.at(BEGAN + HOUR);
        await world.restart();
        await world.put("east", { exportedAt: day(0) });
      },
    ],
    [
      "an old time while the clock is not set",
      async () => {
        await world.at(1000);
        await world.restart();
        await world.put("east", { exportedAt: day(0) });
      },
    ],
  ];

  it.each(attempts)("is not gained by %s, and a finding says so", async (_, attempt) => {
    await attempt();
    expect(world.owner()).toBe("west");
    await world.put("west", { exportedAt: day(1) - DAY });
    expect(await world.implausible()).not.toEqual([]);
  });
});

describe("a reported creation time", () => {
  it.each<[string, string, boolean]>([
    ["is believed, however old", "2021-03-01T00:00:00Z", true],
    ["is not believed before 2020, when there was no ServiceExport", "1970-01-01T00:00:00Z", false],
    ["is not believed a moment before", "2019-12-31T23:59:59Z", false],
    ["is believed from 2020 on", "2020-01-01T00:00:00Z", true],
    ["is believed a little ahead", iso(BEGAN + CLOCK_TOLERANCE), true],
    ["is not believed in the future", iso(BEGAN + CLOCK_TOLERANCE + 1000), false],
    ["is not believed at the end of time", "9999-12-31T23:59:58Z", false],
    ["is none where there is no time, as in a manifest", "9999-12-31T23:59:59Z", true],
  ])("%s, on the gateway's first day", async (_, exportedAt, isBelieved) => {
    await world.put("west", { exportedAt });
    expect(await world.implausible()).toHaveLength(isBelieved ? 0 : 1);
  });

  it("decides on the first day, whatever the order of the pushes, and to its last moment", async () => {
    await world.put("west", { exportedAt: day(0) });
    await world.at(BEGAN + FOUNDING);
    await world.put("west", { exportedAt: day(0) });
    await world.put("north", { exportedAt: day(-1) });
    expect(world.owner()).toBe("north");
    await world.at(BEGAN + FOUNDING + 1);
    await world.put("east", { exportedAt: day(-2) });
    expect(world.owner()).toBe("north");
  });

  it("is not reported for an export that no other cluster has, unless it cannot be", async () => {
    await world.at(day(40));
    await world.put("west", { exportedAt: "2021-03-01T00:00:00Z" });
    expect(await world.implausible()).toEqual([]);
    await world.put("west", { exportedAt: "1970-01-01T00:00:00Z" });
    const message = expect.stringContaining(`it counts from ${iso(day(40)).slice(0, 19)}`);
    expect(await world.implausible()).toMatchObject([{ clusterId: "west", message }]);
  });
});

const LEASE = HOUR;
const STARTS = day(3);

/**
 * What happens to one of two clusters. Times are in minutes, and claimed ones relative to now, or else to the
 * start; "again" is the time that the cluster claimed last.
 */
type Step = { readonly who: "east" | "west"; readonly passes: number } & (
  | { readonly does: "put" | "patch"; readonly claims: Claim | undefined; readonly namespace: boolean }
  | { readonly does: "renew" | "leave" | "restart" | "nothing" }
);
type Claim = { readonly ago: number } | { readonly at: number } | "again";

const passes = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 8 }) },
  { weight: 2, arbitrary: fc.integer({ min: 9, max: 70 }) },
  fc.integer({ min: 71, max: 3000 }),
);
const claim: fc.Arbitrary<Claim> = fc.oneof(
  fc.record({ ago: fc.constantFrom(-9, -3, 0, 1, 2, 4, 6, 30, 90) }),
  fc.record({ at: fc.constantFrom(-3_000_000, -40, 0, 5, 100) }),
  fc.constant("again" as const),
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
  /** That of the export that was pushed then, served or not. */
  readonly reported?: number | undefined;
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
  const claimed = claims && claimedBy(claims, now, history);
  const reported = { namespace, ...(claimed !== undefined && { exportedAt: claimed }) };
  await world[isLive(history, now) ? one.does : "put"](one.who, reported);
  history.push({ at: now, reported: claimed, claimed: namespace ? claimed : undefined });
}

function claimedBy(claims: Claim, now: number, history: readonly Sight[]): number | undefined {
  if (claims === "again") return history.findLast(({ reported }) => reported !== undefined)?.reported;
  return "ago" in claims ? now - claims.ago * MINUTE : STARTS + claims.at * MINUTE;
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
