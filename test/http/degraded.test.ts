import { describe, expect, it } from "vitest";
import { statusLines } from "../../src/hosts/commands/status.ts";
import type { StatusReport } from "../../src/http/cluster-state.ts";
import { secondaryMetrics } from "../../src/http/metrics/table.ts";
import type { Degradation } from "../../src/snapshot/report.ts";
import { exporting } from "../merge/fixtures.ts";
import { pagesWorld } from "./pages/pages-world.ts";

const REPORT: Degradation[] = [
  { reason: "API_UNREACHABLE", seconds: 200 },
  { reason: "RBAC_FORBIDDEN", seconds: 10, subject: "services", count: 2 },
];

/** A gateway with two clusters; the worker of "east" reports itself degraded, 40 seconds ago. */
async function degradedWorld(report: Degradation[] = REPORT) {
  const world = await pagesWorld([exporting("west"), exporting("east")]);
  const renew = async (clusterId: string, degraded: Degradation[] = []) => {
    const { generation } = world.gateway.everything
      .status()
      .clusters.find((one) => one.clusterId === clusterId)!;
    const renewed = world.gateway.renew(clusterId, generation, { leaseSeconds: 60, report: { degraded } });
    await world.clock.advance(0);
    await renewed;
  };
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
  it("is live on /clusters, with what is wrong for how long, and comes before healthy ones", async () => {
    const { page } = await degradedWorld();
    const { text } = await page("/clusters");
    expect(text).toContain(
      "east live , API server unreachable for 4 min, a right is missing (services and 1 more) for 50 s Last seen",
    );
    expect(text).toContain("west live Last seen");
    expect(text.indexOf("east")).toBeLessThan(text.indexOf("west live"));
  });

  it("is named in the comment of JSON answers, without what it concerns", async () => {
    const { comment } = await degradedWorld();
    expect(await comment()).toContain(
      "east last seen 40 s ago, API server unreachable for 4 min, a right is missing for 50 s",
    );
  });

  it("is named by /status and the command of that name", async () => {
    const { status } = await degradedWorld(REPORT.slice(0, 1));
    const report = await status();
    expect(report.clusters.map(({ clusterId, degraded }) => [clusterId, degraded])).toEqual([
      ["east", ["API server unreachable for 4 min"]],
      ["west", []],
    ]);
    expect(statusLines(report).join("\n")).toMatch(
      /^east +live, API server unreachable for 4 min +40 s ago/m,
    );
  });

  it("has a gauge for each reason; reasons of another version are one", async () => {
    const { gauges } = await degradedWorld([
      ...REPORT,
      { reason: "NEWER", seconds: 5 },
      { reason: "NEWEST", seconds: 20 },
    ]);
    const expected = [
      '{cluster="east",reason="API_UNREACHABLE"} 240',
      '{cluster="east",reason="RBAC_FORBIDDEN"} 50',
      '{cluster="east",reason="other"} 60',
    ];
    expect(await gauges()).toEqual(expected);
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
