import { describe, expect, it } from "vitest";
import { statusLines } from "../../src/hosts/commands/status.ts";
import type { StatusReport } from "../../src/http/cluster-state.ts";
import { secondaryMetrics } from "../../src/http/metrics/table.ts";
import type { Degradation } from "../../src/snapshot/report.ts";
import { day, exporting, port } from "../merge/fixtures.ts";
import { FakeGateway } from "./fake-gateway.ts";
import { openApp } from "./open-app.ts";
import { validatorOf } from "./openapi/read-document.ts";
import { pagesWorld } from "./pages/pages-world.ts";

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

const REPORT: Degradation[] = [
  { reason: "API_UNREACHABLE", seconds: 200 },
  { reason: "RBAC_FORBIDDEN", seconds: 10, subject: "services", count: 2 },
];

/** A gateway with two clusters; the worker of "east" reports itself degraded, 40 seconds ago. */
async function degradedWorld(report: Degradation[] = REPORT) {
  const world = await pagesWorld([exporting("west"), exporting("east")]);
  const renew = (clusterId: string, degraded: Degradation[] = []) =>
    world.renew(clusterId, { leaseSeconds: 60, report: { degraded } });
  await renew("east", report);
  await world.clock.advance(40_000);
  const text = async (path: string) => (await world.fetch(path)).text();
  const comment = async () =>
    (JSON.parse(await text("/resolve?name=web.shop.svc.clusterset.local")) as { Comment: string }).Comment;
  const status = async () => JSON.parse(await text("/status")) as StatusReport;
  const gauges = async () => {
    const metrics = secondaryMetrics({ gateway: world.gateway.everything, clock: () => world.clock.now() });
    const lines = (await metrics.render()).matchAll(/^clusterset_doh_cluster_degraded_seconds(.*)$/gm);
    return Array.from(lines, ([, series]) => series);
  };
  return { ...world, renew, text, comment, status, gauges };
}

describe("a cluster whose worker is degraded", () => {
  it("is named with what is wrong for how long: first on /clusters, in JSON's comment, by /status and its command", async () => {
    const { page, comment, status } = await degradedWorld();
    const { text } = await page("/clusters");
    expect(text).toContain(
      "east live , API server unreachable for 4 min, a right is missing (services and 1 more) for 50 s Last seen",
    );
    expect(text.indexOf("east")).toBeLessThan(text.indexOf("west live Last seen"));
    // What it concerns is for operators.
    const [server, right] = ["API server unreachable for 4 min", "a right is missing"];
    expect(await comment()).toContain(`east last seen 40 s ago, ${server}, ${right} for 50 s`);
    const report = await status();
    expect(report.clusters.map(({ clusterId, degraded }) => [clusterId, degraded])).toEqual([
      ["east", [server, `${right} (services and 1 more) for 50 s`]],
      ["west", []],
    ]);
    expect(statusLines(report).join("\n")).toMatch(
      /^east +live, API server unreachable for 4 min.* +40 s ago/m,
    );
  });

  it("has a gauge for each reason; reasons of another version are one", async () => {
    const { gauges } = await degradedWorld([
      ...REPORT,
      { reason: "NEWER", seconds: 5 },
      { reason: "NEWEST", seconds: 20 },
    ]);
    expect(await gauges()).toEqual([
      '{cluster="east",reason="API_UNREACHABLE"} 240',
      '{cluster="east",reason="RBAC_FORBIDDEN"} 50',
      '{cluster="east",reason="other"} 60',
    ]);
  });

  it("is healthy everywhere once its worker says so", async () => {
    const { renew, page, comment, status, gauges } = await degradedWorld();
    await renew("east");
    expect((await page("/clusters")).text).toContain("east live Last seen");
    expect(await comment()).toMatch(/^[^,]*$/);
    expect((await status()).clusters.map(({ degraded }) => degraded)).toEqual([[], []]);
    expect(await gauges()).toEqual([]);
  });

  it("has no gauge after its lease expired, and the reason stays on /clusters", async () => {
    const { clock, renew, gauges, page } = await degradedWorld();
    await renew("west");
    await clock.advance(30_000);
    expect(await gauges()).toEqual([]);
    expect((await page("/clusters")).text).toContain("east expired, its names are withdrawn");
  });
});
