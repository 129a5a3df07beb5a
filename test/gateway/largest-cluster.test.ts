import { expect, test } from "vitest";
import { Writer } from "../../src/database/writer.ts";
import { checkBounds } from "../../src/gateway/limits.ts";
import { JsonShape } from "../../src/snapshot/lines/json-syntax.ts";
import type { ClusterSnapshot, Endpoint } from "../../src/snapshot/schema.ts";
import { DEFAULT_LIMITS } from "../config/default-limits.ts";
import { metaAt, NOON, prepare, stage, wholeLines } from "../database/pushing.ts";
import { exported, port } from "../merge/fixtures.ts";
import { emptySnapshot } from "../snapshot/worlds.ts";
import { memoryDatabase } from "./open-keyed.ts";

const PODS = 150_000;
const SERVICES = 10_000;
const NAMESPACES = 1000;
const EACH = PODS / SERVICES;
const MESSAGE =
  "this message is about as long as those that the worker reports for one service, with a hint of what to change";

/**
 * A snapshot of the largest cluster that Kubernetes supports (Considerations for large clusters; scalability
 * thresholds): every Service is exported, in the cluster's own zone, and has a finding; every pod has a name.
 */
function largestCluster(clusterId: string): ClusterSnapshot {
  const snapshot: ClusterSnapshot = {
    ...emptySnapshot(clusterId),
    topology: { region: "eu-central-1", zones: ["a", "b", "c"] },
    clusterZone: { name: "cluster.local", pods: "verified" },
  };
  for (let index = 0; index < NAMESPACES; index++) snapshot.namespaces[`team-${index}`] = {};
  for (let index = 0; index < SERVICES; index++) {
    const namespace = `team-${index % NAMESPACES}`;
    const name = `service-${index}`;
    const key = `${namespace}/${name}`;
    const members: Record<string, Endpoint> = {};
    for (let pod = index * EACH; pod < (index + 1) * EACH; pod++) {
      const address = `10.${pod >> 16}.${(pod >> 8) & 255}.${pod & 255}`;
      members[address] = { address, zone: `eu-central-1${"abc"[pod % 3]}` };
      snapshot.pods[`${namespace}/${address}`] = {};
    }
    const ports = [port("http", 8080), port("metrics", 9090)];
    const { exportedAt, ...common } = exported({
      headless: index % 2 === 0,
      ports: [port("http", 80), port("metrics", 9090)],
      clusterIPs: [`172.20.${index >> 8}.${index & 255}`],
      endpoints: { "http/TCP/8080,metrics/TCP/9090": { ports, members } },
    });
    const exportedLabels = { "app.kubernetes.io/name": name, "app.kubernetes.io/part-of": namespace };
    snapshot.exports[key] = { exportedAt, exportedLabels, ...common };
    snapshot.services[key] = { createdAt: exportedAt, ...common };
    const finding = {
      reason: "PortConflict",
      kind: "ServiceExport",
      namespace,
      name,
      message: MESSAGE,
    } as const;
    snapshot.findings[`ServiceExport/${key}/PortConflict`] = finding;
  }
  return snapshot;
}

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
