import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import type { SnapshotStore } from "../../src/store/store.ts";
import { listAll } from "../store/changes.ts";
import { settle } from "./fake-clock.ts";
import { openGateway, regional } from "./fake-stages.ts";
import { patchCluster, putSnapshot } from "./pushes.ts";

/** A store on a disk that fails with `code` while that is set. Only a full disk can still remove. */
function storeOnDisk() {
  const inner = createMemoryStore();
  const disk: { code: string | undefined } = { code: undefined };
  const touch = (code: string | undefined) => {
    if (code !== undefined) throw Object.assign(new Error(`${code}: write`), { code });
  };
  const store: SnapshotStore = {
    ...inner,
    async keep(clusterId, change) {
      touch(disk.code);
      await inner.keep(clusterId, change);
    },
    async remove(clusterId) {
      touch(disk.code === "ENOSPC" ? undefined : disk.code);
      await inner.remove(clusterId);
    },
  };
  return { store, disk };
}

/** A gateway with `east` for 100 s and `west` for 10 s, whose disk then fails. */
async function onFailingDisk(code: string) {
  const { store, disk } = storeOnDisk();
  const opened = await openGateway({ store });
  const { gateway, done } = opened;
  const east = await done(putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 }));
  const west = await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
  disk.code = code;
  return { ...opened, disk, east, west };
}

const codes = [
  { code: "ENOSPC", refusal: "STORE_FULL" },
  { code: "EDQUOT", refusal: "STORE_FULL" },
  { code: "EROFS", refusal: "STORE_FAILED" },
  { code: "EIO", refusal: "STORE_FAILED" },
];

describe.each(codes)("on a disk that fails with $code", ({ code, refusal }) => {
  test("renewals count, and names go on being answered", async () => {
    const { gateway, clock, served, west } = await onFailingDisk(code);
    for (let round = 0; round < 5; round++) {
      await clock.advance(9_000);
      const { expiresAt } = await gateway.renew("west", west.generation, { leaseSeconds: 10 });
      expect(expiresAt).toBe(clock.now() + 10_000);
    }
    expect(served()).toBe("east:e west:w");
  });

  test("changes are rejected, change nothing, and show that their cluster lives", async () => {
    const { gateway, clock, served, done, west } = await onFailingDisk(code);
    await clock.advance(9_000);
    await expect(
      done(patchCluster(gateway, "west", west.generation, {}, { leaseSeconds: 10 })),
    ).rejects.toMatchObject({
      code: refusal,
    });
    await clock.advance(9_000);
    const pushed = done(putSnapshot(gateway, regional("west", "x"), { leaseSeconds: 10 }));
    await expect(pushed).rejects.toMatchObject({ code: refusal, message: expect.stringContaining(code) });
    await expect(done(putSnapshot(gateway, regional("new", "n")))).rejects.toMatchObject({ code: refusal });
    await clock.advance(9_000);
    expect(served()).toBe("east:e west:w");
    expect(gateway.status().clusters.map(({ clusterId }) => clusterId)).toEqual(["east", "west"]);
    await clock.advance(1_000);
    expect(served()).toBe("east:e");
  });

  test("the status says so, events say so once, and both say when it works again", async () => {
    const { gateway, clock, done, disk, events, east, west } = await onFailingDisk(code);
    const reported = () => events.map(({ event }) => event).filter((event) => event.startsWith("store-"));
    expect(gateway.status().storeTrouble).toBeUndefined();
    const since = clock.now();
    await gateway.renew("east", east.generation, { leaseSeconds: 100 });
    await clock.advance(1_000);
    await gateway.renew("west", west.generation, { leaseSeconds: 100 });
    expect(gateway.status()).toMatchObject({
      ready: true,
      storeTrouble: { reason: expect.stringContaining(code), since },
    });
    expect(reported()).toEqual(["store-failed"]);
    disk.code = undefined;
    await gateway.renew("east", east.generation, { leaseSeconds: 100 });
    expect(gateway.status().storeTrouble).toBeDefined();
    await done(putSnapshot(gateway, regional("west", "x"), { leaseSeconds: 100 }));
    expect(gateway.status().storeTrouble).toBeUndefined();
    expect(reported()).toEqual(["store-failed", "store-works-again"]);
  });

  test("a cluster whose change was rejected, and that gave up, does not keep the failure alive", async () => {
    const { gateway, done, disk, east } = await onFailingDisk(code);
    await expect(done(putSnapshot(gateway, regional("new", "n")))).rejects.toMatchObject({ code: refusal });
    disk.code = undefined;
    await gateway.renew("east", east.generation, { leaseSeconds: 100 });
    expect(gateway.status().storeTrouble).toBeUndefined();
  });

  test("dead clusters leave the answers, and the store as soon as it can be written", async () => {
    const { gateway, clock, served, disk, store } = await onFailingDisk(code);
    await clock.advance(10_000);
    expect(served()).toBe("east:e");
    disk.code = undefined;
    await clock.advance(10_000);
    await settle();
    expect((await listAll(store)).map(({ snapshot }) => snapshot.clusterId)).toEqual(["east"]);
    expect(gateway.status().storeTrouble).toBeUndefined();
  });

  test("a cluster that leaves is not answered any more", async () => {
    const { gateway, clock, served, done, disk, store } = await onFailingDisk(code);
    const left = done(gateway.leave("west"));
    if (code === "ENOSPC") expect(await left).toBe(true);
    else await expect(left).rejects.toMatchObject({ code: refusal });
    expect(served()).toBe("east:e");
    disk.code = undefined;
    await clock.advance(10_000);
    await settle();
    expect((await listAll(store)).map(({ snapshot }) => snapshot.clusterId)).toEqual(["east"]);
  });

  test("a removal that is owed takes away nothing that was pushed since", async () => {
    const { gateway, clock, served, done, disk, store } = await onFailingDisk(code);
    await clock.advance(10_000);
    disk.code = undefined;
    await done(putSnapshot(gateway, regional("west", "x"), { leaseSeconds: 100 }));
    await clock.advance(20_000);
    await settle();
    expect(served()).toBe("east:e west:x");
    expect((await listAll(store)).map(({ snapshot }) => snapshot.topology?.region).sort()).toEqual([
      "e",
      "x",
    ]);
  });
});

test("what is no failure of the disk is passed on: a store that was closed takes no renewal", async () => {
  const { gateway, store, done } = await openGateway();
  const { generation } = await done(putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 }));
  store.keep = async () => {
    throw new TypeError("unforeseen");
  };
  await expect(gateway.renew("east", generation)).rejects.toThrow(TypeError);
  await expect(done(putSnapshot(gateway, regional("east", "f")))).rejects.toThrow(TypeError);
  expect(gateway.status().storeTrouble).toBeUndefined();
});
