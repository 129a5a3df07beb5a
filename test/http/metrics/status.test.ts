import { expect, it } from "vitest";
import { statusLines } from "../../../src/hosts/commands/status.ts";
import type { StatusReport } from "../../../src/http/cluster-state.ts";
import { day, exporting, port } from "../../merge/fixtures.ts";
import { FakeGateway } from "../fake-gateway.ts";
import { openApp } from "../open-app.ts";
import { validatorOf } from "../openapi/read-document.ts";
import { pagesWorld } from "../pages/pages-world.ts";

const older = exporting("west", { exportedAt: day(1), ports: [port("http", 80)] });
const younger = exporting("east", { exportedAt: day(2), ports: [port("http", 8080)] });

it("/status has clusters with their leases, services, conflicts and findings", async () => {
  const world = await pagesWorld([older, younger]);
  await world.clock.advance(5000);
  const response = await world.fetch("/status");
  expect(response.headers.get("cache-control")).toBe("no-store");
  const report = (await response.json()) as StatusReport;
  expect(report).toMatchObject({
    ready: true,
    stale: [],
    services: 1,
    findings: { total: 0, entries: [] },
    clusters: [
      { clusterId: "east", live: true, lastSeenSeconds: 5, expiresInSeconds: 55, exports: 1, imports: 0 },
      { clusterId: "west", live: true, lastSeenSeconds: 5, expiresInSeconds: 55, exports: 1, imports: 0 },
    ],
    conflicts: { total: 1, entries: [{ reason: "PortConflict", winner: "west" }] },
  });
  expect(statusLines(report)).toEqual([
    "ready: 2 of 2 clusters live, 1 service",
    "",
    "CLUSTER  STATE  LAST SEEN  LEASE EXPIRES  EXPORTS  IMPORTS",
    "east     live   5 s ago    in 55 s        1        0",
    "west     live   5 s ago    in 55 s        1        0",
    "",
    "1 conflict",
    expect.stringContaining('  shop/web: Conflicting port. Using "http:80/TCP"'),
    "0 findings",
  ]);
});

it("/status of gateways that share a log has position and hash, and no member that its schema lacks", async () => {
  const gateway = new FakeGateway();
  gateway.state = { ...gateway.state, position: 7 };
  const app = openApp({ gateway });
  const report = await (await app.request("/status")).json();
  expect(report).toMatchObject({ position: 7, stateHash: gateway.state.stateHash });
  const check = validatorOf({ $ref: "#/components/schemas/StatusReport" });
  expect([check(report), check.errors]).toEqual([true, null]);
});

it("/status shows a cluster whose lease expired, and that a gateway without any is not ready", async () => {
  const world = await pagesWorld([older]);
  await world.clock.advance(61_000);
  const report = (await (await world.fetch("/status")).json()) as StatusReport;
  expect(report).toMatchObject({
    ready: false,
    clusters: [{ live: false, expiresInSeconds: 0 }],
    conflicts: null,
  });
  expect(statusLines(report)).toContain("west     withdrawn  61 s ago   -              1        0");
  expect(statusLines(report)).toContain("conflicts: known once it is ready");
  expect(statusLines({ ...report, ready: true })).toContain("conflicts: not known to this gateway");
});
