import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import type { SnapshotStore } from "../../src/store/store.ts";
import { headlessExport } from "../snapshot/worlds.ts";
import { openGateway, regional } from "./fake-stages.ts";
import { heldOf, patchCluster, putSnapshot } from "./pushes.ts";

/** A store whose next calls wait until they are let go, or fail. */
function gatedStore() {
  const inner = createMemoryStore();
  const waiting: (() => void)[] = [];
  const gate = { closed: false, fails: undefined as Error | undefined };
  const pass = async () => {
    if (gate.closed) await new Promise<void>((resolve) => waiting.push(resolve));
    if (gate.fails !== undefined) throw gate.fails;
  };
  const store: SnapshotStore = {
    load: () => inner.load(),
    keep: async (clusterId, change) => {
      await pass();
      await inner.keep(clusterId, change);
    },
    remove: async (clusterId) => {
      await pass();
      await inner.remove(clusterId);
    },
    close: () => inner.close(),
  };
  return { store, gate, letGo: () => waiting.shift()?.() };
}

describe("replace", () => {
  test("is neither acknowledged nor served before the store has kept it", async () => {
    const { store, gate, letGo } = gatedStore();
    const { gateway, served, clock } = await openGateway({ store });
    gate.closed = true;
    let acknowledged = false;
    const push = putSnapshot(gateway, regional("west", "a")).then(() => {
      acknowledged = true;
    });
    await clock.advance(1000);
    expect([acknowledged, served()]).toEqual([false, "SERVFAIL"]);
    letGo();
    await clock.advance(0);
    await push;
    expect(served()).toBe("west:a");
  });

  test("generations grow, also when the clock is set back, and are never below the clock", async () => {
    const { gateway, done, clock } = await openGateway();
    const first = await done(putSnapshot(gateway, regional("west", "a")));
    const second = await done(putSnapshot(gateway, regional("west", "b")));
    expect(second.generation).toBe(first.generation + 1);
    clock.stall(-5000);
    const third = await done(putSnapshot(gateway, regional("west", "c")));
    expect(third.generation).toBe(second.generation + 1);
    clock.stall(20_000);
    const fourth = await done(putSnapshot(gateway, regional("west", "d")));
    expect(fourth.generation).toBe(clock.now());
  });

  test.each([4, 3601, Number.NaN])("rejects a lease of %d seconds", async (leaseSeconds) => {
    const { gateway } = await openGateway();
    await expect(putSnapshot(gateway, regional("west", "a"), { leaseSeconds })).rejects.toMatchObject({
      code: "LEASE_OUT_OF_RANGE",
    });
    expect(gateway.status().clusters).toEqual([]);
  });

  test("a cluster has so many namespaces at most, by snapshot and by delta: a generation has room for 65,535 of all", async () => {
    const { gateway, done, served } = await openGateway({ limits: { namespaces: 1 } });
    const two = { ...regional("west", "two"), namespaces: { a: {}, b: {} } };
    await expect(done(putSnapshot(gateway, two))).rejects.toMatchObject({ code: "TOO_MANY_NAMESPACES" });
    const { generation } = await done(putSnapshot(gateway, { ...two, namespaces: { a: {} } }));
    await expect(
      done(patchCluster(gateway, "west", generation, { namespaces: { b: {} } })),
    ).rejects.toMatchObject({
      code: "TOO_MANY_NAMESPACES",
    });
    expect(served()).toBe("west:two");
  });
});

describe("patch", () => {
  test("may not grow a snapshot above the bound, however many there are", async () => {
    const { gateway, done } = await openGateway({ limits: { snapshotCharacters: 1000 } });
    let { generation } = await done(putSnapshot(gateway, regional("west", "a")));
    // Changing the same field again and again is fine: only what the snapshot holds counts.
    for (let round = 0; round < 50; round++)
      ({ generation } = await done(
        patchCluster(gateway, "west", generation, { topology: { region: `region-${round}` } }),
      ));
    const grow = async () => {
      for (let round = 0; round < 100; round++)
        ({ generation } = await done(
          patchCluster(gateway, "west", generation, { namespaces: { [`namespace-${round}`]: {} } }),
        ));
    };
    await expect(grow()).rejects.toMatchObject({ code: "SNAPSHOT_TOO_LARGE" });
    await done(patchCluster(gateway, "west", generation, { topology: null }));
  });

  test("leaves entries that it does not name the same objects", async () => {
    const { gateway, done } = await openGateway();
    // A long entry is held as the object that it is.
    const snapshot = {
      ...{ ...regional("west", "a"), namespaces: { shop: {} } },
      exports: { "shop/web": headlessExport(200) },
    };
    const { generation } = await done(putSnapshot(gateway, snapshot));
    const before = heldOf(gateway, "west");
    expect(before).toEqual(snapshot);
    await done(patchCluster(gateway, "west", generation, { namespaces: { other: {} } }));
    const { namespaces, exports } = heldOf(gateway, "west");
    expect(namespaces).toEqual({ shop: {}, other: {} });
    expect(exports["shop/web"]).toBe(before.exports["shop/web"]);
  });
});

describe("compiling", () => {
  test("takes no more than half of the time under churn", async () => {
    const { gateway, stages, clock, done } = await openGateway();
    stages.takes = 100;
    let { generation } = await done(putSnapshot(gateway, regional("west", "start")));
    const before = stages.compiled.length;
    const startedAt = clock.now();
    for (let round = 0; round < 200; round++) {
      const patch = patchCluster(gateway, "west", generation, { topology: { region: `r${round}` } });
      await clock.advance(10);
      patch.then(
        (acknowledgement) => {
          generation = acknowledgement.generation;
        },
        () => {},
      );
    }
    const compiled = (stages.compiled.length - before) * 100;
    expect(compiled).toBeGreaterThan(0);
    expect(compiled / (clock.now() - startedAt)).toBeLessThanOrEqual(0.5);
  });

  test("that fails leaves the last good generation, says so, and recovers with the next push", async () => {
    const { gateway, stages, served, done, events } = await openGateway();
    await done(putSnapshot(gateway, regional("west", "a")));
    stages.fails = new Error("cannot compile this");
    await done(putSnapshot(gateway, regional("west", "b")));
    expect(served()).toBe("west:a");
    expect(gateway.status()).toMatchObject({ ready: true, compileError: "cannot compile this" });
    expect(events).toContainEqual({ event: "compile-failed", error: stages.fails });
    stages.fails = undefined;
    await done(putSnapshot(gateway, regional("west", "c")));
    expect(served()).toBe("west:c");
    expect(gateway.status()).not.toHaveProperty("compileError");
  });
});
