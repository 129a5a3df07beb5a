import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { createMemoryRememberedStore } from "../../../src/store/remembered/remembered-store.ts";
import { endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import {
  type AddressKind,
  DAY,
  HOUR,
  openReverseWorld,
  type ReverseWorld,
  reporting,
} from "./reverse-world.ts";

const OLD = "2024-01-01T00:00:00Z";
const YOUNG = "2026-05-01T00:00:00Z";
const V4 = "10.0.0.1";
const V6 = "2001:db8::1";

type Way = "put" | "patch";

const cases = (["headless", "clusterset IP"] as const).flatMap((kind) =>
  [V4, V6].flatMap((address) =>
    (["put", "patch"] as const).flatMap((way) =>
      ["first day", "later"].map((when) => ({ kind, address, way, when })),
    ),
  ),
);

describe.each(cases)(
  "the reverse name of a $kind, $address, by $way, $when",
  ({ kind, address, way, when }) => {
    const hers = kind === "headless" ? "east.db" : "db";
    const his = kind === "headless" ? "west.old" : "old";
    const east = (...has: string[]) => reporting("east", kind, { db: { since: YOUNG, has } });
    const west = (...has: string[]) => reporting("west", kind, { old: { since: OLD, has } });

    async function open(): Promise<ReverseWorld> {
      const world = await openReverseWorld();
      // An address that is spelt in another way is the same one.
      await world.put(west("10.9.9.9"));
      await world.put(east(address));
      if (when === "later") await world.clock.advance(2 * DAY);
      expect(world.owner(address)).toBe(hers);
      return world;
    }

    it("stays with the cluster that had the address first, whatever the age of the exports", async () => {
      const world = await open();
      await world[way](west("10.9.9.9", address.toUpperCase()));
      expect(world.owner(address)).toBe(hers);
      expect(world.owner("10.9.9.9")).toBe(his);
      expect(world.losers()).toEqual([
        `west shop/old: other clusters had the reverse names first: ${address} is of shop/db in "east"`,
      ]);
    });

    it("is given up by a cluster that leaves after its lease expired, also for the time after a restart", async () => {
      const world = await openReverseWorld();
      const north = (...has: string[]) => reporting("north", kind, { api: { since: YOUNG, has } });
      await world.put(east(address), 2 * HOUR);
      await world.put(north(address), 2 * HOUR);
      await world.clock.advance(2 * HOUR);
      await world.restart();
      await world.put(west(address));
      await world.leave("east");
      await world.restart();
      await world.put(north());
      await world.put(east(address));
      expect(world.owner(address)).toBe(his);
    });

    it("stays there over restarts", async () => {
      const world = await open();
      await world.restart();
      await world[way](west(address));
      await world.restart();
      expect(world.owner(address)).toBe(hers);
      await world[way](west(address, "10.9.9.9"));
      expect(world.owner(address)).toBe(hers);
      await world.restart();
      expect(world.owner(address)).toBe(hers);
      expect(world.losers()).toHaveLength(1);
    });

    it("goes to the other one when it is given up, and does not come back", async () => {
      const world = await open();
      await world[way](west(address));
      await world[way](east("10.0.0.2"));
      expect(world.owner(address)).toBe(his);
      expect(world.losers()).toEqual([]);
      await world[way](east("10.0.0.2", address));
      expect(world.owner(address)).toBe(his);
      await world.restart();
      expect(world.owner(address)).toBe(his);
      expect(world.losers()).toHaveLength(1);
    });
  },
);

describe.each<[AddressKind, string, string]>([
  ["headless", "east.db", "west.old"],
  ["clusterset IP", "db", "old"],
])("the reverse name of a %s", (kind, hers, his) => {
  const east = (...has: string[]) => reporting("east", kind, { db: { since: YOUNG, has } });
  const west = (...has: string[]) => reporting("west", kind, { old: { since: OLD, has } });
  const push: Way[] = ["put", "patch"];

  it.each(push)("stays with a cluster that reports the address for another service, by %s", async (way) => {
    const world = await openReverseWorld();
    await world.put(east(V4));
    await world.put(west(V4));
    await world[way](reporting("east", kind, { anew: { since: YOUNG, has: [V4] } }));
    expect(world.owner(V4)).toBe(hers.replace("db", "anew"));
  });

  it("is given up by leaving", async () => {
    const world = await openReverseWorld();
    await world.put(east(V4));
    await world.put(west(V4));
    await world.leave("east");
    expect(world.owner(V4)).toBe(his);
    await world.put(east(V4));
    expect(world.owner(V4)).toBe(his);
  });

  it("is kept in an outage from what comes later only as long as another cluster has a place, too", async () => {
    const world = await openReverseWorld();
    await world.put(east(V4), HOUR);
    await world.put(west(V4), HOUR);
    await world.clock.advance(2 * HOUR);
    await world.leave("east");
    await world.put(reporting("north", kind, { new: { since: YOUNG, has: [V4] } }));
    await world.put(west(V4));
    expect(world.owner(V4)).toBe(kind === "headless" ? "north.new" : "new");
  });

  it("is not given up by an outage: it comes back with the cluster, unless that comes without the address", async () => {
    const world = await openReverseWorld();
    await world.put(east(V4, V6), HOUR);
    await world.put(west(V4, V6));
    await world.clock.advance(2 * HOUR);
    expect(world.owner(V4)).toBe(his);
    expect(world.owner(V6)).toBe(his);
    await world.restart();
    expect(world.owner(V4)).toBe(his);
    await world.put(east(V4));
    expect(world.owner(V4)).toBe(hers);
    await world.put(east(V4, V6));
    expect(world.owner(V6)).toBe(his);
  });

  it("of an address that no live cluster reported is that of the first to report it", async () => {
    const world = await openReverseWorld();
    await world.put(east(V4), HOUR);
    await world.clock.advance(2 * HOUR);
    await world.put(west(V4));
    await world.put(east(V4));
    expect(world.owner(V4)).toBe(his);
  });

  it("is that of the older export where both are new", async () => {
    const world = await openReverseWorld();
    await world.put(
      reporting("east", kind, { db: { since: YOUNG, has: [V4] }, old: { since: OLD, has: [V4] } }),
    );
    expect(world.owner(V4)).toBe(hers.replace("db", "old"));
    expect(world.losers()).toEqual([]);
  });

  it("is nobody's where it was lost who came first, until one cluster reports the address alone", async () => {
    const store = createMemoryStore();
    const world = await openReverseWorld(async () => ({ store, remembered: createMemoryRememberedStore() }));
    await world.put(east(V4, V6));
    await world.put(west(V4));
    await world.restart();
    expect(world.owner(V4)).toBeUndefined();
    expect(world.owner(V6)).toBe(hers);
    expect(world.losers()).toHaveLength(2);
    await world.restart();
    expect(world.owner(V4)).toBeUndefined();
    await world.patch(west());
    expect(world.owner(V4)).toBe(hers);
    await world.patch(west(V4));
    expect(world.owner(V4)).toBe(hers);
  });

  it("is that of the first of the clusters that a scope has", async () => {
    const scopes = [{ clusters: ["north", "west"] }, { clusters: ["east", "north"] }];
    const world = await openReverseWorld(undefined, scopes);
    const north = (...has: string[]) => reporting("north", kind, { best: { since: OLD, has } });
    await world.put(east(V4));
    await world.put(west(V4));
    await world.put(north(V4));
    const owners = () => scopes.map((scope) => world.owner(V4, undefined, scope));
    expect(owners()).toEqual([his, hers]);
    await world.restart();
    expect(owners()).toEqual([his, hers]);
  });
});

it("an export that had no reverse names before takes none over", async () => {
  const world = await openReverseWorld();
  const squat = (headless: boolean) =>
    snapshot("west", {
      exports: { "shop/old": exported({ exportedAt: OLD, headless, endpoints: endpoints({ address: V4 }) }) },
    });
  const unserved = { ...squat(true), namespaces: {} };
  await world.put(unserved);
  await world.put(squat(false));
  await world.put(reporting("east", "headless", { db: { since: YOUNG, has: [V4] } }));
  await world.put(unserved);
  await world.put(squat(true));
  expect(world.owner(V4)).toBe("east.db");
});

it("the reverse names of a cluster's own clusterset IPs stay its own in its view", async () => {
  const world = await openReverseWorld();
  await world.put(reporting("east", "clusterset IP", { db: { since: YOUNG, has: [V4] } }));
  await world.put(
    reporting("west", "clusterset IP", {
      old: { since: OLD, has: ["10.9.9.9"] },
      db: { since: YOUNG, has: [V6] },
    }),
  );
  await world.put(
    reporting("west", "clusterset IP", {
      old: { since: OLD, has: ["10.9.9.9"] },
      db: { since: YOUNG, has: [V6, "10.9.9.9"] },
    }),
  );
  expect(world.owner("10.9.9.9")).toBe("old");
  expect(world.owner(V4, "east")).toBe("db");
  expect(world.owner("10.9.9.9", "west")).toBe("db");
});

it("one finding names the first addresses that were taken, and counts the others", async () => {
  const world = await openReverseWorld();
  const pods = Array.from({ length: 300 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  await world.put(reporting("east", "headless", { db: { since: YOUNG, has: pods } }));
  await world.put(reporting("west", "headless", { old: { since: OLD, has: pods } }));
  const [finding, ...others] = world.losers();
  expect(others).toEqual([]);
  expect(finding).toMatch(
    /10\.0\.0\.0 is of shop\/db in "east", 10\.0\.0\.1 is .*, and of 295 more addresses$/,
  );
});

it("a push and leaving are accepted while the order cannot be kept, and it is kept with the next change", async () => {
  const remembered = createMemoryRememberedStore();
  const stores = { store: createMemoryStore(), remembered };
  let isFull = true;
  const keep: typeof remembered.keep = async (name, value) => {
    if (isFull && name.startsWith("addresses@")) throw new Error("no space left on device");
    await remembered.keep(name, value);
  };
  const world = await openReverseWorld(async () => ({ ...stores, remembered: { ...remembered, keep } }));
  await world.put(reporting("east", "headless", { db: { since: YOUNG, has: [V4] } }));
  await world.put(reporting("west", "headless", { old: { since: OLD, has: [V4] } }));
  await world.put(reporting("north", "headless", { one: { since: OLD, has: [V4] } }));
  await world.leave("north");
  expect(world.owner(V4)).toBe("east.db");
  isFull = false;
  await world.put(reporting("north", "headless", { one: { since: OLD, has: [V6] } }));
  await world.restart();
  expect(world.owner(V4)).toBe("east.db");
});

it("a cluster that another one keeps out of the answers for a while does not lose a reverse name", async () => {
  const world = await openReverseWorld();
  const headless = snapshot("east", {
    imports: { "shop/db": imported({ type: "Headless", endpoints: { east: endpoints({ address: V4 }) } }) },
  });
  await world.put(headless);
  await world.put(reporting("west", "headless", { old: { since: OLD, has: [V4] } }));
  await world.put(snapshot("north", { exports: { "shop/db": exported({ exportedAt: OLD }) } }));
  expect(world.owner(V4)).toBe("west.old");
  await world.put(snapshot("north"));
  expect(world.owner(V4)).toBe("east.db");
});
