import { expect, test } from "vitest";
import {
  DEFAULT_SNAPSHOT_BOUNDS,
  measureInSteps,
  type SnapshotBounds,
} from "../../src/gateway/pushing/snapshot-bounds.ts";
import { DEFAULT_PUSH_LIMITS } from "../../src/http/push/push-limits.ts";
import { drain } from "../../src/snapshot/drain.ts";
import { heldSnapshot } from "../../src/snapshot/lines/held-state.ts";
import { JsonShape } from "../../src/snapshot/lines/json-syntax.ts";
import { largestCluster } from "./largest-cluster.ts";

test("the largest cluster that Kubernetes supports is within the default limits, and fills most of them", () => {
  const snapshot = largestCluster("west");
  const size = drain(measureInSteps(heldSnapshot(snapshot)));
  const bounds = { ...DEFAULT_SNAPSHOT_BOUNDS };
  for (const bound of Object.keys(bounds) as (keyof SnapshotBounds)[])
    expect([bound, size[bound] <= bounds[bound]]).toEqual([bound, true]);
  expect(size).toMatchObject({ pods: 150_000, services: 10_000, exports: 10_000, endpoints: 300_000 });
  const text = new TextEncoder().encode(JSON.stringify(snapshot));
  const shape = new JsonShape();
  shape.feed(text);
  expect(text.length).toBeLessThan(DEFAULT_PUSH_LIMITS.pushBytes);
  expect(text.length).toBeGreaterThan(DEFAULT_PUSH_LIMITS.pushBytes / 2);
  expect(shape.values).toBeLessThan(DEFAULT_PUSH_LIMITS.pushValues);
  expect(shape.values).toBeGreaterThan(DEFAULT_PUSH_LIMITS.pushValues / 2);
});
