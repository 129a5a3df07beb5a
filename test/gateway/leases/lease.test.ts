import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import type { SnapshotStore } from "../../../src/store/store.ts";
import { listAll } from "../../store/changes.ts";
import { settle } from "../fake-clock.ts";
import { openGateway, regional } from "../fake-stages.ts";
import { putSnapshot } from "../pushes.ts";

describe("a lease", () => {
  test("has expired for a query that comes before the timer", async () => {
    const { gateway, clock, served, done } = await openGateway();
    await done(putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 }));
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    clock.stall(10_000);
    expect(served()).toBe("east:e");
  });

  test("is renewed without compiling, and bounds the answers from then on", async () => {
    const { gateway, clock, stages, served, leases, done } = await openGateway();
    const east = await done(putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 }));
    const west = await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    expect(leases()).toEqual([east.expiresAt, west.expiresAt]);
    const runs = stages.compiled.length;
    await clock.advance(5_000);
    const renewed = await gateway.renew("west", west.generation, { leaseSeconds: 60 });
    expect(renewed).toEqual({
      clusterId: "west",
      generation: west.generation,
      expiresAt: clock.now() + 60_000,
    });
    expect(leases()).toEqual([east.expiresAt, renewed.expiresAt]);
    await clock.advance(10_000);
    expect(served()).toBe("east:e west:w");
    expect(stages.compiled).toHaveLength(runs);
  });

  test("that expires while its renewal is being kept is not renewed, and stays forgotten", async () => {
    const inner = createMemoryStore();
    let letGo = () => {};
    const store: SnapshotStore = {
      ...inner,
      keep: async (clusterId, change) => {
        if (change.kind === "lease")
          await new Promise<void>((resolve) => {
            letGo = resolve;
          });
        await inner.keep(clusterId, change);
      },
    };
    const { gateway, clock, served, done } = await openGateway({ store });
    const { generation } = await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    const renewal = gateway.renew("west", generation);
    renewal.catch(() => {});
    await clock.advance(10_000);
    expect(served()).toBe("SERVFAIL");
    letGo();
    await expect(renewal).rejects.toMatchObject({ code: "GENERATION_MISMATCH" });
    await settle();
    expect(await listAll(inner)).toEqual([]);
  });
});

describe("a cluster that pushes again after its lease expired", () => {
  test("stays in the store, although its removal was queued behind the push", async () => {
    const { gateway, clock, served, done, store } = await openGateway();
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    // The push finds the expired lease before the timer does.
    clock.stall(10_000);
    await done(putSnapshot(gateway, regional("west", "x"), { leaseSeconds: 10 }));
    await settle();
    expect(served()).toBe("west:x");
    expect((await listAll(store)).map(({ snapshot }) => snapshot.topology?.region)).toEqual(["x"]);
  });
});

describe("when every cluster died", () => {
  test("names are not denied, until one comes back and is compiled", async () => {
    const { gateway, clock, served, done } = await openGateway();
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    await clock.advance(10_000);
    expect(served()).toBe("SERVFAIL");
    expect(gateway.status()).toMatchObject({ ready: false, clusters: [{ clusterId: "west", live: false }] });
    expect(gateway.hasCluster("west")).toBe(true);
    const push = putSnapshot(gateway, regional("east", "e"));
    await settle();
    expect(served()).toBe("SERVFAIL");
    await done(push);
    expect(served()).toBe("east:e");
  });

  test("names are not denied when the others left either, until the dead one leaves too", async () => {
    const { gateway, clock, served, done } = await openGateway();
    await done(putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 }));
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    await clock.advance(10_000);
    await done(gateway.leave("east"));
    expect(served()).toBe("SERVFAIL");
    await done(gateway.leave("west"));
    expect(served()).toBe("");
  });

  test("names are not denied even if compiling fails at that moment", async () => {
    const { gateway, clock, stages, served, done } = await openGateway();
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    stages.fails = new Error("no");
    await clock.advance(10_000);
    expect(served()).toBe("SERVFAIL");
    await done(putSnapshot(gateway, regional("east", "e")));
    expect(served()).toBe("SERVFAIL");
  });
});

describe("a restart", () => {
  test("with an empty store, or only dead clusters, denies nothing", async () => {
    const { gateway, clock, done, open, served } = await openGateway();
    expect(served(await open())).toBe("SERVFAIL");
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    clock.stall(10_000);
    const second = await open();
    expect(served(second)).toBe("SERVFAIL");
    expect(second.status()).toMatchObject({ ready: false, clusters: [{ clusterId: "west", live: false }] });
  });

  test("a dead cluster that cannot be removed from the store is reported", async () => {
    const inner = createMemoryStore();
    const error = new Error("read-only");
    const store: SnapshotStore = { ...inner, remove: () => Promise.reject(error) };
    const { gateway, clock, done, events } = await openGateway({ store });
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    await clock.advance(10_000);
    await settle();
    expect(events).toContainEqual({ event: "removal-failed", clusterId: "west", error });
  });
});

test("a closed gateway has no timers, and waits for the push in progress", async () => {
  const { gateway, clock, done, store } = await openGateway();
  await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
  const push = putSnapshot(gateway, regional("west", "x"), { leaseSeconds: 10 });
  await gateway.close();
  await gateway.close();
  expect((await listAll(store))[0]?.snapshot.topology?.region).toBe("x");
  await done(push);
  expect(clock.timers).toBe(0);
});
