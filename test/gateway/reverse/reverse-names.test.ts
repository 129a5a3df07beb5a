import { describe, expect, it } from "vitest";
import { Reader } from "../../../src/database/reader.ts";
import type { Visibility } from "../../../src/merge/visibility.ts";
import { claimsOn } from "../../database/claims-on.ts";
import { endpoints, exported, exporting, snapshot } from "../../merge/fixtures.ts";
import { type AddressKind, importing, ReverseWorld, reporting } from "./reverse-world.ts";

const OLD = "2024-01-01T00:00:00Z";
const YOUNG = "2026-05-01T00:00:00Z";
const V4 = "10.0.0.1";
const V6 = "2001:db8::1";

describe.each<[AddressKind, string, string]>([
  ["headless", "east.db", "west.old"],
  ["clusterset IP", "db", "old"],
])("the reverse name of a %s", (kind, hers, his) => {
  const east = (...has: string[]) => reporting("east", kind, { db: { since: YOUNG, has } });
  const west = (...has: string[]) => reporting("west", kind, { old: { since: OLD, has } });

  it("is each cluster's own in its view", async () => {
    const world = await ReverseWorld.of(east(V4), west(V4));
    expect([undefined, "east", "west"].map((view) => world.owner(V4, view))).toEqual([hers, hers, his]);
  });

  it("is there in a scope with such addresses, and not in one without", async () => {
    const scopes: Visibility[] = [{ addressSources: ["Endpoint"] }, { addressSources: ["ClusterSetIP"] }];
    const world = new ReverseWorld(scopes);
    await world.put(east(V4));
    const owners = scopes.map((scope) => world.owner(V4, undefined, scope));
    expect(owners).toEqual(kind === "headless" ? [hers, undefined] : [undefined, hers]);
  });

  it("is not that of a cluster that reported the address first as what a scope hides", async () => {
    const scope: Visibility = { addressSources: [kind === "headless" ? "Endpoint" : "ClusterSetIP"] };
    const world = new ReverseWorld([scope]);
    const hidden = kind === "headless" ? "clusterset IP" : "headless";
    await world.put(reporting("east", hidden, { db: { since: YOUNG, has: [V4] } }));
    await world.put(west(V4));
    await world.put(east(V4));
    expect(world.owner(V4, undefined, scope)).toBe(his);
  });

  it("stays with a cluster that moves the address in a push of several transactions", async () => {
    const world = new ReverseWorld();
    const services = (...more: string[]) =>
      Object.fromEntries(
        Array.from({ length: 600 }, (_, at) => [
          `s-${at}`,
          { has: [`10.1.${at >> 8}.${at & 255}`, ...more] },
        ]),
      );
    await world.put(reporting("east", kind, { ...services(), "s-0": { has: [V4] } }));
    await world.put(west(V4));
    // All entries change: the first ones are in the first transaction.
    await world.put(reporting("east", kind, { ...services("10.2.0.1"), "s-599": { has: [V4] } }));
    expect(world.owner(V4)).toBe(hers.replace("db", "s-599"));
  });

  describe("of which it was lost with damaged rows who was first", () => {
    it("is nobody's until one of the clusters reports it alone, and then stays there", async () => {
      const world = await ReverseWorld.of(east(V4), west(V4));
      world.damage("east");
      expect(world.owner(V4)).toBe(his);
      await world.put(east(V4));
      expect([world.owner(V4), (await world.losers()).length]).toEqual([undefined, 2]);
      world.restart();
      expect(world.owner(V4)).toBeUndefined();
      await world.patch(west());
      expect(world.owner(V4)).toBe(hers);
      await world.patch(west(V4));
      expect(world.owner(V4)).toBe(hers);
    });

    it("is the cluster's whose rows were lost where others report it later", async () => {
      const world = await ReverseWorld.of(east(V4));
      world.damage("east");
      await world.put(east(V4));
      await world.put(west(V4));
      expect(world.owner(V4)).toBe(hers);
    });
  });
});

describe("a cluster that reported an address first in such a way that it had no reverse name gets none by a change", () => {
  const squat = (headless: boolean, ...names: string[]) => {
    const service = exported({ exportedAt: OLD, headless, endpoints: endpoints({ address: V4 }) });
    return snapshot("west", { exports: Object.fromEntries(names.map((name) => [`shop/${name}`, service])) });
  };
  const open = (before: ReturnType<typeof snapshot>) => {
    const web = exporting("north", { exportedAt: "2023-01-01T00:00:00Z" });
    return ReverseWorld.of(web, before, reporting("east", "headless", { db: { has: [V4] } }));
  };

  it.each([
    ["that gives an export its namespace", { ...squat(true, "old"), namespaces: {} }, squat(true, "old")],
    ["that makes an export headless", squat(false, "old"), squat(true, "old")],
    [
      "that makes an export beside an import no longer headless",
      {
        ...reporting("west", "clusterset IP", { old: { has: [V4] } }),
        exports: reporting("west", "headless", { old: { has: [V6] } }).exports,
      },
      reporting("west", "clusterset IP", { old: { has: [V4] } }),
    ],
    [
      "that exports what it imports",
      importing("west", { web: [V4] }),
      reporting("west", "clusterset IP", { web: { has: [V4] } }),
    ],
    [
      "by which it also imports what nobody exports",
      importing("west", { web: [V4] }),
      importing("west", { web: [V4], mine: [V4] }),
    ],
    [
      "by which it also exports a headless service",
      squat(false, "web"),
      {
        ...squat(true, "mine"),
        exports: { ...squat(false, "web").exports, ...squat(true, "mine").exports },
      },
    ],
  ])("%s", async (_, before, after) => {
    const world = await open(before);
    expect(world.owner(V4)).toBe("east.db");
    await world.put(after);
    expect(world.owner(V4)).toBe("east.db");
  });

  it("from another cluster: a headless export of a service that another cluster decides keeps it from everybody", async () => {
    const world = await open(squat(true, "web"));
    expect(world.owner(V4)).toBeUndefined();
    await world.put(squat(true, "web", "mine"));
    expect(world.owner(V4)).toBe("west.mine");
  });
});

describe("an address that a cluster reports by its own export", () => {
  it("is its own while another cluster decides that the service is of another type: then nobody has the reverse name", async () => {
    const world = new ReverseWorld();
    const west = reporting("west", "headless", { old: { since: OLD, has: [V4] } });
    await world.put(reporting("east", "headless", { db: { since: YOUNG, has: [V4] } }));
    await world.put(west);
    expect(world.owner(V4)).toBe("east.db");
    await world.put(snapshot("north", { exports: { "shop/db": exported({ exportedAt: OLD }) } }));
    expect(world.owner(V4)).toBeUndefined();
    expect(await world.losers()).toEqual([
      `west shop/old: other clusters had the reverse names first: ${V4} is of shop/db in "east", which has no reverse names now`,
    ]);
    await world.put(snapshot("north"));
    expect(world.owner(V4)).toBe("east.db");
  });

  it("has the name of the cluster's oldest service, of equal ones the first, whichever it reported first", async () => {
    const service = (exportedAt: string) =>
      exported({ exportedAt, headless: true, endpoints: endpoints({ address: V4 }) });
    const db = { "shop/db": service(YOUNG) };
    const west = reporting("west", "headless", { old: { since: OLD, has: [V4] } });
    const world = await ReverseWorld.of(snapshot("east", { exports: db }), west);
    await world.put(snapshot("east", { exports: { ...db, "shop/api": service(YOUNG) } }));
    expect(world.owner(V4)).toBe("east.api");
    const exports = { ...db, "bank/older": service(OLD) };
    await world.put(snapshot("east", { namespaces: { shop: {}, bank: {} }, exports }));
    expect(world.owner(V4)).toMatch(/^east\.older\.bank\./);
  });

  it("comes before that of a service which clusters only import", async () => {
    const world = await ReverseWorld.of(importing("east", { db: [V4] }));
    expect(world.owner(V4)).toBe("db");
    await world.put(reporting("west", "headless", { old: { has: [V4] } }));
    expect(world.owner(V4)).toBe("west.old");
  });

  it.each([
    ["that another cluster exports", snapshot("east", { exports: { "shop/db": exported() } })],
    ["that nobody exports", snapshot("east")],
  ])(
    "comes after that of an import of a cluster that may speak for others, of a service %s, where that was first",
    async (_, east) => {
      const world = await ReverseWorld.of(
        east,
        importing("north", { db: [V4] }),
        reporting("west", "headless", { old: { since: OLD, has: [V4] } }),
      );
      expect(world.owner(V4)).toBe("db");
    },
  );

  it("is not held by an import that counts in its own view alone", async () => {
    const world = await ReverseWorld.of(
      snapshot("north", { exports: { "shop/db": exported() } }),
      importing("west", { db: [V4] }),
      reporting("east", "headless", { api: { has: [V4] } }),
    );
    expect([world.owner(V4), world.owner(V4, "west")]).toEqual(["east.api", "db"]);
  });
});

it("the reverse names of a cluster's own clusterset IPs stay its own in its view", async () => {
  const world = await ReverseWorld.of(
    reporting("east", "clusterset IP", { db: { since: YOUNG, has: [V4] } }),
  );
  const west = (...has: string[]) =>
    reporting("west", "clusterset IP", { old: { since: OLD, has: ["10.9.9.9"] }, db: { since: YOUNG, has } });
  await world.put(west(V6));
  await world.put(west(V6, "10.9.9.9"));
  expect(world.owner("10.9.9.9")).toBe("old");
  expect(world.owner(V4, "east")).toBe("db");
  expect(world.owner("10.9.9.9", "west")).toBe("db");
});

it("a clusterset IP that all clusters have for one service is the service's, and nobody loses it", async () => {
  const world = await ReverseWorld.of(importing("east", { web: [V4] }));
  for (const cluster of ["north", "west"])
    await world.put(reporting(cluster, "clusterset IP", { web: { has: [V4] } }));
  expect([world.owner(V4), await world.losers()]).toEqual(["web", []]);
});

it("an endpoint's address that another cluster has in the same headless service is lost, and a finding says so until it is given up", async () => {
  const world = await ReverseWorld.of(
    reporting("east", "headless", { db: { since: OLD, has: [V4] } }),
    reporting("west", "headless", { db: { since: YOUNG, has: [V4, "10.0.0.2"] } }),
  );
  const lost = `west shop/db: other clusters had the reverse names first: ${V4} is of shop/db in "east"`;
  expect(world.owner(V4)).toBe("east.db");
  expect(await world.losers()).toEqual([lost]);
  await world.put(reporting("west", "headless", { db: { since: YOUNG, has: ["10.0.0.2"] } }));
  expect(await world.losers()).toEqual([]);
  await world.put(reporting("west", "headless", { db: { since: YOUNG, has: [V4] } }));
  expect(await world.losers()).toEqual([lost]);
  await world.leave("east");
  expect(await world.losers()).toEqual([]);
});

it("one finding names the first addresses that were taken, and counts the others", async () => {
  const world = new ReverseWorld();
  const pods = Array.from({ length: 300 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  await world.put(reporting("east", "headless", { db: { since: YOUNG, has: pods } }));
  await world.put(reporting("west", "headless", { old: { since: OLD, has: pods } }));
  const [finding, ...others] = await world.losers();
  expect(others).toEqual([]);
  expect(finding).toMatch(
    /10\.0\.0\.0 is of shop\/db in "east", 10\.0\.0\.1 is .*, and of 295 more addresses$/,
  );
});

describe("a cluster that claims an address for many services", () => {
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`many-${index}`, { has: [V4] }]));
  const claims = (world: ReverseWorld) =>
    claimsOn(new Reader(world.database, () => expect.unreachable()), Uint8Array.of(10, 0, 0, 1));

  it.each(["headless", "clusterset IP"] as const)(
    "makes it no more expensive than 32 do, as a %s",
    async (kind) => {
      const world = await ReverseWorld.of(
        reporting("west", kind, { web: { has: [V4] } }),
        reporting("east", kind, many),
      );
      expect(world.owner(V4)).toBe(kind === "headless" ? "west.web" : "web");
      expect(claims(world)).toHaveLength(33);
      await world.leave("west");
      expect(world.owner(V4)).toMatch(/many-\d/);
    },
  );

  it.each(["headless", "clusterset IP"] as const)(
    "has it for those that are left when others go, as a %s",
    async (kind) => {
      const world = await ReverseWorld.of(reporting("east", kind, many));
      const west = reporting("west", kind, { web: { has: [V4] } });
      await world.put(west);
      const some = (from: number, end: number) => Object.fromEntries(Object.entries(many).slice(from, end));
      const reader = new Reader(world.database, () => expect.unreachable());
      const owners = async (...pushed: ReturnType<typeof some>[]) => {
        for (const services of pushed) await world.patch(reporting("east", kind, services));
        expect(reader.isWhole(reader.cluster("east")!)).toBe(true);
        return world.owner(V4)?.replace(/\d+$/, "");
      };
      const hers = kind === "headless" ? "east.many-" : "many-";
      expect(await owners(some(32, 50), some(49, 50))).toBe(hers);
      expect(await owners({ ...some(0, 49) })).toBe(hers);
      // In one change 32 go and one comes.
      expect(await owners(some(0, 32), some(40, 41))).toBe(hers);
      expect(await owners({})).toBe(kind === "headless" ? "west.web" : "web");
      expect(reader.cluster("east")).not.toHaveProperty("claims");
    },
  );

  it("hides none of its own zone", async () => {
    const world = new ReverseWorld();
    const service = {
      createdAt: OLD,
      serviceType: "ClusterIP" as const,
      headless: false,
      ports: [],
      clusterIPs: [V4],
      endpoints: {},
    };
    await world.put({
      ...reporting("east", "headless", many),
      clusterZone: { name: "cluster.local", pods: "disabled" },
      services: { "shop/own": service },
    });
    expect(world.owner(V4, "east")).toBe("own.shop.svc.cluster.local");
  });
});
