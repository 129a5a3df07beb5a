import { describe, expect, test } from "vitest";
import { GenerationMismatch } from "../../src/gateway/gateway-types.ts";
import { SnapshotError } from "../../src/snapshot/snapshot-error.ts";
import { createMemoryStore } from "../../src/store/memory-store.ts";
import type { SnapshotStore } from "../../src/store/store.ts";
import { headlessExport } from "../snapshot/worlds.ts";
import { listAll } from "../store/changes.ts";
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
  test("is answered from when its promise resolves, and kept", async () => {
    const { gateway, served, done, store, clock } = await openGateway();
    expect(served()).toBe("SERVFAIL");
    const acknowledgement = await done(putSnapshot(gateway, regional("west", "a"), { leaseSeconds: 30 }));
    expect(acknowledgement).toEqual({
      clusterId: "west",
      generation: clock.now(),
      expiresAt: clock.now() + 30_000,
    });
    expect(served()).toBe("west:a");
    expect((await listAll(store)).map(({ snapshot }) => snapshot)).toEqual([regional("west", "a")]);
    expect(gateway.status()).toMatchObject({ ready: true, clusters: [{ clusterId: "west", live: true }] });
  });

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

  test("that the store cannot keep changes nothing", async () => {
    const { store, gate } = gatedStore();
    const { gateway, served, done } = await openGateway({ store });
    const { generation } = await done(putSnapshot(gateway, regional("west", "a")));
    gate.fails = new Error("disk full");
    await expect(done(putSnapshot(gateway, regional("west", "b")))).rejects.toThrow("disk full");
    await expect(done(gateway.leave("west"))).rejects.toThrow("disk full");
    gate.fails = undefined;
    expect(served()).toBe("west:a");
    await done(patchCluster(gateway, "west", generation, { topology: { region: "c" } }));
    expect(served()).toBe("west:c");
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

  test("refuses more clusters than the bound, at once too, and has room again when one leaves", async () => {
    const { gateway, done, served } = await openGateway({ limits: { clusters: 2 } });
    const pushes = ["a", "b", "c"].map((id) => putSnapshot(gateway, regional(id, "x")));
    const results = await done(Promise.allSettled(pushes));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    await done(putSnapshot(gateway, regional("a", "y")));
    await done(gateway.leave("b"));
    await done(putSnapshot(gateway, regional("c", "z")));
    expect(served()).toBe("a:y c:z");
  });
});

describe("patch", () => {
  test("applies to the generation that it names, and to no other", async () => {
    const { gateway, served, done } = await openGateway();
    const first = await done(putSnapshot(gateway, regional("west", "a")));
    const second = await done(
      patchCluster(gateway, "west", first.generation, { topology: { region: "b" } }, { leaseSeconds: 20 }),
    );
    expect(served()).toBe("west:b");
    expect(second.generation).toBeGreaterThan(first.generation);
    const stale = patchCluster(gateway, "west", first.generation, { topology: { region: "c" } });
    await expect(stale).rejects.toBeInstanceOf(GenerationMismatch);
    await expect(stale).rejects.toMatchObject({ current: second.generation });
    expect(served()).toBe("west:b");
    await expect(patchCluster(gateway, "east", 1, {})).rejects.toMatchObject({ current: undefined });
  });

  test("of two on the same generation only the first is taken", async () => {
    const { gateway, served, done } = await openGateway();
    const { generation } = await done(putSnapshot(gateway, regional("west", "a")));
    const patches = ["b", "c"].map((region) =>
      patchCluster(gateway, "west", generation, { topology: { region } }),
    );
    const results = await done(Promise.allSettled(patches));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(served()).toBe("west:b");
  });

  test("that is invalid changes nothing", async () => {
    const { gateway, served, done } = await openGateway();
    const { generation } = await done(putSnapshot(gateway, regional("west", "a")));
    await expect(patchCluster(gateway, "west", generation, { topology: 5 })).rejects.toBeInstanceOf(
      SnapshotError,
    );
    await done(patchCluster(gateway, "west", generation, { topology: { region: "b" } }));
    expect(served()).toBe("west:b");
  });

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

describe("leave", () => {
  test("of the last cluster leaves an empty zone that is answered from", async () => {
    const { gateway, served, done, store } = await openGateway();
    await done(putSnapshot(gateway, regional("west", "a")));
    expect(await done(gateway.leave("west"))).toBe(true);
    expect(served()).toBe("");
    expect(gateway.status()).toMatchObject({ ready: true, clusters: [] });
    expect(await listAll(store)).toEqual([]);
    expect(gateway.hasCluster("west")).toBe(false);
  });

  test("of an unknown cluster changes nothing", async () => {
    const { gateway, served, done } = await openGateway();
    expect(await done(gateway.leave("west"))).toBe(false);
    expect(served()).toBe("SERVFAIL");
  });
});

describe("compiling", () => {
  test("happens once for many pushes at once", async () => {
    const { gateway, stages, served, done } = await openGateway();
    const ids = Array.from({ length: 20 }, (_, index) => `c${String(index).padStart(2, "0")}`);
    await done(Promise.all(ids.map((id) => putSnapshot(gateway, regional(id, "x")))));
    expect(stages.compiled).toHaveLength(1);
    expect(served()?.split(" ")).toHaveLength(20);
  });

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

  test("to the same content keeps the generation that is served", async () => {
    const { gateway, done, events, clock } = await openGateway();
    await done(putSnapshot(gateway, regional("west", "a")));
    const { generation } = gateway.current(clock.now())!;
    await done(putSnapshot(gateway, { ...regional("west", "a"), namespaces: { unseen: {} } }));
    expect(gateway.current(clock.now())?.generation).toBe(generation);
    expect(events.findLast(({ event }) => event === "compiled")).toMatchObject({ changed: false });
  });
});
