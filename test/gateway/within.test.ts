import { describe, expect, test } from "vitest";
import { EVERYTHING, type Visibility, visibilityKey } from "../../src/merge/visibility/visibility.ts";
import { openGateway, regional } from "./fake-stages.ts";
import { putSnapshot } from "./pushes.ts";

const WEST: Visibility = { clusters: ["west"] };
const SHOP: Visibility = { namespaces: ["shop"] };

describe("a gateway with scopes", () => {
  test("answers in each of them from what exists there", async () => {
    const { gateway, served, done } = await openGateway({ scopes: [WEST] });
    await done(putSnapshot(gateway, regional("east", "e")));
    await done(putSnapshot(gateway, regional("west", "w")));
    expect(served()).toBe("east:e west:w");
    expect(served(gateway.within(WEST))).toBe("west:w");
    expect(served(gateway.within({ clusters: ["west", "west"] }))).toBe("west:w");
    expect(gateway.within(EVERYTHING)).toBe(gateway);
    expect([...gateway.scopes.keys()]).toEqual(["", visibilityKey(WEST)]);
  });

  test.each<[Visibility]>([[SHOP], [{ view: "west" }], [{ ...WEST, view: "west" }]])(
    "has no other ones: %j",
    async (scope) => {
      const { gateway } = await openGateway({ scopes: [WEST] });
      expect(() => gateway.within(scope)).toThrow(RangeError);
      expect(() => gateway.within(scope)).toThrow(visibilityKey(scope));
    },
  );

  test.each<[Visibility]>([[{ view: "east", clusters: ["west"] }], [{ addressRanges: ["10.0.0.1/8"] }]])(
    "is not opened with one that cannot be: %j",
    async (scope) => {
      await expect(openGateway({ scopes: [scope] })).rejects.toThrow(RangeError);
    },
  );

  test("knows and reports no cluster that does not exist in the scope", async () => {
    const { gateway, done } = await openGateway({ scopes: [WEST] });
    const within = gateway.within(WEST);
    await done(putSnapshot(gateway, regional("east", "e")));
    expect(within.status()).toMatchObject({ ready: false, rootHash: undefined, clusters: [] });
    await done(putSnapshot(gateway, regional("west", "w")));
    expect(["east", "west"].map((id) => within.hasCluster(id))).toEqual([false, true]);
    expect(within.status().clusters.map(({ clusterId }) => clusterId)).toEqual(["west"]);
    expect(gateway.hasCluster("east")).toBe(true);
  });

  test("counts exports and imports that exist in the scope, of live clusters and of dead ones", async () => {
    const { gateway, done, clock } = await openGateway({ scopes: [SHOP] });
    const exported = {
      exportedAt: "2026-01-01T00:00:00Z",
      serviceType: "ClusterIP",
      headless: false,
    } as const;
    const service = { ...exported, ports: [], endpoints: {} };
    const snapshot = {
      ...regional("west", "w"),
      namespaces: { shop: {}, secret: {} },
      exports: { "shop/web": service, "secret/db": service },
      imports: { "secret/db": { ips: [], ports: [], endpoints: {} } },
    };
    await done(putSnapshot(gateway, snapshot, { leaseSeconds: 10 }));
    const counts = () =>
      [gateway, gateway.within(SHOP)].map((of) =>
        of.status().clusters.map(({ live, exports, imports }) => [live, exports, imports]),
      );
    expect(counts()).toEqual([[[true, 2, 1]], [[true, 1, 0]]]);
    await clock.advance(10_000);
    expect(counts()).toEqual([[[false, 2, 1]], [[false, 1, 0]]]);
  });
});

describe("with a view", () => {
  const AS_WEST: Visibility = { view: "west" };

  test("every client has the view of that cluster, in the generation of the scope without a view", async () => {
    const { gateway, done, events, clock, stages } = await openGateway({
      scopes: [AS_WEST, { view: "east" }],
    });
    const views: (string | undefined)[] = [];
    const { resolve } = stages;
    stages.resolve = (query, context) => {
      views.push((context as { view?: string }).view);
      return resolve.call(stages, query, context);
    };
    await done(putSnapshot(gateway, regional("west", "w")));
    await done(putSnapshot(gateway, regional("east", "e")));
    const within = gateway.within(AS_WEST);
    for (const view of [undefined, "east", "west"]) within.answer(new Uint8Array(), view, clock.now());
    expect(views).toEqual(["west", "west", "west"]);
    expect(["east", "west", "north"].map((id) => within.hasCluster(id))).toEqual([false, true, false]);
    expect(within.current(clock.now())).toBe(gateway.current(clock.now()));
    expect(events.filter(({ event }) => event === "compiled")).toHaveLength(2);
  });

  test("of a cluster that is not known nobody's view exists", async () => {
    const { gateway, done } = await openGateway({ scopes: [AS_WEST] });
    await done(putSnapshot(gateway, regional("east", "e")));
    expect(["east", "west"].map((id) => gateway.within(AS_WEST).hasCluster(id))).toEqual([false, false]);
  });
});

describe("what changes", () => {
  test("is in all scopes when a push is acknowledged, and events name the scope", async () => {
    const { gateway, served, done, events } = await openGateway({ scopes: [WEST, SHOP] });
    await done(putSnapshot(gateway, regional("west", "a")));
    await done(putSnapshot(gateway, regional("west", "b")));
    expect([gateway, gateway.within(WEST), gateway.within(SHOP)].map((of) => served(of))).toEqual(
      Array(3).fill("west:b"),
    );
    const compiled = events.flatMap((event) => (event.event === "compiled" ? [event.scope] : []));
    expect(compiled.slice(3)).toEqual([undefined, visibilityKey(WEST), visibilityKey(SHOP)]);
  });

  test("in what is hidden alone costs the scope nothing", async () => {
    const { gateway, served, done, events, clock } = await openGateway({ scopes: [WEST] });
    await done(putSnapshot(gateway, regional("west", "w")));
    const before = gateway.within(WEST).current(clock.now())!;
    events.length = 0;
    await done(putSnapshot(gateway, regional("east", "e")));
    await done(gateway.leave("east"));
    expect(events.flatMap((event) => ("scope" in event ? [event] : []))).toEqual([]);
    expect(gateway.within(WEST).current(clock.now())).toBe(before);
    expect(served(gateway.within(WEST))).toBe("west:w");
  });

  test("and cannot be compiled for one scope is compiled for the others; it recovers by itself", async () => {
    const { gateway, served, done, events, stages } = await openGateway({ scopes: [WEST, SHOP] });
    await done(putSnapshot(gateway, regional("east", "e")));
    await done(putSnapshot(gateway, regional("west", "a")));
    stages.fails = new Error("too much");
    stages.failing = (snapshots) => snapshots.length === 1;
    await done(putSnapshot(gateway, regional("west", "b")));
    expect(served()).toBe("east:e west:b");
    expect(served(gateway.within(SHOP))).toBe("east:e west:b");
    expect(served(gateway.within(WEST))).toBe("west:a");
    expect(events).toContainEqual({
      event: "compile-failed",
      scope: visibilityKey(WEST),
      error: stages.fails,
    });
    expect(gateway.within(WEST).status()).toMatchObject({ ready: true, compileError: "too much" });
    expect(gateway.status()).not.toHaveProperty("compileError");
    stages.fails = undefined;
    await done(putSnapshot(gateway, regional("east", "f")));
    expect(served(gateway.within(WEST))).toBe("west:b");
  });
});

describe("leases", () => {
  test("of clusters in the scope decide whether names are denied", async () => {
    const { gateway, served, clock, done } = await openGateway({ scopes: [WEST] });
    const within = gateway.within(WEST);
    await done(putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 1000 }));
    expect(served(within)).toBe("SERVFAIL");
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    expect(served(within)).toBe("west:w");
    clock.stall(10_000);
    expect(served(within)).toBe("SERVFAIL");
    expect(served()).toBe("east:e");
    await done(gateway.leave("west"));
    expect(served(within)).toBe("");
  });

  test("are renewed in every scope, without compiling", async () => {
    const { gateway, clock, done, stages } = await openGateway({ scopes: [WEST] });
    const { generation } = await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    const runs = stages.compiled.length;
    await clock.advance(5_000);
    const { expiresAt } = await gateway.renew("west", generation, { leaseSeconds: 60 });
    const served = gateway.within(WEST).current(clock.now())!;
    expect([...served.leases.of(served.generation)]).toEqual([Number.POSITIVE_INFINITY, expiresAt]);
    expect(stages.compiled).toHaveLength(runs);
  });

  test("that a store kept are those of the scopes too", async () => {
    const { gateway, clock, done, open, served } = await openGateway({ scopes: [WEST] });
    await done(putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 }));
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    expect(served((await open()).within(WEST))).toBe("west:w");
    clock.stall(10_000);
    const second = await open();
    expect(served(second.within(WEST))).toBe("SERVFAIL");
    expect(second.within(WEST).status().clusters).toMatchObject([{ clusterId: "west", live: false }]);
  });
});
