import { expect, test } from "vitest";
import type { ClusterSnapshot, LocalService } from "../../../src/snapshot/schema.ts";
import { FakeClock } from "../../gateway/fake-clock.ts";
import { putSnapshot } from "../../gateway/pushes.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { sqliteDouble } from "../../store/rows/sqlite-double.ts";
import { passUntil, startOver } from "./stored-gateway.ts";

const LEASE = { leaseSeconds: 60 };
const localService: LocalService = {
  ...{ createdAt: "2024-01-01T00:00:00Z", serviceType: "ClusterIP", headless: false, endpoints: {} },
  ...{ clusterIPs: ["10.9.0.1"], ports: [{ name: "http", protocol: "TCP", port: 80 }] },
};

/** A cluster with a zone of its own, and services and a pod in it. */
function withZone(...names: string[]): ClusterSnapshot {
  const pods = Object.fromEntries(names.map((_, at) => [`shop/10.8.0.${at}`, {}]));
  return {
    ...{ ...shopSnapshot("east", 3), pods },
    clusterZone: { name: "cluster.local", pods: "verified" },
    services: Object.fromEntries(names.map((name) => [`shop/${name}`, localService])),
  };
}

async function start(
  resumes: boolean,
  database = sqliteDouble(),
  clock = new FakeClock(Date.UTC(2026, 0, 1)),
) {
  const { open, reasons } = startOver(database, clock, { resumes });
  return { database, clock, gateway: await open(), reasons };
}

/** The hash of a world that a gateway compiled once. */
async function hashOf(snapshot: ClusterSnapshot): Promise<string | undefined> {
  const { clock, gateway } = await start(false);
  await passUntil(clock, putSnapshot(gateway, snapshot, LEASE));
  return gateway.status().rootHash;
}

test("a cluster that leaves and joins again before the next compilation has nothing of its old zone", async () => {
  const { clock, gateway } = await start(false);
  await passUntil(clock, putSnapshot(gateway, withZone("a", "b"), LEASE));
  const again = [gateway.leave("east"), putSnapshot(gateway, withZone("a"), LEASE)];
  await passUntil(clock, Promise.all(again));
  expect(gateway.status().rootHash).toBe(await hashOf(withZone("a")));
});

test("nor one that pushes to a process that goes on from a generation after the cluster's lease expired", async () => {
  const { database, clock, gateway } = await start(true);
  await passUntil(clock, putSnapshot(gateway, withZone("a", "b"), LEASE));
  const again = await start(true, database, new FakeClock(clock.now() + 70_000));
  expect(again.reasons).toEqual([]);
  await passUntil(again.clock, putSnapshot(again.gateway, withZone("a"), LEASE));
  expect(again.gateway.status().rootHash).toBe(await hashOf(withZone("a")));
});
