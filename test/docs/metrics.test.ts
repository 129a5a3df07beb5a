import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { AccessCounters, QueryCounters } from "../../src/answer/answer-query.ts";
import { createWorkerMetrics } from "../../src/hosts/node/worker/worker-server.ts";
import { withNodeMetrics } from "../../src/http/metrics/node-metrics.ts";
import { readMetrics, secondaryMetrics } from "../../src/http/metrics/table.ts";
import { TransferCounters } from "../../src/transfer/transfer-state.ts";
import { fakeForwarder } from "../forward/fake-forwarder.ts";
import { FakeGateway, NOW } from "../http/fake-gateway.ts";
import { anchorsOf, rowsIn, textOf } from "./pages.ts";

const PAGE = "docs/reference/metrics.md";
const page = textOf(PAGE);

/** What `/metrics` says on a primary where everything is switched on. */
const ofPrimary = await withNodeMetrics(() =>
  readMetrics({
    gateway: Object.assign(new FakeGateway(), {
      state: { ...new FakeGateway().state, position: 1 },
    }),
    clock: () => NOW,
    counters: new QueryCounters(),
    forwarder: fakeForwarder({}).forwarder,
    access: new AccessCounters(),
    process: { memoryLimitBytes: 1, certificateExpiresAt: () => undefined },
  }),
).render();

/** What it says on a secondary. */
const ofSecondary = await secondaryMetrics({
  gateway: { status: () => new FakeGateway().status() },
  clock: () => NOW,
  transfer: { counters: new TransferCounters(), memory: { bytes: 1 } },
}).render();

/** What it says on a sync worker. */
const ofWorker = await createWorkerMetrics(() => ({
  complete: true,
  confirmedSeconds: 1,
  report: {},
  gateways: [],
  control: {
    leads: true,
    pending: 0,
    writes: new Map([["apply Service", 1]]),
    eventsDropped: new Map([["queue", 1]]),
  },
})).render();

/** Rows of the tables of metrics: name, type and labels. */
const documented = rowsIn(PAGE)
  .filter((cells) => cells[0]!.startsWith("`clusterset_doh_") && cells.length === 4)
  .map(([name, type]) => `${name!.replaceAll("`", "")} ${type}`);

it("docs/reference/metrics.md has every metric with its type, and no other", () => {
  const types = `${ofPrimary}\n${ofSecondary}\n${ofWorker}`.matchAll(/^# TYPE (clusterset_doh_\w+) (\w+)/gm);
  const exported = new Set(Array.from(types, ([, name, type]) => `${name} ${type}`));
  expect(documented.sort()).toEqual([...exported].sort());
});

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

describe("the alerts of infra/helm/gateway/alerts.yaml", () => {
  const { groups } = parse(textOf("infra/helm/gateway/alerts.yaml")) as {
    groups: { rules: readonly Rule[] }[];
  };
  const rules = groups.flatMap(({ rules: some }) => some);

  it("are those of docs/how-to/monitor.md, in its order", () => {
    const listed = [...textOf("docs/how-to/monitor.md").matchAll(/^\| `(\w+)` \|/gm)];
    expect(rules.map(({ alert }) => alert)).toEqual(listed.map(([, name]) => name));
  });

  it.each(rules)("$alert names metrics and labels that exist, and a section", ({ expr, annotations }) => {
    const labels = annotations.summary.matchAll(/\$labels\.(\w+)/g);
    expectMetrics(expr, labels);
    const { repository } = JSON.parse(textOf("package.json")) as { repository: { url: string } };
    const base = repository.url.replace(/^git\+|\.git$/g, "");
    const [url, anchor] = annotations.runbook_url.split("#");
    expect(url).toBe(`${base}/blob/main/docs/how-to/troubleshoot.md`);
    expect(anchorsOf("docs/how-to/troubleshoot.md")).toContain(anchor);
  });
});

/** An expression has metrics, all of which exist, with these labels. */
function expectMetrics(expr: string, labels: Iterable<RegExpMatchArray>): void {
  const names = Array.from(expr.matchAll(/(?:clusterset_doh|process|nodejs)_\w+/g), ([name]) =>
    name.replace(/_bucket$/, ""),
  );
  expect(names).not.toEqual([]);
  for (const name of names) expect(`${ofPrimary}\n${ofSecondary}\n${ofWorker}`).toContain(`# TYPE ${name} `);
  const rows = page.split("\n").filter((line) => names.some((name) => line.startsWith(`| \`${name}\` |`)));
  for (const [, label] of labels)
    expect(label === "instance" || rows.some((row) => row.includes(`\`${label}\``)), label).toBe(true);
}

describe("the dashboard of infra/grafana", () => {
  const { panels } = JSON.parse(textOf("infra/grafana/clusterset-doh.json")) as Dashboard;
  const shown = panels.filter(({ type }) => type !== "row");
  const overlap = (a: GridPosition, b: GridPosition) =>
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

  it("has panels of their own id and place, within its 24 columns", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { title, gridPos } of panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      const beside = panels.filter((other) => other.gridPos !== gridPos && overlap(other.gridPos, gridPos));
      expect([title, ...beside.map((other) => other.title)]).toEqual([title]);
    }
  });

  it.each(shown)("$title has queries, of metrics and labels that exist", ({ targets }) => {
    expect(targets).not.toEqual([]);
    for (const { expr, legendFormat } of targets)
      expectMetrics(expr, legendFormat.matchAll(/\{\{(\w+)\}\}/g));
  });
});

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly type: string;
    readonly title: string;
    readonly gridPos: GridPosition;
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}
type GridPosition = Readonly<Record<"x" | "y" | "w" | "h", number>>;
