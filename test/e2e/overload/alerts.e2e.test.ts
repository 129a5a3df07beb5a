import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { checkout } from "../harness/cli.ts";
import { startGateway } from "../harness/processes.ts";
import { run } from "../servers/run.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";
import { ALERT_CASES, type AlertCase } from "./alert-cases.ts";

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
  expect(printed).toContain(`SUCCESS: ${ALERT_CASES.length} rules found`);
  expect(rules.map(({ alert }) => alert)).toEqual(ALERT_CASES.map(({ name }) => name));
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

/** A test of promtool: series, and the alerts of a rule that are raised at some minute. */
function alertTest(
  name: string,
  series: Readonly<Record<string, string>>,
  minute: number,
  alerts: readonly object[],
) {
  const input = Object.entries(series).map(([one, values]) => ({ series: one, values }));
  const expected = [{ alertname: name, eval_time: `${minute}m`, exp_alerts: alerts }];
  return { name, interval: "1m", input_series: input, alert_rule_test: expected };
}

async function runTests(tests: readonly object[]): Promise<void> {
  const file = join(folder, "test.yaml");
  writeFileSync(file, stringify({ rule_files: [rulesFile], evaluation_interval: "1m", tests }));
  await run(promtool, ["test", "rules", file]);
}

test("each alert is raised at its minute, and for nothing else", async () => {
  const raised = ({ name, labels, summary }: AlertCase) => {
    const { runbook_url } = rules.find((rule) => rule.alert === name)!.annotations;
    return [{ exp_labels: labels, exp_annotations: { summary, runbook_url } }];
  };
  await runTests(
    ALERT_CASES.flatMap((alert) => {
      const { name, firing, quiet, raisedAt, quietUntil = raisedAt - 1 } = alert;
      return [
        alertTest(name, firing, raisedAt, raised(alert)),
        ...(quietUntil < 0 ? [] : [alertTest(name, firing, quietUntil, [])]),
        alertTest(name, quiet, 60, []),
      ];
    }),
  );
  const [alert] = ALERT_CASES;
  await expect(runTests([alertTest(alert!.name, alert!.quiet, 60, raised(alert!))])).rejects.toThrow(
    "FAILED",
  );
});
