import { describe, expect, it } from "vitest";
import { HOUR, openReverseWorld, reporting } from "./reverse-world.ts";

const OLDEST = "2024-01-01T00:00:00Z";
const YOUNG = "2026-05-01T00:00:00Z";
const SHARED = "10.0.0.1";
const SCOPES = [{ clusters: ["east", "north", "west"] }];

const east = (...has: string[]) => reporting("east", "headless", { db: { since: OLDEST, has } });
const west = (...has: string[]) => reporting("west", "headless", { api: { since: YOUNG, has } });
const north = (...has: string[]) => reporting("north", "headless", { web: { since: YOUNG, has } });

/** A world in which `east` leaves during the compilation of a push, and other things happen in the same turn. */
async function openLeft(others: (world: Awaited<ReturnType<typeof openReverseWorld>>) => Promise<unknown>[]) {
  const world = await openReverseWorld(undefined, SCOPES);
  const owners = () => [undefined, ...SCOPES].map((scope) => world.owner(SHARED, undefined, scope));
  const leaveIn = async (push: () => Promise<void>) => {
    const happened: Promise<unknown>[] = [];
    world.interrupt(() => happened.push(world.leave("east"), ...others(world)));
    await push();
    const [left] = await Promise.all(happened);
    expect(left).toBe(true);
  };
  return { world, owners, leaveIn };
}

describe("a cluster that leaves while a push is compiled gives up, in every scope,", () => {
  it("an address that another cluster reports, too", async () => {
    const { world, owners, leaveIn } = await openLeft(() => []);
    await world.put(east(SHARED));
    await world.put(west(SHARED));
    await leaveIn(() => world.put(north("10.9.9.9")));
    expect(owners()).toEqual(["west.api", "west.api"]);
    await world.put(east(SHARED));
    expect(owners()).toEqual(["west.api", "west.api"]);
  });

  it("an address that another cluster begins to report in that push", async () => {
    const { world, owners, leaveIn } = await openLeft(() => []);
    await world.put(east(SHARED));
    await leaveIn(() => world.put(west(SHARED)));
    await world.put(east(SHARED));
    expect(owners()).toEqual(["west.api", "west.api"]);
  });

  it("an address that it alone reports, and that two clusters report with the next compilation", async () => {
    const { world, owners, leaveIn } = await openLeft((world) => [
      world.put(west(SHARED)),
      world.put(north(SHARED)),
    ]);
    await world.put(east(SHARED));
    await leaveIn(() => world.put(reporting("south", "headless", {})));
    expect(owners()).not.toContain("east.db");
    await world.put(east(SHARED));
    expect(owners()).not.toContain("east.db");
  });

  it("an address that it reports again in the same turn", async () => {
    const { world, owners, leaveIn } = await openLeft((world) => [world.put(east(SHARED))]);
    await world.put(east(SHARED));
    await world.put(west(SHARED));
    await leaveIn(() => world.put(north("10.9.9.9")));
    expect(owners()).toEqual(["west.api", "west.api"]);
  });

  it("an address for the time after a restart", async () => {
    const { world, owners, leaveIn } = await openLeft(() => []);
    await world.put(east(SHARED));
    await world.put(west(SHARED));
    await leaveIn(() => world.put(north("10.9.9.9")));
    await world.restart();
    await world.put(east(SHARED));
    expect(owners()).toEqual(["west.api", "west.api"]);
  });
});

it("a cluster whose lease expires while a push is compiled keeps its place: an outage gives nothing up", async () => {
  const world = await openReverseWorld();
  await world.put(east(SHARED), HOUR);
  await world.put(west(SHARED));
  world.interrupt(() => world.clock.stall(HOUR));
  await world.put(north("10.9.9.9"));
  expect(world.owner(SHARED)).toBe("west.api");
  await world.put(east(SHARED));
  expect(world.owner(SHARED)).toBe("east.db");
});
