import { describe, expect, test } from "vitest";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { NOON } from "../database/pushing.ts";
import { exported } from "../merge/fixtures.ts";
import { FakeClock } from "./fake-clock.ts";
import { openGateway, patchCluster, putSnapshot, regional } from "./open-gateway.ts";

const service = exported({ exportedAt: "2026-01-01T00:00:00Z" });
const west: ClusterSnapshot = {
  ...regional("west", "w"),
  namespaces: { shop: {} },
  exports: { "shop/web": service, "shop/db": service },
};

/** A gateway with `east` and `west`, of which the row of an export is damaged. */
async function withDamage() {
  // Exports have ranks once a clock is set.
  const opened = openGateway({ clock: new FakeClock(NOON) });
  await putSnapshot(opened.gateway, regional("east", "e"));
  const { generation } = await putSnapshot(opened.gateway, west);
  opened.database.exec(`UPDATE entry SET text = '{}' WHERE name = 'shop/web'`);
  opened.events.length = 0;
  const reported = () => opened.events.filter(({ event }) => event === "rows-damaged");
  return { ...opened, generation, reported };
}

const DAMAGED = { event: "rows-damaged", cluster: "west", key: "shop/web" };
const MISMATCH = { code: "GENERATION_MISMATCH", current: undefined };

describe("a cluster with a damaged row", () => {
  test("leaves the answers when the row is read for an answer, alone, and comes back with a whole push", async () => {
    const { gateway, clock, served, reported, generation } = await withDamage();
    gateway.everything.current(clock.now())?.world.entries.service("shop", "web");
    expect(served()).toBe("east:e");
    await expect.poll(reported).toEqual([DAMAGED]);
    expect(gateway.everything.hasCluster("west")).toBe(false);
    await expect(gateway.renew("west", generation)).rejects.toMatchObject(MISMATCH);
    await putSnapshot(gateway, west);
    expect(served()).toBe("east:e west:w");
    expect(gateway.everything.status().clusters[1]).toMatchObject({ clusterId: "west", exports: 2 });
  });

  test("pushes in full, and is answered", async () => {
    const { gateway, served, reported } = await withDamage();
    await putSnapshot(gateway, west);
    expect(served()).toBe("east:e west:w");
    expect(gateway.everything.status().clusters[1]).toMatchObject({ exports: 2, live: true });
    expect(reported()).toEqual([DAMAGED]);
  });

  test("has a patch of the damaged entry rejected, so that its worker pushes in full", async () => {
    const { gateway, served, reported, generation } = await withDamage();
    const patch = { exports: { "shop/web": { ports: [] } } };
    await expect(patchCluster(gateway, "west", generation, patch)).rejects.toMatchObject(MISMATCH);
    expect(reported()).toEqual([DAMAGED]);
    expect(served()).toBe("east:e");
  });

  test("has a patch that reads the damaged entry for another one rejected", async () => {
    const { gateway, reported, generation } = await withDamage();
    // Whether its exports count depends on the namespace.
    const patch = { namespaces: { shop: null } };
    await expect(patchCluster(gateway, "west", generation, patch)).rejects.toMatchObject(MISMATCH);
    expect(reported()).toEqual([DAMAGED]);
  });

  test("that left counts nothing of the damage, and pushes in full again", async () => {
    const { gateway, database, served, reported } = await withDamage();
    await putSnapshot(gateway, west);
    await gateway.leave("west");
    database.exec(`UPDATE entry SET counts = 1 WHERE name = 'shop/db'`);
    expect(served()).toBe("east:e");
    await putSnapshot(gateway, west);
    expect(served()).toBe("east:e west:w");
    expect(reported()).toHaveLength(2);
  });

  test("has names not denied while it is not back, although all others left", async () => {
    const { gateway, clock, served } = await withDamage();
    gateway.everything.current(clock.now())?.world.entries.service("shop", "web");
    await gateway.leave("east");
    expect(served()).toBe("SERVFAIL");
    await putSnapshot(gateway, west);
    expect(served()).toBe("west:w");
  });
});
