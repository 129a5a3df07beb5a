import { describe, expect, test } from "vitest";
import { Reader } from "../../../src/database/reader.ts";
import { exported } from "../../merge/fixtures.ts";
import { openGateway, patchCluster, putSnapshot, regional } from "../open-gateway.ts";

describe("a lease", () => {
  test("has expired for a query that comes before the timer", async () => {
    const { gateway, clock, served } = openGateway();
    await putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 });
    await putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 });
    clock.stall(10_000);
    expect(served()).toBe("east:e");
  });

  test("is not renewed by a push that is rejected", async () => {
    const { gateway, clock } = openGateway({ limits: { namespaces: 1 } });
    const shop = { ...regional("west", "w"), namespaces: { shop: {} } };
    const { generation, expiresAt } = await putSnapshot(gateway, shop, { leaseSeconds: 60 });
    await clock.advance(30_000);
    const more = { namespaces: { other: {} } };
    await expect(patchCluster(gateway, "west", generation, more)).rejects.toMatchObject({
      code: "TOO_MANY_NAMESPACES",
    });
    expect(gateway.everything.status().clusters[0]!.expiresAt).toBe(expiresAt);
  });
});

describe("a cluster whose lease expired", () => {
  const west = {
    ...regional("west", "w"),
    namespaces: { shop: {} },
    exports: { "shop/web": exported({ exportedAt: "2026-01-01T00:00:00Z" }) },
  };
  const expired = async (limits = {}) => {
    const opened = openGateway({ limits });
    const { gateway, clock } = opened;
    await putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 });
    const { generation } = await putSnapshot(gateway, west, { leaseSeconds: 10 });
    await clock.advance(10_000);
    expect(opened.served()).toBe("east:e");
    return { ...opened, generation };
  };
  test("comes back with the push that it sent before", async () => {
    const { gateway, served } = await expired();
    await putSnapshot(gateway, west);
    expect(served()).toBe("east:e west:w");
  });

  test("does not come back where there are as many others as there may be", async () => {
    const { gateway, served, generation } = await expired({ clusters: 2 });
    await putSnapshot(gateway, regional("north", "n"));
    await expect(gateway.renew("west", generation)).rejects.toMatchObject({ code: "TOO_MANY_CLUSTERS" });
    expect(served()).toBe("east:e north:n");
  });

  test("has its entries in the database, until more clusters expired after it than there may be", async () => {
    const { gateway, clock, database, open, generation } = await expired({ clusters: 2 });
    const reader = new Reader(database, () => expect.unreachable());
    const entries = () => reader.rowsOf("shop/web").length;
    const known = (of = gateway) => of.everything.status().clusters.map(({ clusterId }) => clusterId);
    for (const id of ["a", "b"]) {
      expect([entries(), known()]).toEqual([1, id === "a" ? ["east", "west"] : ["a", "east", "west"]]);
      await putSnapshot(gateway, regional(id, id), { leaseSeconds: 10 });
      await clock.advance(10_000);
    }
    expect([entries(), known(), known(open())]).toEqual([0, ["a", "b", "east"], ["a", "b", "east"]]);
    await expect(gateway.renew("west", generation)).rejects.toMatchObject({
      code: "GENERATION_MISMATCH",
      current: undefined,
    });
    expect(gateway.state.left.has("west")).toBe(false);
    const pushed = await putSnapshot(gateway, west);
    expect(pushed.generation).toBeGreaterThan(generation);
    expect(entries()).toBe(1);
  });
});

describe("when every cluster expired", () => {
  test("a restart denies nothing, as a gateway does that knows no cluster", async () => {
    const { gateway, clock, open, served } = openGateway();
    expect(served(open().everything)).toBe("SERVFAIL");
    await putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 });
    clock.stall(10_000);
    const second = open();
    expect(served(second.everything)).toBe("SERVFAIL");
    expect(second.everything.status()).toMatchObject({
      ready: false,
      clusters: [{ clusterId: "west", live: false }],
    });
  });
});

describe("a closed gateway", () => {
  test("has taken the push that was in progress, has no timers, and takes no other", async () => {
    const { gateway, clock, open, served } = openGateway();
    await putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 });
    const push = putSnapshot(gateway, regional("west", "x"), { leaseSeconds: 10 });
    await gateway.close();
    await gateway.close();
    expect(clock.timers).toBe(0);
    await push;
    expect(served(open().everything)).toBe("west:x");
    await expect(putSnapshot(gateway, regional("west", "y"))).rejects.toMatchObject({ code: "STORE_CLOSED" });
  });

  test("answers on, without what expires", async () => {
    const { gateway, clock, served } = openGateway();
    await putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 });
    await putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 });
    await gateway.close();
    clock.stall(10_000);
    expect(served()).toBe("east:e");
  });
});
