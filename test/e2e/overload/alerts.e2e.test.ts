import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { checkout } from "../harness/cli.ts";
import { startGateway } from "../harness/processes.ts";
import { run } from "../servers/run.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";

/** An alert of infra/helm/gateway/alerts.yaml: what raises it, what does not, and what it says. */
interface AlertCase {
  readonly name: string;
  /** Its labels are those of the alert. */
  readonly series: string;
  /** Values in promtool's notation: of that series, or of several. */
  readonly firing: string | Readonly<Record<string, string>>;
  readonly quiet: string | Readonly<Record<string, string>>;
  /** The minute at which it is raised, and the last one at which it is not. Default: the one before. */
  readonly raisedAt: number;
  readonly quietUntil?: number;
  readonly severity: "critical" | "warning";
  readonly summary: string;
}

const GATEWAY = 'instance="gateway"';
const lasting = (value: number) => `${value}x60`;
const growing = (by: number) => `0+${by}x60`;
const degraded = (reason: string) =>
  `clusterset_doh_cluster_degraded_seconds{cluster="west",reason="${reason}"}`;
const queries = (outcome: string) => `clusterset_doh_queries_total{${GATEWAY},outcome="${outcome}"}`;
const memoryOf = (bytes: number) => ({
  [`process_resident_memory_bytes{${GATEWAY}}`]: lasting(bytes),
  [`clusterset_doh_memory_limit_bytes{${GATEWAY}}`]: lasting(1000),
});

/** Each alert, in the order of the file. */
const ALERTS: readonly AlertCase[] = [
  {
    name: "ClustersetDohDown",
    series: "clusterset_doh_worker_ready",
    firing: lasting(1),
    quiet: { [`clusterset_doh_ready{${GATEWAY}}`]: lasting(0) },
    raisedAt: 5,
    severity: "critical",
    summary: "no gateway runs, or Prometheus cannot scrape it",
  },
  {
    name: "ClustersetDohNotReady",
    series: `clusterset_doh_ready{${GATEWAY}}`,
    firing: lasting(0),
    quiet: lasting(1),
    raisedAt: 1,
    severity: "critical",
    summary: "gateway answers every query with SERVFAIL",
  },
  {
    name: "ClustersetDohClusterLost",
    series: 'clusterset_doh_cluster_live{cluster="west"}',
    firing: lasting(0),
    quiet: lasting(1),
    raisedAt: 2,
    severity: "critical",
    summary: "the lease of west expired; its names left the answers",
  },
  {
    name: "ClustersetDohClusterNeverSeen",
    series: `clusterset_doh_cluster_never_seen{${GATEWAY},cluster="west"}`,
    firing: lasting(1),
    quiet: "1x14 stale",
    raisedAt: 15,
    severity: "warning",
    summary: "west may push to gateway, and never did",
  },
  {
    name: "ClustersetDohLeaseNearExpiry",
    series: 'clusterset_doh_cluster_lease_remaining_seconds{cluster="west"}',
    firing: lasting(15),
    quiet: lasting(41),
    raisedAt: 0,
    severity: "warning",
    summary: "the worker of west does not renew: its lease expires in 15s",
  },
  {
    name: "ClustersetDohWorkerDegraded",
    series: degraded("API_UNREACHABLE"),
    firing: growing(60),
    quiet: lasting(60),
    raisedAt: 2,
    severity: "warning",
    summary: "the worker of west cannot read all of its cluster (API_UNREACHABLE) for 2m 0s",
  },
  {
    name: "ClustersetDohTwoWorkers",
    series: degraded("OTHER_INSTANCE"),
    firing: growing(60),
    quiet: { [degraded("API_UNREACHABLE")]: growing(60) },
    raisedAt: 2,
    severity: "warning",
    summary: "a second worker pushes with the id of west, and is rejected: what it reads is not answered",
  },
  {
    name: "ClustersetDohPushesRejected",
    series: `clusterset_doh_pushes_total{${GATEWAY},method="PUT",status="401"}`,
    firing: growing(2),
    quiet: { [`clusterset_doh_pushes_total{${GATEWAY},method="PATCH",status="409"}`]: growing(2) },
    raisedAt: 6,
    quietUntil: 4,
    severity: "warning",
    summary: "gateway rejects PUT of workers with 401",
  },
  {
    name: "ClustersetDohConflict",
    series: 'clusterset_doh_conflicts{cluster="west",reason="PortConflict"}',
    firing: lasting(2),
    quiet: lasting(0),
    raisedAt: 10,
    severity: "warning",
    summary: "PortConflict: 2 values of west are not used",
  },
  {
    name: "ClustersetDohFinding",
    series: 'clusterset_doh_findings{cluster="west",reason="ReverseNameTaken"}',
    firing: lasting(3),
    quiet: { 'clusterset_doh_findings{cluster="west",reason="other"}': lasting(3) },
    raisedAt: 10,
    severity: "warning",
    summary: "ReverseNameTaken: 3 objects of west are not served",
  },
  {
    name: "ClustersetDohServfail",
    series: `{${GATEWAY}}`,
    firing: { [queries("servfail")]: growing(60), [queries("answer")]: growing(540) },
    quiet: { [queries("servfail")]: growing(6), [queries("answer")]: growing(594) },
    raisedAt: 6,
    quietUntil: 4,
    severity: "critical",
    summary: "gateway answers 10% of queries with SERVFAIL",
  },
  {
    name: "ClustersetDohStale",
    series: `clusterset_doh_stale_seconds{${GATEWAY}}`,
    firing: growing(60),
    quiet: {
      [`clusterset_doh_stale_seconds{${GATEWAY}}`]: lasting(0),
      [`clusterset_doh_behind_seconds{${GATEWAY}}`]: lasting(5),
    },
    raisedAt: 2,
    severity: "warning",
    summary: "answers of gateway are stale for 2m 0s",
  },
  {
    name: "ClustersetDohMemoryNearLimit",
    series: `{${GATEWAY}}`,
    firing: memoryOf(950),
    quiet: memoryOf(900),
    raisedAt: 5,
    severity: "warning",
    summary: "gateway takes 95% of the memory that it may take",
  },
  {
    name: "ClustersetDohCertificateNearExpiry",
    series: `clusterset_doh_certificate_remaining_seconds{${GATEWAY}}`,
    firing: lasting(86_400),
    quiet: lasting(691_200),
    raisedAt: 10,
    severity: "warning",
    summary: "the certificate of gateway expires in 1d 0h 0m 0s",
  },
  {
    name: "ClustersetDohStoreFailing",
    series: `clusterset_doh_store_failing{${GATEWAY}}`,
    firing: lasting(1),
    quiet: lasting(0),
    raisedAt: 1,
    severity: "critical",
    summary: "gateway cannot store changes",
  },
  {
    name: "ClustersetDohStoreDamaged",
    series: `clusterset_doh_damaged_rows_total{${GATEWAY}}`,
    firing: lasting(1),
    quiet: lasting(0),
    raisedAt: 0,
    severity: "warning",
    summary: "gateway found damaged rows 1 times",
  },
];

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook_url: string };
}

const folder = temporaryFolder("alerts");
const rulesFile = join(checkout, "infra/helm/gateway/alerts.yaml");
const rules: readonly Rule[] = parse(readFileSync(rulesFile, "utf8")).groups[0].rules;
let promtool: string;
beforeAll(async () => {
  promtool = await ensureTool("promtool");
});

test("promtool finds no error in the rules, and each has a case here", async () => {
  const printed = await run(promtool, ["check", "rules", "--lint=all", "--lint-fatal", rulesFile]);
  expect(printed).toContain(`SUCCESS: ${ALERTS.length} rules found`);
  expect(rules.map(({ alert }) => alert)).toEqual(ALERTS.map(({ name }) => name));
});

test("a running gateway has every metric that a rule of a primary uses", async () => {
  const gateway = await startGateway();
  const { text } = await gateway.http("/metrics");
  await gateway.stop();
  const used = new Set(rules.flatMap(({ expr }) => expr.match(/(?:clusterset_doh|process)_\w+/g) ?? []));
  // Only secondaries are stale: test/docs/metrics.test.ts has theirs.
  used.delete("clusterset_doh_stale_seconds");
  expect(used.size).toBeGreaterThan(10);
  expect([...used].filter((name) => !text.includes(`# TYPE ${name} `))).toEqual([]);
  const gaugeOf = (name: string) => Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
  const day = 86_400;
  expect(gaugeOf("clusterset_doh_certificate_remaining_seconds")).toBeGreaterThan(7 * day);
  expect(gaugeOf("clusterset_doh_memory_limit_bytes")).toBeGreaterThan(
    gaugeOf("process_resident_memory_bytes"),
  );
});

test("promtool finds no error in the queries of the dashboard", async () => {
  const { panels } = JSON.parse(readFileSync(join(checkout, "infra/grafana/clusterset-doh.json"), "utf8"));
  const queries: string[] = panels.flatMap(({ targets = [] }: { targets?: { expr: string }[] }) =>
    targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "1m").replaceAll("$instance", ".*")),
  );
  const recorded = queries.map((expr, index) => ({ record: `dashboard:query_${index}`, expr }));
  const file = join(folder, "dashboard.yaml");
  writeFileSync(file, stringify({ groups: [{ name: "dashboard", rules: recorded }] }));
  expect(await run(promtool, ["check", "rules", file])).toContain(`SUCCESS: ${queries.length} rules found`);
});

/** A test of promtool: what a case is about at a minute, and whether its alert is raised then. */
function alertTest(alert: AlertCase, kind: "firing" | "quiet", minute: number, isRaised = false) {
  const { name, series, severity, summary } = alert;
  const values = alert[kind];
  const all = typeof values === "string" ? { [series]: values } : values;
  const input = Object.entries(all).map(([one, notation]) => ({ series: one, values: notation }));
  const own = Array.from(series.matchAll(/(\w+)="([^"]*)"/g), ([, label, value]) => [label, value]);
  const { runbook_url } = rules.find((rule) => rule.alert === name)!.annotations;
  const raised = {
    exp_labels: { severity, ...Object.fromEntries(own) },
    exp_annotations: { summary, runbook_url },
  };
  const expected = [{ alertname: name, eval_time: `${minute}m`, exp_alerts: isRaised ? [raised] : [] }];
  return { name, interval: "1m", input_series: input, alert_rule_test: expected };
}

async function runTests(tests: readonly object[]): Promise<void> {
  const file = join(folder, "test.yaml");
  writeFileSync(file, stringify({ rule_files: [rulesFile], evaluation_interval: "1m", tests }));
  await run(promtool, ["test", "rules", file]);
}

test("each alert is raised at its minute, and for nothing else", async () => {
  await runTests(
    ALERTS.flatMap((alert) => {
      const { raisedAt, quietUntil = raisedAt - 1 } = alert;
      return [
        alertTest(alert, "firing", raisedAt, true),
        ...(quietUntil < 0 ? [] : [alertTest(alert, "firing", quietUntil)]),
        alertTest(alert, "quiet", 60),
      ];
    }),
  );
  await expect(runTests([alertTest(ALERTS[0]!, "quiet", 60, true)])).rejects.toThrow("FAILED");
});
