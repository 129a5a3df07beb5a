import { describe, expect, test } from "vitest";
import { type ControlledCluster, createControl } from "../../../src/gateway/desired/control.ts";
import type { FeedParts } from "../../../src/gateway/desired/desired-feed.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import type { GenerationFacts } from "../../../src/gateway/keeping/generation-store.ts";
import { type Visibility, visibilityKey } from "../../../src/merge/visibility/visibility.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { exported } from "../../merge/fixtures.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeStages, openGateway, regional, type TextGeneration } from "../fake-stages.ts";
import { patchCluster, putSnapshot } from "../pushes.ts";

const WEST: Visibility = { clusters: ["west"] };
const SHOP: Visibility = { namespaces: ["shop"] };

function exporting(clusterId: string, ...keys: string[]): ClusterSnapshot {
  const service = exported({ exportedAt: "2026-01-01T00:00:00Z" });
  return {
    ...regional(clusterId, clusterId),
    namespaces: { shop: {}, secret: {} },
    exports: Object.fromEntries(keys.map((key) => [key, service])),
  };
}

/** A gateway that keeps its generations, in two scopes. */
async function openKeeping() {
  const kept: [scope: string, text: string, facts: GenerationFacts][] = [];
  const disk = { fails: undefined as Error | undefined };
  const generations = {
    keep(scope: string, { text }: TextGeneration, facts: GenerationFacts) {
      if (disk.fails !== undefined) throw disk.fails;
      kept.push([scope, text, facts]);
    },
  };
  const clock = new FakeClock();
  const events: GatewayEvent[] = [];
  const stages = new FakeStages(clock);
  const gateway = await Gateway.open({
    ...{ store: createMemoryStore(), stages, clock, generations, scopes: [SHOP] },
    onEvent: (event) => void events.push(event),
  });
  const done = async <Result>(promise: Promise<Result>): Promise<Result> => {
    promise.catch(() => {});
    await clock.advance(0);
    return promise;
  };
  const { generation } = await done(putSnapshot(gateway, exporting("west", "shop/web", "secret/db")));
  return { gateway, clock, events, stages, done, kept, disk, generation };
}

describe("a gateway that keeps its generations", () => {
  test("keeps that of each scope with the pushes in it, and with what exists there", async () => {
    const { kept, generation } = await openKeeping();
    const west = { clusterId: "west", generation, ranked: 0, imports: 0 };
    expect(kept).toEqual([
      ["", "west:west", { services: 2, clusters: [{ ...west, exports: 2 }] }],
      [visibilityKey(SHOP), "west:west", { services: 1, clusters: [{ ...west, exports: 1 }] }],
    ]);
  });

  test("keeps the generation again with a push that changes nothing in its scope, and compiles nothing", async () => {
    const { gateway, stages, done, kept, generation } = await openKeeping();
    kept.length = 0;
    const compiled = stages.compiled.length;
    const next = await done(patchCluster(gateway, "west", generation, { exports: { "secret/db": null } }));
    expect(kept.map(([scope, , { clusters }]) => [scope, clusters[0]!.generation])).toEqual([
      ["", next.generation],
      [visibilityKey(SHOP), next.generation],
    ]);
    expect(stages.compiled.length).toBe(compiled + 1);
  });

  test("keeps nothing again for renewals, for clusters out of scope, and where nothing was pushed", async () => {
    const { gateway, done, kept, generation } = await openKeeping();
    kept.length = 0;
    await done(gateway.renew("west", generation));
    await done(gateway.leave("nobody"));
    expect(kept).toEqual([]);
  });

  test("says that it failed where a push cannot be kept in a generation that stays", async () => {
    const { gateway, done, disk, events, clock, generation } = await openKeeping();
    disk.fails = new Error("the rows are full");
    events.length = 0;
    clock.stall(5);
    await done(patchCluster(gateway, "west", generation, { exports: { "secret/db": null } }));
    const within = gateway.within(SHOP);
    for (const scope of [gateway, within])
      expect(scope.status()).toMatchObject({ ready: true, compileError: "the rows are full" });
    expect(events.filter(({ event }) => event === "compile-failed")).toEqual([
      { event: "compile-failed", error: disk.fails },
      { event: "compile-failed", error: disk.fails, scope: visibilityKey(SHOP) },
    ]);
    disk.fails = undefined;
    await done(putSnapshot(gateway, exporting("west", "shop/web")));
    for (const scope of [gateway, within]) expect(scope.status()).not.toHaveProperty("compileError");
  });
});

describe("the status", () => {
  test("has nothing of a generation before there is one", async () => {
    const { gateway } = await openGateway();
    expect(gateway.status()).toEqual({
      ...{ ready: false, rootHash: undefined, generationBytes: 0, services: 0 },
      ...{ clusters: [], conflicts: [], findings: [] },
    });
  });

  test("has the length and the services of the one that is served", async () => {
    const { gateway, done } = await openGateway();
    await done(putSnapshot(gateway, exporting("west", "shop/web", "shop/db")));
    expect(gateway.status()).toMatchObject({ generationBytes: "west:west".length, services: 2 });
  });

  test("has a cluster as not live until it is in the answers", async () => {
    const { gateway, stages, done } = await openGateway();
    await done(putSnapshot(gateway, regional("east", "e")));
    stages.fails = new Error("cannot compile this");
    await done(putSnapshot(gateway, exporting("west", "shop/web")));
    const clusters = () => gateway.status().clusters.map(({ clusterId, live }) => [clusterId, live]);
    expect(clusters()).toEqual([
      ["east", true],
      ["west", false],
    ]);
    stages.fails = undefined;
    await done(putSnapshot(gateway, regional("east", "f")));
    expect(clusters()).toEqual([
      ["east", true],
      ["west", true],
    ]);
  });
});

test("an event of a compilation has how long it took, and its scope", async () => {
  const { gateway, stages, done, events } = await openGateway({ scopes: [WEST] });
  stages.takes = 7;
  await done(putSnapshot(gateway, regional("west", "w")));
  const compiled = { event: "compiled", changed: true, rootHash: "west:w", generationBytes: 6, services: 0 };
  expect(events.filter(({ event }) => event === "compiled")).toEqual([
    { ...compiled, milliseconds: 7 },
    { ...compiled, milliseconds: 7, scope: visibilityKey(WEST) },
  ]);
});

test("a compiler gets everything first, then what changed", async () => {
  const clock = new FakeClock();
  const stages = new FakeStages(clock);
  const changes: unknown[] = [];
  const { createCompiler } = stages;
  stages.createCompiler = () => {
    const { compile } = createCompiler.call(stages);
    return {
      compile(source, change, ...rest) {
        changes.push(change === "all" ? "all" : [...change.services].sort());
        return compile(source, change, ...rest);
      },
    };
  };
  const gateway = await Gateway.open({ store: createMemoryStore(), stages, clock, onEvent: () => {} });
  const done = async (promise: Promise<unknown>) => {
    await clock.advance(0);
    await promise;
  };
  await done(putSnapshot(gateway, exporting("west", "shop/a", "shop/b")));
  await done(putSnapshot(gateway, exporting("west", "shop/a", "shop/c")));
  expect(changes).toEqual(["all", ["shop/b", "shop/c"]]);
});

describe("leases", () => {
  test("a push that changes nothing is answered with its new lease, and nothing is compiled", async () => {
    const { gateway, stages, done, clock, leases } = await openGateway({ scopes: [WEST] });
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    const compiled = stages.compiled.length;
    await clock.advance(5_000);
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    expect(leases()).toEqual([clock.now() + 10_000]);
    expect(stages.compiled.length).toBe(compiled);
  });

  test("are renewed where a scope has no generation yet", async () => {
    const { gateway, done, served } = await openGateway({ scopes: [WEST] });
    const { generation } = await done(putSnapshot(gateway, regional("east", "e")));
    await done(gateway.renew("east", generation));
    expect(served(gateway.within(WEST))).toBe("SERVFAIL");
  });

  test("the next one to expire is watched after each push, renewal, leave and expiry, until the gateway closes", async () => {
    const clock = new FakeClock();
    const watched: number[] = [];
    let stopped = 0;
    let due = () => {};
    const gateway = await Gateway.open({
      ...{ store: createMemoryStore(), stages: new FakeStages(clock), clock, onEvent: () => {} },
      watchLeases: (onDue) => {
        due = onDue;
        return { watch: (at) => void watched.push(at), stop: () => void stopped++ };
      },
    });
    const done = async <Result>(promise: Promise<Result>): Promise<Result> => {
      await clock.advance(0);
      return promise;
    };
    const start = clock.now();
    const next = () => watched.splice(0).at(-1);
    expect(next()).toBe(Number.POSITIVE_INFINITY);
    await done(putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 30 }));
    expect(next()).toBe(start + 30_000);
    const { generation } = await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    expect(next()).toBe(start + 10_000);
    await done(gateway.renew("west", generation, { leaseSeconds: 20 }));
    expect(next()).toBe(start + 20_000);
    clock.stall(20_000);
    due();
    expect(next()).toBe(start + 30_000);
    await done(gateway.leave("east"));
    expect(next()).toBe(Number.POSITIVE_INFINITY);
    await gateway.close();
    expect(stopped).toBe(1);
    due();
    expect(watched).toEqual([]);
  });

  test("one that expired is seen by whoever reads, and the next one is watched then", async () => {
    const { gateway, done, clock, served } = await openGateway();
    await done(putSnapshot(gateway, regional("west", "w"), { leaseSeconds: 10 }));
    await done(putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 20 }));
    clock.stall(10_000);
    expect(served()).toBe("east:e");
    await clock.advance(10_000);
    expect(served()).toBe("SERVFAIL");
  });
});

test.each([
  [-1, true],
  [0, false],
  [1, false],
])(
  "a gateway that starts %i ms after a lease expired shows what the cluster had, in each scope; live: %s",
  async (after, live) => {
    const { gateway, store, clock, done } = await openGateway();
    await done(putSnapshot(gateway, exporting("west", "shop/web", "secret/db"), { leaseSeconds: 10 }));
    await done(putSnapshot(gateway, exporting("east", "shop/web"), { leaseSeconds: 20 }));
    const later = new FakeClock(clock.now() + 10_000 + after);
    const stages = new FakeStages(later);
    const events: GatewayEvent["event"][] = [];
    const other = await Gateway.open({
      ...{ store, stages, clock: later, scopes: [SHOP] },
      onEvent: ({ event }) => void events.push(event),
    });
    const west = { clusterId: "west", live };
    expect(other.status().clusters[1]).toMatchObject({ ...west, exports: 2 });
    expect(other.within(SHOP).status().clusters[1]).toMatchObject({ ...west, exports: 1 });
    const compiled = live ? ["east", "west"] : ["east"];
    expect(stages.compiled[0]!.map(({ clusterId }) => clusterId)).toEqual(compiled);
    expect(events.includes("lease-expired")).toBe(!live);
  },
);

describe("what a gateway desires in clusters", () => {
  const feeds: FeedParts[] = [];
  const openControlled = (clusters: readonly ControlledCluster[]) => {
    const clock = new FakeClock();
    const control = createControl(clusters);
    const { createFeed } = control;
    const events: GatewayEvent[] = [];
    feeds.length = 0;
    control.createFeed = (parts) => {
      feeds.push(parts);
      return createFeed(parts);
    };
    const opened = Gateway.open({
      ...{ store: createMemoryStore(), stages: new FakeStages(clock), clock, control },
      onEvent: (event) => void events.push(event),
    });
    return { opened, events };
  };

  test("is derived once for all clusters for which the same exists, whatever their view", async () => {
    const { opened, events } = openControlled([
      { clusterId: "a", visibility: {} },
      { clusterId: "b", visibility: { view: "b" } },
      { clusterId: "c", visibility: SHOP },
      { clusterId: "d", visibility: { ...SHOP, view: "d" } },
      { clusterId: "e", visibility: WEST },
    ]);
    const gateway = await opened;
    expect(feeds.map(({ clusters }) => [...clusters])).toEqual([["a", "b"], ["c", "d"], ["e"]]);
    expect(gateway.desiredWithin({ view: "b" })).toBe(gateway.desiredWithin({}));
    expect(gateway.desiredWithin({ namespaces: ["bank"] })).toBeUndefined();
    const error = new Error("cannot be derived");
    feeds[0]!.onError(error);
    expect(events).toContainEqual({ event: "compile-failed", error });
  });

  test("is rejected in a visibility that contradicts itself", async () => {
    const visibility = { view: "east", clusters: ["west"] };
    await expect(openControlled([{ clusterId: "a", visibility }]).opened).rejects.toThrow(RangeError);
  });
});
