import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { checkout } from "../harness/cli.ts";
import { run } from "../servers/run.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensurePromtool } from "../servers/tools/promtool.ts";

/** An alert of docs/reference/metrics.md: what raises it, what does not, and what it says. */
interface Alert {
  readonly name: string;
  readonly firing: string;
  readonly quiet: string;
  /** Minutes until it is raised. */
  readonly after: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly summary: string;
}

const CRITICAL = { severity: "critical" };
const WARNING = { severity: "warning" };
const ALERTS: readonly Alert[] = [
  {
    name: "ClustersetDohNotReady",
    firing: 'clusterset_doh_ready{instance="gateway"} 0',
    quiet: 'clusterset_doh_ready{instance="gateway"} 1',
    after: 1,
    labels: { ...CRITICAL, instance: "gateway" },
    summary: "gateway answers every query with SERVFAIL",
  },
  {
    name: "ClustersetDohClusterLost",
    firing: 'clusterset_doh_cluster_live{cluster="west"} 0',
    quiet: 'clusterset_doh_cluster_live{cluster="west"} 1',
    after: 2,
    labels: { ...CRITICAL, cluster: "west" },
    summary: "the lease of west expired; its names left the answers",
  },
  {
    name: "ClustersetDohConflict",
    firing: 'clusterset_doh_conflicts{cluster="west",reason="PortConflict"} 2',
    quiet: 'clusterset_doh_conflicts{cluster="west",reason="PortConflict"} 0',
    after: 10,
    labels: { ...WARNING, cluster: "west", reason: "PortConflict" },
    summary: "PortConflict: 2 values of west are not used",
  },
  {
    name: "ClustersetDohFinding",
    firing: 'clusterset_doh_findings{cluster="west",reason="ReverseNameTaken"} 3',
    quiet: 'clusterset_doh_findings{cluster="west",reason="other"} 3',
    after: 10,
    labels: { ...WARNING, cluster: "west", reason: "ReverseNameTaken" },
    summary: "ReverseNameTaken: 3 objects of west are not served",
  },
  {
    name: "ClustersetDohStoreDamaged",
    firing: 'clusterset_doh_damaged_records_total{instance="gateway",part="journal"} 1',
    quiet: 'clusterset_doh_damaged_records_total{instance="gateway",part="journal"} 0',
    after: 0,
    labels: { ...WARNING, instance: "gateway", part: "journal" },
    summary: "gateway found 1 damaged records (journal)",
  },
];

const folder = temporaryFolder("alerts");
const rules = join(folder, "rules.yaml");
let promtool: string;
beforeAll(async () => {
  promtool = await ensurePromtool();
  const page = readFileSync(join(checkout, "docs/reference/metrics.md"), "utf8");
  writeFileSync(rules, /```yaml\n(groups:\n[\s\S]*?)```/.exec(page)![1]!);
});

test("promtool finds no error in the rules of the documentation", async () => {
  const printed = await run(promtool, ["check", "rules", "--lint=all", "--lint-fatal", rules]);
  expect(printed).toContain(`SUCCESS: ${ALERTS.length} rules found`);
  const names = parse(readFileSync(rules, "utf8")).groups[0].rules.map(
    ({ alert }: { alert: string }) => alert,
  );
  expect(names).toEqual(ALERTS.map(({ name }) => name));
});

/** Runs promtool's test of one rule: a series that keeps its value, and the alerts that are raised at some minute. */
async function expectAlerts(alert: Alert, sample: string, minute: number, alerts: readonly object[]) {
  const [series, value] = sample.split(" ");
  const file = join(folder, "test.yaml");
  const input = [{ series, values: `${value}x60` }];
  const expected = [{ alertname: alert.name, eval_time: `${minute}m`, exp_alerts: alerts }];
  const tests = [{ interval: "1m", input_series: input, alert_rule_test: expected }];
  writeFileSync(file, stringify({ rule_files: [rules], evaluation_interval: "1m", tests }));
  await run(promtool, ["test", "rules", file]);
}

test.each(ALERTS)("$name is raised after $after minutes, and for nothing else", async (alert) => {
  const { firing, quiet, after, labels, summary } = alert;
  const raised = [{ exp_labels: labels, exp_annotations: { summary } }];
  await expectAlerts(alert, firing, after, raised);
  if (after > 0) await expectAlerts(alert, firing, after - 1, []);
  await expectAlerts(alert, quiet, 60, []);
  await expect(expectAlerts(alert, quiet, 60, raised)).rejects.toThrow("FAILED");
});
