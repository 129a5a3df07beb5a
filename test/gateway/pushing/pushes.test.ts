import { describe, expect, test } from "vitest";
import { NO_TOTALS } from "../../../src/gateway/pushing/snapshot-bounds.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import type { Degradation } from "../../../src/snapshot/report/degradation.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { openGateway, regional } from "../fake-stages.ts";
import { day, MINUTE, openSharedService } from "../isolation/shared-service.ts";
import { patchCluster, putSnapshot } from "../pushes.ts";

const shop = { ...regional("west", "a"), namespaces: { shop: {} }, pods: { "shop/10.0.0.1": {} } };

/** A memory store that fails while `fails` is set, and waits while `waits` is. */
function failingStore() {
  const inner = createMemoryStore();
  const disk = { fails: undefined as Error | undefined, waits: undefined as Promise<void> | undefined };
  const touch = async () => {
    await disk.waits;
    if (disk.fails !== undefined) throw disk.fails;
  };
  const store = {
    ...inner,
    keep: async (...change: Parameters<typeof inner.keep>) => {
      await touch();
      await inner.keep(...change);
    },
    remove: async (clusterId: string) => {
      await touch();
      await inner.remove(clusterId);
    },
  };
  return { store, disk };
}

describe("what is held of a cluster", () => {
  test("is counted, and is nothing of a cluster that is not live", async () => {
    const { gateway, done } = await openGateway();
    await done(putSnapshot(gateway, shop));
    expect(drain(gateway.count("west"))).toMatchObject({ namespaces: 1, pods: 1, exports: 0 });
    expect(drain(gateway.count("east"))).toEqual(NO_TOTALS);
  });
});

describe("a lease", () => {
  const pushes = {
    PUT: (gateway: Parameters<typeof putSnapshot>[0]) => putSnapshot(gateway, regional("west", "b")),
    PATCH: (gateway: Parameters<typeof patchCluster>[0], generation: number) =>
      patchCluster(gateway, "west", generation, { topology: { region: "b" } }),
  };

  test.each(["PUT", "PATCH"] as const)(
    "is not renewed by a %s that fails for another reason than the disk",
    async (method) => {
      const { store, disk } = failingStore();
      const { gateway, clock, served, done } = await openGateway({ store });
      const { generation, expiresAt } = await done(putSnapshot(gateway, shop, { leaseSeconds: 60 }));
      await clock.advance(30_000);
      disk.fails = new Error("the store is closed");
      await expect(done(pushes[method](gateway, generation))).rejects.toThrow("the store is closed");
      expect(gateway.status().clusters[0]!.expiresAt).toBe(expiresAt);
      await clock.advance(30_000);
      expect(served()).toBe("SERVFAIL");
    },
  );

  test("is not renewed by a push that is rejected", async () => {
    const { gateway, clock, done } = await openGateway({ limits: { namespaces: 1 } });
    const { generation, expiresAt } = await done(putSnapshot(gateway, shop, { leaseSeconds: 60 }));
    await clock.advance(30_000);
    const more = { namespaces: { other: {} } };
    await expect(done(patchCluster(gateway, "west", generation, more))).rejects.toMatchObject({
      code: "TOO_MANY_NAMESPACES",
    });
    expect(gateway.status().clusters[0]!.expiresAt).toBe(expiresAt);
  });
});

test("one cluster too many is rejected with the bound in the message", async () => {
  const { gateway, done } = await openGateway({ limits: { clusters: 1 } });
  await done(putSnapshot(gateway, shop));
  await expect(done(putSnapshot(gateway, regional("east", "e")))).rejects.toMatchObject({
    code: "TOO_MANY_CLUSTERS",
    message: "the gateway holds its most of 1 clusters already",
  });
});

test.each([
  ["whole", { topology: { region: "b" } }],
  ["small", { pods: { "shop/10.0.0.2": {} } }],
])("a %s change brings its worker's report into the log, and each push its own event", async (_, patch) => {
  const { gateway, events, done } = await openGateway();
  const { generation } = await done(putSnapshot(gateway, shop));
  const degraded: Degradation = { reason: "API_UNREACHABLE", seconds: 30 };
  events.length = 0;
  const pushed = await done(patchCluster(gateway, "west", generation, patch, { degraded: [degraded] }));
  expect(events.filter(({ event }) => event !== "compiled")).toEqual([
    { event: "worker-degraded", clusterId: "west", degraded: [{ reason: "API_UNREACHABLE" }] },
    { event: "pushed", clusterId: "west", generation: pushed.generation, kind: "patch" },
  ]);
});

describe("a gateway that closes", () => {
  test("waits for the pushes that it has taken, and closes its store after them", async () => {
    const { store, disk } = failingStore();
    const order: string[] = [];
    store.close = async () => void order.push("closed");
    const { gateway, clock } = await openGateway({ store });
    const gate = Promise.withResolvers<void>();
    disk.waits = gate.promise;
    const pushed = putSnapshot(gateway, shop).then(() => order.push("pushed"));
    await clock.advance(0);
    const closed = gateway.close();
    await clock.advance(0);
    expect(order).toEqual([]);
    gate.resolve();
    await clock.advance(0);
    await Promise.all([pushed, closed]);
    expect(order.sort()).toEqual(["closed", "pushed"]);
  });
});

describe("an export that is reported up to 5 minutes late", () => {
  test("counts from its creation where its cluster was live, by PUT and by PATCH", async () => {
    for (const method of ["put", "patch"] as const) {
      const world = await openSharedService();
      await world.put("east", {}, 3600);
      await world.put("west", {}, 3600);
      await world.at(day(3));
      await world.put("east", {}, 3600);
      await world.put("west", {}, 3600);
      await world.at(day(3) + 2 * MINUTE);
      await world.put("west", { exportedAt: day(3) + 2 * MINUTE });
      await world.at(day(3) + 3 * MINUTE);
      await world[method]("east", { exportedAt: day(3) + MINUTE });
      expect(world.owner()).toBe("east");
      expect(world.implausible()).toEqual([]);
    }
  });

  test("counts from its cluster's return where that was away when it was created", async () => {
    const world = await openSharedService();
    await world.put("west", {}, 3600);
    await world.put("east", {}, 5);
    await world.at(day(3));
    await world.put("west", {}, 3600);
    await world.put("east", {}, 5);
    await world.at(day(3) + 2 * MINUTE);
    await world.put("west", { exportedAt: day(3) + 2 * MINUTE });
    await world.at(day(3) + 3 * MINUTE);
    await world.put("east", { exportedAt: day(3) + MINUTE });
    expect(world.owner()).toBe("west");
  });
});
