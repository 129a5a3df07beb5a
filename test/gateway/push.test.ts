import { describe, expect, it } from "vitest";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { NOON } from "../database/pushing.ts";
import { exported } from "../merge/fixtures.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { FakeClock, TurningClock } from "./fake-clock.ts";
import { openGateway, patchCluster, putSnapshot, regional } from "./open-gateway.ts";
import { answerNow, openKeyed } from "./open-keyed.ts";

const service = exported();
const west: ClusterSnapshot = {
  ...regional("west", "w"),
  namespaces: { shop: {} },
  exports: { "shop/web": service, "shop/db": service },
};
const MISMATCH = { code: "GENERATION_MISMATCH" };

it("a push has a generation that grows, also when the clock is set back and the cluster has left, and is never below the clock", async () => {
  const { gateway, clock } = openGateway();
  const push = async () => (await putSnapshot(gateway, regional("west", "a"))).generation;
  const first = await push();
  expect(await push()).toBe(first + 1);
  clock.stall(-5000);
  expect(await push()).toBe(first + 2);
  await gateway.leave("west");
  expect(await push()).toBeGreaterThan(first + 2);
  clock.stall(20_000);
  expect(await push()).toBe(clock.now());
});

it("a patch that another push overtook while its lines came is rejected", async () => {
  const { gateway, served } = openGateway();
  const { generation } = await putSnapshot(gateway, regional("west", "a"));
  const staged = gateway.stage("west", "changes", generation).finish();
  await putSnapshot(gateway, regional("west", "b"));
  await expect(gateway.push(staged, {}, {}, generation)).rejects.toMatchObject(MISMATCH);
  expect(served()).toBe("west:b");
});

it("a push that changes nothing keeps compiled names and the SOA serial, whatever the time", async () => {
  const clock = new TurningClock();
  const gateway = openKeyed({ clock });
  await putSnapshot(gateway, west);
  answerNow(gateway.everything, encodeQuery("web.shop.svc.clusterset.local", "A"), undefined, clock.now());
  const { world } = gateway.everything.current()!;
  const { serial } = world;
  const { compiledBytes, stateHash } = gateway.everything.status();
  expect(compiledBytes).toBeGreaterThan(0);
  await clock.advance(10_000);
  await putSnapshot(gateway, structuredClone(west));
  expect(gateway.everything.current()!.world).toBe(world);
  expect(world.serial).toBe(serial);
  expect(gateway.everything.status()).toMatchObject({ compiledBytes, stateHash });
});

describe("a cluster with a damaged row", () => {
  /** A gateway with `east` and `west`, of which the row of an export is damaged. */
  const withDamage = async () => {
    // Exports have ranks once a clock is set.
    const opened = openGateway({ clock: new FakeClock(NOON) });
    await putSnapshot(opened.gateway, regional("east", "e"));
    const { generation } = await putSnapshot(opened.gateway, west);
    opened.database.exec(`UPDATE entry SET text = '{}' WHERE name = 'shop/web'`);
    const reported = () => opened.events.filter(({ event }) => event === "rows-damaged");
    const read = () => {
      opened.gateway.everything.current()?.world.entries.service("shop", "web");
    };
    return { ...opened, generation, reported, read };
  };
  const DAMAGED = { event: "rows-damaged", cluster: "west", key: "shop/web" };

  it("leaves the answers when the row is read for an answer, alone, and comes back with a whole push", async () => {
    const { gateway, served, reported, generation, read } = await withDamage();
    read();
    expect(served()).toBe("east:e");
    await expect.poll(reported).toEqual([DAMAGED]);
    expect(gateway.everything.hasCluster("west")).toBe(false);
    await expect(gateway.renew("west", generation)).rejects.toMatchObject(MISMATCH);
    await putSnapshot(gateway, west);
    expect(served()).toBe("east:e west:w");
    expect(gateway.everything.status().clusters[1]).toMatchObject({ clusterId: "west", exports: 2 });
  });

  it("has names not denied while it is not back, although all others left", async () => {
    const { gateway, served, read } = await withDamage();
    read();
    await gateway.leave("east");
    expect(served()).toBe("SERVFAIL");
    await putSnapshot(gateway, west);
    expect(served()).toBe("west:w");
  });

  it("has a patch that reads the damaged entry rejected, so that its worker pushes in full", async () => {
    const { gateway, reported, generation } = await withDamage();
    // Whether its exports count depends on the namespace.
    const patched = patchCluster(gateway, "west", generation, { namespaces: { shop: null } });
    await expect(patched).rejects.toMatchObject({ ...MISMATCH, current: undefined });
    expect(reported()).toEqual([DAMAGED]);
  });

  it("pushes in full, and is answered: once it left it counts nothing of damage, and pushes in full again", async () => {
    const { gateway, database, served, reported } = await withDamage();
    await putSnapshot(gateway, west);
    expect(served()).toBe("east:e west:w");
    expect(gateway.everything.status().clusters[1]).toMatchObject({ exports: 2, live: true });
    expect(reported()).toEqual([DAMAGED]);
    await gateway.leave("west");
    database.exec(`UPDATE entry SET counts = 1 WHERE name = 'shop/db'`);
    expect(served()).toBe("east:e");
    await putSnapshot(gateway, west);
    expect(served()).toBe("east:e west:w");
    expect(reported()).toHaveLength(2);
  });
});
