import { describe, expect, test } from "vitest";
import { openGateway, patchCluster, putSnapshot, regional } from "./open-gateway.ts";

describe("a whole push", () => {
  test("has a generation that grows, also when the clock is set back, and is never below the clock", async () => {
    const { gateway, clock } = openGateway();
    const first = await putSnapshot(gateway, regional("west", "a"));
    const second = await putSnapshot(gateway, regional("west", "b"));
    expect(second.generation).toBe(first.generation + 1);
    clock.stall(-5000);
    const third = await putSnapshot(gateway, regional("west", "c"));
    expect(third.generation).toBe(second.generation + 1);
    clock.stall(20_000);
    const fourth = await putSnapshot(gateway, regional("west", "d"));
    expect(fourth.generation).toBe(clock.now());
  });

  test("of one cluster too many is rejected with the bound in the message", async () => {
    const { gateway, clock } = openGateway({ limits: { clusters: 1 } });
    await putSnapshot(gateway, regional("west", "a"), { leaseSeconds: 10 });
    const east = () => putSnapshot(gateway, regional("east", "e"), { leaseSeconds: 10 });
    await expect(east()).rejects.toMatchObject({
      code: "TOO_MANY_CLUSTERS",
      message: "the gateway holds its most of 1 clusters already",
    });
    await clock.advance(10_000);
    await east();
  });

  test("of a client that closed its request, or knows of an older generation than the one held, changes nothing", async () => {
    const { gateway, served } = openGateway();
    const { generation } = await putSnapshot(gateway, regional("west", "a"));
    const late = (sender: object) => putSnapshot(gateway, regional("west", "b"), {}, sender);
    await expect(late({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "CLIENT_GONE" });
    await expect(late({ after: generation - 1 })).rejects.toMatchObject({ current: generation });
    await expect(gateway.leave("west", { after: generation - 1 })).rejects.toMatchObject({
      code: "GENERATION_MISMATCH",
    });
    expect(served()).toBe("west:a");
    await late({ after: generation });
    expect(served()).toBe("west:b");
  });
});

describe("a patch", () => {
  test("that another push overtook while its lines came is rejected", async () => {
    const { gateway, served } = openGateway();
    const { generation } = await putSnapshot(gateway, regional("west", "a"));
    const staged = gateway.stage("west", "changes", generation).finish();
    await putSnapshot(gateway, regional("west", "b"));
    await expect(gateway.push(staged, {}, {}, generation)).rejects.toMatchObject({
      code: "GENERATION_MISMATCH",
    });
    expect(served()).toBe("west:b");
  });

  test("may not grow a snapshot above the bound, however many there are", async () => {
    const { gateway } = openGateway({ limits: { snapshotCharacters: 1000 } });
    let { generation } = await putSnapshot(gateway, regional("west", "a"));
    // Changing the same field again and again is fine: only what the snapshot holds counts.
    for (let round = 0; round < 50; round++)
      ({ generation } = await patchCluster(gateway, "west", generation, {
        topology: { region: `region-${round}` },
      }));
    const grow = async () => {
      for (let round = 0; round < 100; round++)
        ({ generation } = await patchCluster(gateway, "west", generation, {
          namespaces: { [`namespace-${round}`]: {} },
        }));
    };
    await expect(grow()).rejects.toMatchObject({ code: "SNAPSHOT_TOO_LARGE" });
    await patchCluster(gateway, "west", generation, { topology: null });
  });
});

test("what a cluster has is counted, and is nothing of a cluster that is not live", async () => {
  const { gateway } = openGateway();
  await putSnapshot(gateway, {
    ...regional("west", "a"),
    namespaces: { shop: {} },
    pods: { "shop/10.0.0.1": {} },
  });
  expect(gateway.totalsOf("west")).toMatchObject({ namespaces: 1, pods: 1, exports: 0 });
  expect(gateway.totalsOf("east")).toBeUndefined();
});

test.each([
  ["whole", { topology: { region: "b" } }],
  ["small", { pods: { "shop/10.0.0.2": {} } }],
])("a %s change brings its worker's report into the log, and each push its own event", async (_, patch) => {
  const { gateway, events } = openGateway();
  const { generation } = await putSnapshot(gateway, regional("west", "a"));
  events.length = 0;
  const degraded = [{ reason: "API_UNREACHABLE", seconds: 30 }];
  const pushed = await patchCluster(gateway, "west", generation, patch, { report: { degraded } });
  expect(events).toEqual([
    { event: "worker-degraded", clusterId: "west", degraded: [{ reason: "API_UNREACHABLE" }] },
    { event: "pushed", clusterId: "west", generation: pushed.generation, kind: "patch" },
  ]);
});
