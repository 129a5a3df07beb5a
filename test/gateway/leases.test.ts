import { describe, expect, it } from "vitest";
import { Reader } from "../../src/database/reader.ts";
import type { Degradation } from "../../src/snapshot/report.ts";
import { exporting } from "../merge/fixtures.ts";
import { openGateway, patchCluster, putSnapshot, regional } from "./open-gateway.ts";

type Options = Parameters<typeof openGateway>[0];

/** A gateway on which `west` pushed a region; `reports` are its events of some kinds. */
async function openWest(options: Options = {}, leaseSeconds = 600) {
  const opened = openGateway(options);
  const { events, gateway, clock } = opened;
  const pushed = await putSnapshot(gateway, regional("west", "w"), { leaseSeconds });
  events.length = 0;
  const reports = () => events.filter(({ event }) => !event.startsWith("pushed"));
  return {
    ...opened,
    generation: pushed.generation,
    expiresAt: pushed.expiresAt,
    reports,
    start: clock.now(),
  };
}

describe("a lease", () => {
  it("has expired for a query that comes before the timer, on a closed gateway, too", async () => {
    for (const closes of [false, true]) {
      const { gateway, clock, served } = await openWest({}, 10);
      await putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 });
      if (closes) await gateway.close();
      clock.stall(10_000);
      expect(served()).toBe("east:e");
    }
  });

  it("is not renewed by a push that is rejected", async () => {
    const { gateway, clock, generation, expiresAt } = await openWest({ limits: { namespaces: 0 } });
    await clock.advance(30_000);
    const more = patchCluster(gateway, "west", generation, { namespaces: { other: {} } });
    await expect(more).rejects.toMatchObject({ code: "TOO_MANY_NAMESPACES" });
    expect(gateway.everything.status().clusters[0]!.expiresAt).toBe(expiresAt);
  });
});

describe("a cluster whose lease expired", () => {
  it("does not come back where there are as many others as there may be, and gives room to them", async () => {
    const { gateway, clock, served, generation } = await openWest({ limits: { clusters: 1 } }, 10);
    const north = () => putSnapshot(gateway, regional("north", "n"), { leaseSeconds: 100 });
    const message = "the gateway holds its most of 1 clusters already";
    const tooMany = { code: "TOO_MANY_CLUSTERS", message };
    await expect(north()).rejects.toMatchObject(tooMany);
    await clock.advance(10_000);
    await north();
    await expect(gateway.renew("west", generation)).rejects.toMatchObject(tooMany);
    expect(served()).toBe("north:n");
  });

  it("has its entries in the database, until more clusters expired after it than there may be", async () => {
    const { gateway, clock, database, open } = openGateway({ limits: { clusters: 2 } });
    const west = exporting("west");
    await putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 100 });
    const { generation } = await putSnapshot(gateway, west, { leaseSeconds: 10 });
    await clock.advance(10_000);
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

it("a closed gateway has taken the push that was in progress, has no timers, and takes no other", async () => {
  const { gateway, clock, open, served } = await openWest();
  const push = putSnapshot(gateway, regional("west", "x"), { leaseSeconds: 10 });
  await gateway.close();
  await gateway.close();
  expect(clock.timers).toBe(0);
  await push;
  expect(served(open().everything)).toBe("west:x");
  await expect(putSnapshot(gateway, regional("west", "y"))).rejects.toMatchObject({ code: "STORE_CLOSED" });
});

describe("a second instance with the same cluster id", () => {
  const REJECTED = { code: "OTHER_INSTANCE" };
  const lease = (instance: string) => ({ leaseSeconds: 60, instance });
  const open = (options?: Options) => {
    const opened = openGateway(options);
    const put = (instance: string) => putSnapshot(opened.gateway, regional("west", "w"), lease(instance));
    return { ...opened, put };
  };

  it("is taken when the lease expired, and a restarted gateway knows who holds it", async () => {
    const { database, clock, put } = open();
    await put("one");
    await clock.advance(61_000);
    await put("two");
    await expect(put("one")).rejects.toMatchObject(REJECTED);
    const restarted = open({ database, clock });
    await expect(restarted.put("one")).rejects.toMatchObject(REJECTED);
    await restarted.put("two");
  });

  it("is named by status, findings and the log, until it has not tried for some minutes", async () => {
    const { gateway, clock, put, events } = open();
    const { generation } = await put("one");
    const findings = async () => (await gateway.everything.survey())!.findings;
    const seen = async () => [
      gateway.everything.status().clusters[0]!.degraded?.map(({ reason }) => reason),
      (await findings()).map(({ reason }) => reason),
    ];
    const pass = async () => {
      await clock.advance(50_000);
      await gateway.renew("west", generation, lease("one"));
    };
    expect(await seen()).toEqual([undefined, []]);
    for (let minute = 0; minute < 5; minute++) {
      await expect(put("two")).rejects.toMatchObject(REJECTED);
      expect(await seen()).toEqual([["OTHER_INSTANCE"], ["OtherInstance"]]);
      expect((await findings())[0]!.message).toMatch(/instance two.*instance one/);
      await pass();
    }
    for (let minute = 0; minute < 4; minute++) await pass();
    expect(await seen()).toEqual([undefined, []]);
    expect(events.filter(({ event }) => event.startsWith("other-instance"))).toEqual([
      { event: "other-instance", clusterId: "west", holder: "one", instance: "two" },
      { event: "other-instance-gone", clusterId: "west", instance: "two" },
    ]);
  });
});

describe("what a worker reports of itself", () => {
  const UNREACHABLE: Degradation = { reason: "API_UNREACHABLE", seconds: 30 };
  const FORBIDDEN: Degradation = { reason: "RBAC_FORBIDDEN", seconds: 10, subject: "services" };
  const terms = (...degraded: Degradation[]) => ({ leaseSeconds: 90, report: { degraded } });

  it("is in the log once, and so is that it reports nothing any more", async () => {
    const { gateway, clock, reports, generation } = await openWest();
    const degraded = [{ reason: "API_UNREACHABLE" }];
    for (const seconds of [30, 40, 60, 80])
      await gateway.renew("west", generation, terms({ ...UNREACHABLE, seconds }));
    expect(reports()).toEqual([{ event: "worker-degraded", clusterId: "west", degraded }]);
    await clock.advance(60_000);
    await gateway.renew("west", generation, terms(UNREACHABLE, FORBIDDEN));
    expect(reports()[1]).toMatchObject({ degraded: [...degraded, { subject: "services" }] });
    await clock.advance(60_000);
    await gateway.renew("west", generation);
    await gateway.renew("west", generation);
    expect(reports().slice(2)).toEqual([{ event: "worker-recovered", clusterId: "west" }]);
  });

  it("is ten times a minute in the log, however often it changes, and the last one in the end", async () => {
    const { gateway, clock, reports, generation } = await openWest();
    const renew = (...degraded: Degradation[]) => gateway.renew("west", generation, terms(...degraded));
    for (let second = 0; second < 110; second++) {
      await renew(second % 2 === 0 ? UNREACHABLE : FORBIDDEN);
      await clock.advance(1000);
    }
    expect(reports()).toHaveLength(20);
    await renew();
    expect(reports()).toHaveLength(20);
    await clock.advance(60_000);
    await renew();
    expect(reports().slice(20)).toEqual([{ event: "worker-recovered", clusterId: "west" }]);
  });

  it("is known to a restarted gateway, which does not log it again", async () => {
    const { database, clock, gateway, generation } = await openWest();
    await gateway.renew("west", generation, terms(UNREACHABLE));
    const { degraded } = gateway.everything.status().clusters[0]!;
    expect(degraded).toEqual([{ reason: "API_UNREACHABLE", since: clock.now() - 30_000 }]);
    await clock.advance(5000);
    const restarted = openGateway({ database, clock });
    expect(restarted.gateway.everything.status().clusters[0]!.degraded).toEqual(degraded);
    await restarted.gateway.renew("west", generation, terms({ ...UNREACHABLE, seconds: 35 }));
    expect(restarted.events).toEqual([]);
  });

  it("has no subjects in a scope that hides something: they may not exist there", async () => {
    const scope = { namespaces: ["shop"] };
    const { gateway, generation } = await openWest({ scopes: [scope] });
    await gateway.renew("west", generation, terms(FORBIDDEN));
    const reported = [gateway.everything, gateway.within(scope)].map((one) =>
      one.status().clusters.flatMap(({ degraded = [] }) => degraded.map(({ subject }) => subject)),
    );
    expect(reported).toEqual([["services"], [undefined]]);
  });

  it.each([
    ["whole", { topology: { region: "b" } }],
    ["small", { pods: { "shop/10.0.0.2": {} } }],
  ])("is brought into the log by a %s change, and each push has its own event", async (_, patch) => {
    const { gateway, events, generation } = await openWest();
    const pushed = await patchCluster(gateway, "west", generation, patch, terms(UNREACHABLE));
    expect(events).toEqual([
      { event: "worker-degraded", clusterId: "west", degraded: [{ reason: "API_UNREACHABLE" }] },
      { event: "pushed", clusterId: "west", generation: pushed.generation, kind: "patch" },
    ]);
  });
});

describe("a push that arrived and is not in the answers", () => {
  it("makes them stale after pushDelaySeconds, until it is settled", async () => {
    const { gateway, served, clock, start } = await openWest({ limits: { pushDelaySeconds: 7 } });
    const settle = gateway.arrived("west");
    clock.stall(7000);
    expect([served(), gateway.everything.status().behindSince]).toEqual(["west:w", undefined]);
    clock.stall(1);
    expect([served(), gateway.everything.status().behindSince]).toEqual(["west:w stale", start]);
    settle(true);
    expect([served(), gateway.everything.status().behindSince]).toEqual(["west:w", undefined]);
  });

  it("counts from the oldest one of all clusters, and each is settled for itself", async () => {
    const { gateway, clock, start } = await openWest();
    const first = gateway.arrived("west");
    clock.stall(1000);
    const second = gateway.arrived("west");
    const other = gateway.arrived("east");
    clock.stall(10_000);
    expect(gateway.behindSince()).toBe(start);
    second(true);
    expect(gateway.behindSince()).toBe(start);
    first(true);
    expect(gateway.behindSince()).toBe(start + 1000);
    other(true);
    expect(gateway.behindSince()).toBeUndefined();
  });

  it("counts from when it arrived itself, however many of its cluster overlapped before it", async () => {
    const { gateway, clock } = await openWest();
    let settle = gateway.arrived("west");
    for (let second = 0; second < 20; second++) {
      clock.stall(1000);
      const next = gateway.arrived("west");
      settle(true);
      settle = next;
      expect(gateway.behindSince()).toBeUndefined();
    }
  });

  it("counts on where the gateway could not take it, until the cluster's next push is settled, or for a minute", async () => {
    const { gateway, clock, start } = await openWest();
    gateway.arrived("west")(false);
    clock.stall(6000);
    expect(gateway.behindSince()).toBe(start);
    gateway.arrived("east")(true);
    gateway.arrived("west")(false);
    expect(gateway.behindSince()).toBe(start);
    gateway.arrived("west")(true);
    expect(gateway.behindSince()).toBeUndefined();
    gateway.arrived("west")(false);
    clock.stall(59_999);
    expect(gateway.behindSince()).toBe(start + 6000);
    clock.stall(1);
    expect(gateway.behindSince()).toBeUndefined();
  });

  it("of a cluster without a lease counts only while it is in progress", async () => {
    const { gateway, clock, start } = await openWest();
    const settle = gateway.arrived("east");
    clock.stall(6000);
    expect(gateway.behindSince()).toBe(start);
    settle(false);
    expect(gateway.behindSince()).toBeUndefined();
  });

  it("does not count where the clock was set back behind it", async () => {
    const { gateway, clock } = await openWest();
    gateway.arrived("west");
    clock.stall(-3_600_000);
    expect(gateway.behindSince()).toBeUndefined();
  });
});
