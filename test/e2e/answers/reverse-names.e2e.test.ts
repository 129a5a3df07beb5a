import { globSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { pushed } from "../../snapshot/lines/push-lines.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";

const PODS = ["10.1.0.1", "2001:db8::1"];
const NAMES = [
  "1.0.1.10.in-addr.arpa",
  "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
];
const OF_EAST = ["10-1-0-1", "2001-db8--1"].map((label) => `${label}.east.db.shop.svc.clusterset.local`);
const OF_WEST = ["10-1-0-1", "2001-db8--1"].map((label) => `${label}.west.old.shop.svc.clusterset.local`);
const OLD = "2024-01-01T00:00:00Z";
const YOUNG = "2026-05-01T00:00:00Z";

let gateway: GatewayProcess;
const generations = new Map<string, number>();

beforeAll(async () => {
  gateway = await startGateway({ clusters: ["east", "west"], leaseSeconds: 600 });
});

afterAll(async () => {
  await gateway?.stop();
});

const membersOf = (addresses: readonly string[]) =>
  Object.fromEntries(addresses.map((address) => [address, { address }]));

/** A cluster with one headless service in `shop`. */
function snapshotOf(clusterId: string, name: string, exportedAt: string, addresses: readonly string[]) {
  const ports = [{ name: "pg", protocol: "TCP", port: 5432 }];
  return {
    ...{ formatVersion: 1, clusterId, namespaces: { shop: {} } },
    ...{ imports: {}, services: {}, pods: {}, findings: {} },
    exports: {
      [`shop/${name}`]: {
        ...{ exportedAt, serviceType: "ClusterIP", headless: true, ports },
        endpoints: { "pg/TCP/5432": { ports, members: membersOf(addresses) } },
      },
    },
  } satisfies ClusterSnapshot;
}

async function push(method: "PUT" | "PATCH", clusterId: string, body: object) {
  const path = `/api/v1/clusters/${clusterId}/snapshot`;
  const authorization = `Bearer ${gateway.tokenFor(clusterId)}`;
  const answer = await gateway.http(...pushed(method, path, body, { authorization }));
  expect(answer.status).toBe(200);
  generations.set(clusterId, answer.json<{ generation: number }>().generation);
}

const patchMembers = (clusterId: string, name: string, members: object) =>
  push("PATCH", clusterId, {
    baseGeneration: generations.get(clusterId),
    patch: { exports: { [`shop/${name}`]: { endpoints: { "pg/TCP/5432": { members } } } } },
  });

async function reverseNames(): Promise<(string | undefined)[]> {
  const answers = await Promise.all(NAMES.map((name) => gateway.lookup(name, "PTR")));
  return answers.map(({ values }) => values[0]);
}

async function losers(clusterId: string): Promise<string[]> {
  const answer = await gateway.http(`/api/v1/clusters/${clusterId}`, {
    headers: { authorization: `Bearer ${gateway.tokenFor(clusterId)}` },
  });
  const { findings } = answer.json<{ findings: { reason: string; name: string }[] }>();
  return findings.filter(({ reason }) => reason === "ReverseNameTaken").map(({ name }) => name);
}

test("an older export takes no reverse name over: by PUT, by PATCH, after kill -9, with a damaged memory", async () => {
  await push("PUT", "west", snapshotOf("west", "old", OLD, ["10.9.9.9"]));
  await push("PUT", "east", snapshotOf("east", "db", YOUNG, PODS));
  expect(await reverseNames()).toEqual(OF_EAST);

  await push("PUT", "west", snapshotOf("west", "old", OLD, ["10.9.9.9", PODS[0]!]));
  expect(await reverseNames()).toEqual(OF_EAST);
  await patchMembers("west", "old", membersOf(PODS));
  expect(await reverseNames()).toEqual(OF_EAST);
  expect(await losers("west")).toEqual(["old"]);
  expect(await losers("east")).toEqual([]);
  const { text } = await gateway.http("/metrics");
  expect(text).toContain('clusterset_doh_findings{cluster="west",reason="ReverseNameTaken"} 1');

  await gateway.kill();
  await gateway.restart();
  expect(await reverseNames()).toEqual(OF_EAST);

  await gateway.kill();
  const records = globSync(join(gateway.stateDir, "**/addresses@*"));
  expect(records.length).toBeGreaterThan(1);
  truncateSync(records[0]!, 20);
  await gateway.restart();
  expect(await reverseNames()).toEqual(OF_EAST);
  await push("PUT", "west", snapshotOf("west", "old", OLD, PODS));
  expect(await reverseNames()).toEqual(OF_EAST);

  await patchMembers("east", "db", Object.fromEntries(PODS.map((address) => [address, null])));
  expect(await reverseNames()).toEqual(OF_WEST);
  await push("PUT", "east", snapshotOf("east", "db", YOUNG, PODS));
  expect(await reverseNames()).toEqual(OF_WEST);
  expect(await losers("east")).toEqual(["db"]);
});
