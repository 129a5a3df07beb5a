import { beforeEach, describe, expect, it } from "vitest";
import { CLOCK_TOLERANCE, FOUNDING } from "../../../src/database/ranks.ts";
import {
  BEGAN,
  DAY,
  day,
  HOUR,
  iso,
  MINUTE,
  openSharedService,
  type SharedService,
} from "../shared-service.ts";

let world: SharedService;
beforeEach(() => {
  world = openSharedService();
});

describe("a dormant cluster", () => {
  const leaving: [string, () => Promise<unknown>][] = [
    ["DELETE", () => world.leave("east")],
    ["silence", () => world.lapse()],
    ["a restart", () => world.restart()],
    ["silence and a restart", () => world.lapse().then(() => world.restart())],
    ["DELETE and a restart", () => world.leave("east").then(() => world.restart())],
  ];

  it.each(leaving)("that left by %s does not take over with an export that it had not", async (_, leave) => {
    await world.put("east");
    await world.at(day(2) + HOUR);
    await world.put("east");
    await leave();
    await world.at(day(30));
    await world.put("west", { exportedAt: day(30) });
    await world.at(day(60));
    await world.put("west", { exportedAt: day(30) });
    await world.put("east", { exportedAt: day(3) });
    expect(world.owner()).toBe("west");
    expect(await world.implausible()).toEqual([
      {
        clusterId: "east",
        message: expect.stringContaining(`it counts from ${iso(day(60)).slice(0, 19)}`),
      },
    ]);
  });

  it.each(leaving)("that left by %s keeps its rank if it comes back as it was", async (_, leave) => {
    await world.put("east", { exportedAt: day(1) - DAY });
    await world.at(day(2) + HOUR);
    await world.put("east", { exportedAt: day(1) - DAY });
    await leave();
    await world.at(day(30));
    await world.put("west", { exportedAt: day(1) - 9 * DAY });
    await world.at(day(60));
    await world.put("west", { exportedAt: day(1) - 9 * DAY });
    await world.put("east", { exportedAt: iso(day(1) - DAY).replace(".000Z", "+00:00") });
    expect(world.owner()).toBe("east");
    expect((await world.implausible()).map(({ clusterId }) => clusterId)).toEqual(["west"]);
  });
});

describe("a squatter", () => {
  const between: [string, () => Promise<unknown>][] = [
    ["stays alive", async () => {}],
    ["goes through a restart", () => world.restart()],
    ["lets its lease expire", () => world.lapse()],
    ["leaves", () => world.leave("east")],
    ["leaves before a restart", () => world.leave("east").then(() => world.restart())],
  ];
  const squatting: [string, () => Promise<unknown>][] = [
    ["was exported in a namespace that the cluster lacks", () => world.put("east", { exportedAt: day(2), namespace: false })], // biome-ignore format: a row
    ["was served once", () => world.put("east", { exportedAt: day(2) })],
  ];
  /** Renews until a time, as a cluster does that stays alive. */
  const aliveUntil = async (time: number) => {
    while (world.clock.now() < time) {
      await world.clock.advance(Math.min(50 * MINUTE, time - world.clock.now()));
      if (world.isLive("east")) await world.renew("east");
    }
  };

  for (const [how, squat] of squatting)
    it.each(between)(`that %s has no rank by a name that ${how} and was withdrawn`, async (_, wait) => {
      await world.put("east");
      await aliveUntil(day(2) + HOUR);
      await squat();
      await world.put("east");
      await wait();
      await aliveUntil(day(5));
      await world.put("west", { exportedAt: day(5) });
      await aliveUntil(day(6));
      await world.put("west", { exportedAt: day(5) });
      await world.put("east", { exportedAt: day(2) });
      expect(world.owner()).toBe("west");
      expect((await world.implausible()).map(({ clusterId }) => clusterId)).toEqual(["east"]);
    });

  it.each(between)(
    "that %s has no rank by an export to which it adds the namespace later",
    async (_, wait) => {
      await world.put("east");
      await aliveUntil(day(2) + HOUR);
      await world.put("east", { exportedAt: day(2), namespace: false });
      await wait();
      await aliveUntil(day(5));
      await world.put("west", { exportedAt: day(5) });
      await aliveUntil(day(6));
      await world.put("west", { exportedAt: day(5) });
      if (world.isLive("east")) await world.patch("east", { exportedAt: day(2) });
      else await world.put("east", { exportedAt: day(2) });
      expect(world.owner()).toBe("west");
    },
  );
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
    ["an old time, by PUT", () => world.put("east", { exportedAt: "2020-01-01T00:00:01Z" })],
    ["an old time, by PATCH", () => world.patch("east", { exportedAt: "2020-01-01T00:00:01Z" })],
    ["an impossible time", () => world.put("east", { exportedAt: "1970-01-01T00:00:00Z" })],
    ["a time ahead", () => world.put("east", { exportedAt: "2999-01-01T00:00:00Z" })],
    ["a time with an offset", () => world.put("east", { exportedAt: "2020-01-02T00:00:00+14:00" })],
    [
      "times back and forth",
      async () => {
        for (const at of [day(40), day(0), day(41), day(40), day(0)])
          await world.patch("east", { exportedAt: at });
      },
    ],
    [
      "an old time after it was gone for one delta",
      async () => {
        await world.patch("east", { exportedAt: day(40) });
        await world.patch("east");
        await world.patch("east", { exportedAt: day(0) });
      },
    ],
    [
      "an old time in the first push after a restart",
      async () => {
        await world.restart();
        await world.put("east", { exportedAt: day(0) });
      },
    ],
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

  it.each(attempts)("is not gained by %s", async (_, attempt) => {
    await attempt();
    expect(world.owner()).toBe("west");
  });

  it.each(attempts.filter(([how]) => how.includes("time")))(
    "shows a finding after %s",
    async (_, attempt) => {
      await attempt();
      await world.put("west", { exportedAt: day(1) - DAY });
      expect(await world.implausible()).not.toEqual([]);
    },
  );

  it("is gained by the next one when the first withdraws it, and not returned", async () => {
    await world.put("east", { exportedAt: day(40) });
    await world.patch("west");
    expect(world.owner()).toBe("east");
    await world.patch("west", { exportedAt: day(1) - DAY });
    expect(world.owner()).toBe("east");
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

  it("decides later for clusters that were live when the export appeared, and not seen with it before", async () => {
    await world.at(day(40));
    await world.put("west");
    await world.put("east");
    await world.at(day(40) + 2 * MINUTE);
    await world.put("west", { exportedAt: day(40) + MINUTE });
    await world.put("east", { exportedAt: day(40) + 1000 });
    expect([world.owner(), await world.implausible()]).toEqual(["east", []]);
  });

  it("does not decide if the cluster was last seen without the export after it", async () => {
    await world.at(day(40));
    await world.put("east");
    await world.put("west", { exportedAt: day(40) });
    await world.at(day(40) + MINUTE);
    await world.renew("east");
    await world.put("east", { exportedAt: day(40) - 1000 });
    expect(world.owner()).toBe("west");
  });

  it("does not decide where the export is as old as a long lease", async () => {
    await world.at(day(40));
    await world.put("east");
    await world.at(day(40) + HOUR / 2);
    await world.put("west", { exportedAt: day(40) + HOUR / 2 });
    await world.at(day(40) + HOUR / 2 + 10 * MINUTE);
    await world.put("east", { exportedAt: day(40) + MINUTE });
    expect(world.owner()).toBe("west");
  });

  it("that is a little ahead does not put the export behind one that is seen later", async () => {
    await world.at(day(40));
    await world.put("west", { exportedAt: day(40) + CLOCK_TOLERANCE });
    await world.at(day(40) + MINUTE);
    await world.put("east", { exportedAt: day(40) + MINUTE });
    expect([world.owner(), await world.implausible()]).toEqual(["west", []]); // biome-ignore format: one claim
  });

  it("is not reported for an export that no other cluster has, unless it cannot be", async () => {
    await world.at(day(40));
    await world.put("west", { exportedAt: "2021-03-01T00:00:00Z" });
    expect(await world.implausible()).toEqual([]);
    await world.put("west", { exportedAt: "1970-01-01T00:00:00Z" });
    expect(await world.implausible()).toHaveLength(1);
  });
});
