import { describe, expect, it } from "vitest";
import { HOUR, MINUTE, openSharedService } from "../shared-service.ts";

/** Seconds. */
const SHORT = 60;
const LONG = 3600;

describe("a lease", () => {
  /** Two clusters with their leases, the older export in the one with the short lease. */
  const openBoth = async () => {
    const service = openSharedService();
    const began = service.clock.now();
    const exportedAt = { east: began - 2 * HOUR, west: began - HOUR };
    await service.put("east", { exportedAt: exportedAt.east }, SHORT);
    await service.put("west", { exportedAt: exportedAt.west }, LONG);
    const live = () => ["east", "west"].filter((clusterId) => service.isLive(clusterId));
    return { ...service, began, exportedAt, live };
  };

  it("takes its cluster out of the answers when it ends, alone and not before", async () => {
    const { at, began, owner, live } = await openBoth();
    await at(began + MINUTE - 1);
    expect([owner(), live()]).toEqual(["east", ["east", "west"]]);
    await at(began + MINUTE + 1000);
    expect([owner(), live()]).toEqual(["west", ["west"]]);
  });

  it("goes on when it is renewed, also for a shorter time", async () => {
    const { at, began, live, renew } = await openBoth();
    for (const minute of [0.5, 1, 1.5]) {
      await at(began + minute * MINUTE);
      await renew("east", SHORT);
    }
    await at(began + 2 * MINUTE);
    expect(live()).toEqual(["east", "west"]);
    await renew("east", 10);
    await at(began + 2 * MINUTE + 11_000);
    expect(live()).toEqual(["west"]);
  });

  it("goes on when its cluster pushes again, by the term of that push", async () => {
    const { at, began, exportedAt, live, patch } = await openBoth();
    await at(began + MINUTE / 2);
    await patch("east", { exportedAt: exportedAt.east }, 2 * SHORT);
    await at(began + 2 * MINUTE);
    expect(live()).toEqual(["east", "west"]);
    await at(began + 3 * MINUTE);
    expect(live()).toEqual(["west"]);
  });

  it("that has ended is a new one when it is renewed, and for a delta that builds on it", async () => {
    for (const back of ["renew", "patch"] as const) {
      const { at, began, exportedAt, owner, live, ...service } = await openBoth();
      await at(began + 2 * MINUTE);
      if (back === "renew") await service.renew("east", SHORT);
      else await service.patch("east", { exportedAt: exportedAt.east }, SHORT);
      expect([owner(), live()]).toEqual(["east", ["east", "west"]]);
      await at(began + 3 * MINUTE + 1000);
      expect(live()).toEqual(["west"]);
    }
  });

  it("is a new one for a cluster that comes back", async () => {
    const { at, began, exportedAt, live, put } = await openBoth();
    await at(began + 2 * MINUTE);
    await put("east", { exportedAt: exportedAt.east }, SHORT);
    expect(live()).toEqual(["east", "west"]);
    await at(began + 3 * MINUTE + 1000);
    expect(live()).toEqual(["west"]);
  });

  it("is over when its cluster leaves, and takes nothing along at its former end", async () => {
    const { at, began, exportedAt, owner, live, leave, put } = await openBoth();
    await leave("east");
    expect([owner(), live()]).toEqual(["west", ["west"]]);
    await put("east", { exportedAt: exportedAt.east }, LONG);
    await at(began + 2 * MINUTE);
    expect([owner(), live()]).toEqual(["east", ["east", "west"]]);
  });

  it("runs on through a restart, and no restart brings back what it ended", async () => {
    const { at, began, owner, live, restart } = await openBoth();
    await at(began + MINUTE / 2);
    await restart();
    expect([owner(), live()]).toEqual(["east", ["east", "west"]]);
    await at(began + MINUTE + 1000);
    expect(live()).toEqual(["west"]);
    await restart();
    expect([owner(), live()]).toEqual(["west", ["west"]]);
  });

  it("of the last cluster ends with nothing denied, until another one has pushed", async () => {
    const { lapse, exportedAt, rcode, put, at, clock } = await openBoth();
    await at(clock.now() + LONG * 1000);
    await lapse();
    expect(rcode()).toBe("SERVFAIL");
    await put("north", {}, LONG);
    expect(rcode()).toBe("NXDOMAIN");
    await put("west", { exportedAt: exportedAt.west }, LONG);
    expect(rcode()).toBe("NOERROR");
  });
});
