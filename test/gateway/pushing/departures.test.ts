import { expect, test } from "vitest";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { settle } from "../fake-clock.ts";
import { openGateway, regional } from "../fake-stages.ts";
import { putSnapshot } from "../pushes.ts";

test("a cluster that leaves is reported once, and one that is not live never", async () => {
  const { gateway, done, events } = await openGateway();
  await done(putSnapshot(gateway, regional("west", "w")));
  expect([await done(gateway.leave("west")), await done(gateway.leave("west"))]).toEqual([true, false]);
  expect(events.filter(({ event }) => event === "left")).toEqual([{ event: "left", clusterId: "west" }]);
});

test("a store that still has a cluster that left counts as failing, whatever else it takes, until the cluster is gone", async () => {
  const inner = createMemoryStore();
  const disk = { fails: false };
  const remove = async (clusterId: string) => {
    if (disk.fails) throw Object.assign(new Error("EIO: write"), { code: "EIO" });
    await inner.remove(clusterId);
  };
  const { gateway, done, clock } = await openGateway({ store: { ...inner, remove } });
  await done(putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 }));
  await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 100 }));
  disk.fails = true;
  await expect(done(gateway.leave("west"))).rejects.toMatchObject({ code: "STORE_FAILED" });
  disk.fails = false;
  await done(putSnapshot(gateway, regional("east", "f"), { leaseSeconds: 100 }));
  expect(gateway.status().storeTrouble).toBeDefined();
  await clock.advance(10_000);
  await settle();
  expect(gateway.status().storeTrouble).toBeUndefined();
});
