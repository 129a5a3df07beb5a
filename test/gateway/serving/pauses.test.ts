import { expect, test } from "vitest";
import type { SnapshotPatch } from "../../../src/snapshot/lines/patch-line.ts";
import { openGateway, regional } from "../fake-stages.ts";
import { patchCluster, putSnapshot } from "../pushes.ts";

const pods = (count: number): SnapshotPatch => ({
  pods: Object.fromEntries(Array.from({ length: count }, (_, pod) => [`shop/10-1-0-${pod}`, {}])) as never,
});

/** A gateway that has just compiled a large change, for 100 ms by default. */
async function afterLargeChange(milliseconds = 100) {
  const opened = await openGateway();
  const { gateway, stages, done, clock } = opened;
  stages.takes = milliseconds;
  const first = { ...regional("west", "w"), namespaces: { shop: {} }, clusterZone: ZONE };
  const { generation } = await done(putSnapshot(gateway, first));
  const patch = async (change: SnapshotPatch) => {
    let isDone = false;
    patchCluster(gateway, "west", generation, change).then(() => {
      isDone = true;
    });
    await clock.advance(0);
    return () => isDone;
  };
  return { ...opened, patch };
}
const ZONE = { name: "cluster.local", pods: "verified" } as const;

test.each<[string, SnapshotPatch]>([
  ["64 entries", pods(64)],
  ["one entry", pods(1)],
])("a change of %s does not wait for the pause after a large compilation", async (_, change) => {
  const { patch } = await afterLargeChange();
  expect((await patch(change))()).toBe(true);
});

test.each<[string, SnapshotPatch]>([
  ["65 entries", pods(65)],
  ["a namespace", { namespaces: { other: {} } }],
  ["a pod and a namespace", { ...pods(1), namespaces: { other: {} } }],
  ["the topology", { topology: { region: "x" } }],
])("a change of %s waits for what is left of the pause after a large compilation", async (_, change) => {
  const { patch, clock } = await afterLargeChange();
  await clock.advance(60);
  const isDone = await patch(change);
  await clock.advance(39);
  expect(isDone()).toBe(false);
  await clock.advance(1);
  expect(isDone()).toBe(true);
});

test("a step that takes ten seconds, as one in which the process is halted, makes no change wait for longer than 100 ms", async () => {
  const { patch, clock } = await afterLargeChange(10_000);
  const isDone = await patch(pods(65));
  await clock.advance(99);
  expect(isDone()).toBe(false);
  await clock.advance(1);
  expect(isDone()).toBe(true);
});

test("a large change after a long time waits for nothing", async () => {
  const { patch, clock } = await afterLargeChange();
  await clock.advance(100);
  expect((await patch(pods(65)))()).toBe(true);
});
