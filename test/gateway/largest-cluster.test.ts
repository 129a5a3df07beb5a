import { expect, test } from "vitest";
import { Writer } from "../../src/database/writer.ts";
import { checkBounds } from "../../src/gateway/limits.ts";
import { JsonShape } from "../../src/snapshot/lines/json-syntax.ts";
import { DEFAULT_LIMITS } from "../config/default-limits.ts";
import { metaAt, NOON, prepare, stage, wholeLines } from "../database/pushing.ts";
import { largestCluster } from "./largest-cluster.ts";
import { memoryDatabase } from "./open-keyed.ts";

test("the largest cluster that Kubernetes supports is within the default limits, and fills most of them", () => {
  const snapshot = largestCluster("west");
  const database = memoryDatabase();
  const writer = new Writer(database, () => {});
  const staged = stage(writer.reader, "west", "whole", wholeLines(snapshot));
  const { totals } = prepare(writer, staged, metaAt(NOON), { now: NOON, live: false });
  checkBounds(DEFAULT_LIMITS, totals);
  expect(totals).toMatchObject({ pods: 150_000, services: 10_000, exports: 10_000, endpoints: 300_000 });
  for (const bound of ["pods", "services", "exports", "endpoints", "ports", "findings"] as const)
    expect([bound, totals[bound] > DEFAULT_LIMITS[bound] / 2]).toEqual([bound, true]);
  const text = new TextEncoder().encode(JSON.stringify(snapshot));
  const shape = new JsonShape();
  shape.feed(text);
  expect(text.length).toBeLessThan(DEFAULT_LIMITS.pushBytes);
  expect(text.length).toBeGreaterThan(DEFAULT_LIMITS.pushBytes / 2);
  expect(shape.values).toBeLessThan(DEFAULT_LIMITS.pushValues);
  expect(shape.values).toBeGreaterThan(DEFAULT_LIMITS.pushValues / 2);
});
