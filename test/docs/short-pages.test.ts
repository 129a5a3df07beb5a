import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, test } from "vitest";
import { parse } from "yaml";
import { describeDemo } from "../../src/hosts/commands/demo.ts";
import { readServeConfig } from "../../src/hosts/node/config.ts";
import { renderDocument } from "../e2e/coredns/comparison/document.ts";
import { differences, localDifferences } from "../e2e/coredns/differences/index.ts";
import { runCommand } from "../hosts/commands/run-command.ts";
import { blocksIn, textOf } from "./pages.ts";
import { documentedSetUp, SET_UPS, type SetUpName } from "./set-ups.ts";

const readme = textOf("README.md");

it("README.md has at most 100 lines, one diagram and one screenshot", () => {
  expect(readme.split("\n").length - 1).toBeLessThanOrEqual(100);
  expect(readme.match(/```mermaid|!\[/g)).toHaveLength(2);
});

it("README.md says what has to be there before its first commands, the two lines", () => {
  const [before, commands] = readme.split("```sh\n", 2) as [string, string];
  expect(before).toMatch(/In a checkout, with Node\.js [\d.]+ or newer/);
  expect(before).not.toContain("```");
  expect(commands).toMatch(/^npm ci && npm start .*\nnpm ci && npm test .*\n```\n/);
});

// test/e2e/commands/demo.e2e.test.ts runs each line that `npm start` prints.
const printed = describeDemo(
  "https://localhost:8443",
  join(process.cwd(), ".clusterset-doh/demo/tls/self-signed.crt"),
).map((line) => line.trim());
const withoutName = (line: string) => line.replaceAll(/\b[a-z]+\.shop\.svc\.clusterset\.test/g, "NAME");

it.each([
  ["README.md", "First answer"],
  ["docs/tutorials/laptop.md", "the tutorial"],
])("%s queries the demo by lines that npm start prints", (page) => {
  const lines = blocksIn(page, "sh")
    .join("\n")
    .split("\n")
    .filter((line) => /^(?:curl|dig) .*clusterset\.test/.test(line));
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(printed.map(withoutName)).toContain(withoutName(line));
});

it("docs/tutorials/laptop.md shows what npm start prints", () => {
  const [shown] = blocksIn("docs/tutorials/laptop.md", "text");
  for (const line of shown!.trim().split("\n")) expect(printed).toContain(line);
});

it("docs/how-to/mesh-vpn.md exports headscale's extra records", async () => {
  const [command] = blocksIn("docs/how-to/mesh-vpn.md", "sh")[0]!.split(" > ");
  const { stdout } = await runCommand(...command!.split(" ").slice(2));
  expect(JSON.parse(stdout)).toContainEqual({
    name: "api.shop.prod.svc.federation.example.com",
    type: "A",
    value: "192.0.2.10",
  });
});

const gateway = textOf("infra/systemd/clusterset-doh-gateway.service");
const sync = textOf("infra/systemd/clusterset-doh-sync@.service");
const page = textOf("docs/how-to/deploy/process.md");

it("the systemd units start a process again after a failure, not after a wrong configuration, and the page names their files", () => {
  for (const unit of [gateway, sync]) {
    expect(unit).toMatch(/^Restart=on-failure$/m);
    expect(unit).toMatch(/^RestartPreventExitStatus=2$/m);
    // Running requests may finish for 5 seconds, 10 after an unexpected error.
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1])).toBeGreaterThan(10);
  }
  const [commands] = blocksIn("docs/how-to/deploy/process.md", "sh").filter((block) =>
    block.includes("systemctl"),
  );
  expect(commands).toContain("clusterset-doh/infra/systemd/*.service");
  for (const unit of ["clusterset-doh-gateway ", "clusterset-doh-sync@cluster-a "])
    expect(commands).toContain(`enable --now ${unit}`);
  expect(gateway).toContain("LoadCredential=gateway.yaml:/etc/clusterset-doh/gateway.yaml\n");
  expect(gateway).toContain("--state-dir %S/clusterset-doh-gateway\n");
  expect(page).toContain("`/var/lib/clusterset-doh-gateway`");
  for (const file of ["env", "kubeconfig", "token"]) {
    expect(sync).toContain(`/etc/clusterset-doh/%i.${file}\n`);
    expect(page).toContain(`\`cluster-a.${file}\``);
  }
});

it("the probes of infra/kubernetes/gateway lead to the port that the gateway listens on", () => {
  const [container] = parse(textOf("infra/kubernetes/gateway/statefulset.yaml")).spec.template.spec
    .containers;
  const [{ containerPort, name }] = container.ports;
  expect(textOf("infra/kubernetes/gateway/gateway.yaml")).toContain(`listen: ":${containerPort}"`);
  for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe])
    expect(probe.httpGet).toMatchObject({ port: name, scheme: "HTTPS" });
});

// After a change of the table: npx vitest run --project unit test/docs -u
test("docs/explanation/coredns-differences.md is what the table of differences says", async () => {
  const page = fileURLToPath(new URL("../../docs/explanation/coredns-differences.md", import.meta.url));
  await expect(renderDocument()).toMatchFileSnapshot(page);
});

test.each([
  ["the clusterset zone", differences],
  ["a cluster's own zone", localDifferences],
])("each difference of %s has a title of its own and names its sources", (_, table) => {
  expect(new Set(table.map(({ title }) => title)).size).toBe(table.length);
  for (const { title, reason } of table)
    expect(reason, title).toMatch(/RFC \d+|(MCS|DNS) \d|KEP-\d+|Kubernetes|Multi-label|As above/);
});

const folder = fileURLToPath(new URL("../../examples/security", import.meta.url));
const names = Object.keys(SET_UPS) as SetUpName[];

describe("the set-ups of docs/how-to/access-examples.md", () => {
  it("are the files in examples/security", () => {
    expect(readdirSync(folder).sort()).toEqual(names.map((name) => `${name}.yaml`).sort());
  });

  it.each(names)("the gateway takes the file of %s, and the commands use it", (name) => {
    const { serving, pushing, asking } = documentedSetUp(name);
    const { push } = readServeConfig({ config: `${folder}/${name}.yaml` });
    expect(serving).toBe(`clusterset-doh serve --config ${name}.yaml`);
    expect(pushing.map((line) => /--cluster-id (\S+)/.exec(line)?.[1])).toEqual(
      push.credentials.map(({ clusterId }) => clusterId),
    );
    expect(asking.length).toBeGreaterThan(5);
  });
});
