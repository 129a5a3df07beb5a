import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { describeDemo } from "../../src/hosts/commands/demo.ts";
import { readServeConfig } from "../../src/hosts/node/config/config.ts";
import { localChapters, sharedDifferences } from "../e2e/coredns/cluster-local/differences/index.ts";
import { chapters } from "../e2e/coredns/differences/index.ts";
import { blocksIn, pages, textOf } from "./pages.ts";
import { documentedSetUp, SET_UPS, type SetUpName } from "./set-ups.ts";

const readme = textOf("README.md");

it("README.md has at most 120 lines and one picture", () => {
  expect(readme.split("\n").length - 1).toBeLessThanOrEqual(120);
  expect(readme.match(/```mermaid|!\[/g)).toHaveLength(1);
});

it("README.md begins with the two lines", () => {
  expect(readme).toMatch(/^# clusterset-doh\n\n```sh\nnpm ci && npm start .*\nnpm ci && npm test .*\n```\n/);
});

it("no folder of docs/ has more than fifteen entries", () => {
  const folders = new Map<string, Set<string>>();
  for (const page of pages.filter((path) => path.startsWith("docs/"))) {
    const parts = page.split("/");
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join("/");
      folders.set(folder, (folders.get(folder) ?? new Set()).add(parts[depth]!));
    }
  }
  for (const [folder, entries] of folders) expect(entries.size, folder).toBeLessThanOrEqual(15);
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

const gateway = textOf("infra/systemd/clusterset-doh-gateway.service");
const sync = textOf("infra/systemd/clusterset-doh-sync@.service");
const page = textOf("docs/how-to/deploy/process.md");

it("the systemd units start a process again after a failure, and not after a wrong configuration", () => {
  for (const unit of [gateway, sync]) {
    expect(unit).toMatch(/^Restart=on-failure$/m);
    expect(unit).toMatch(/^RestartPreventExitStatus=2$/m);
    // Running requests may finish for 5 seconds, 10 after an unexpected error.
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1])).toBeGreaterThan(10);
  }
});

it("the page names the units, their files and their state folder as they are", () => {
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

describe("docs/explanation/coredns-differences.md", () => {
  const [clusterset = "", local = ""] = textOf("docs/explanation/coredns-differences.md").split(
    /^# .*own zone$/m,
  );
  /** The rows of each chapter's table, by the chapter's title. */
  const tablesIn = (text: string) =>
    text
      .split(/^## /m)
      .slice(1)
      .map((chapter) => ({
        title: chapter.slice(0, chapter.indexOf("\n")),
        rows: [...chapter.matchAll(/^\| (.*): `([^`]+)` \| .* \| .* \| (.*) \|$/gm)],
      }));

  it.each([
    ["the clusterset zone", clusterset, chapters],
    ["a cluster's own zone", local.replace(/^## As in the clusterset zone$[^#]*/m, ""), localChapters],
  ])("has a row for each difference of %s, with its example and its sources", (_, text, table) => {
    const asked = table.map(({ title, differences }) => ({
      title,
      rows: differences.map(({ example: { question } }) => `${question.name} ${question.type}`),
    }));
    const tables = tablesIn(text);
    expect(tables.map(({ title, rows }) => ({ title, rows: rows.map(([, , query]) => query) }))).toEqual(
      asked,
    );
    for (const [, title, , reason] of tables.flatMap(({ rows }) => rows))
      expect(reason, title).toMatch(/RFC \d+|(MCS|DNS) \d|KEP-\d+|Kubernetes|Multi-label|As above/);
    expect(new Set(table.flatMap(({ differences }) => differences.map(({ id }) => id))).size).toBe(
      asked.flatMap(({ rows }) => rows).length,
    );
  });

  it("names the differences that both zones have", () => {
    const listed = [...local.matchAll(/^- (.*)$/gm)].map(([, title]) => title);
    expect(listed).toEqual(tablesIn(clusterset)[0]!.rows.map(([, title]) => title));
    expect(listed).toHaveLength(sharedDifferences.length);
  });
});

const folder = fileURLToPath(new URL("../../examples/security", import.meta.url));
const names = Object.keys(SET_UPS) as SetUpName[];

describe("the set-ups of docs/how-to/access-examples.md", () => {
  it("are the files in examples/security", () => {
    expect(readdirSync(folder).sort()).toEqual(names.map((name) => `${name}.yaml`).sort());
  });

  it.each(names)("%s is the very file, which is taken, and the commands use it", (name) => {
    const { config, serving, pushing, asking } = documentedSetUp(name);
    expect(config).toBe(readFileSync(`${folder}/${name}.yaml`, "utf8"));
    const { push } = readServeConfig({ config: `${folder}/${name}.yaml` });
    expect(serving).toBe(`clusterset-doh serve --config ${name}.yaml`);
    expect(pushing.map((line) => /--cluster-id (\S+)/.exec(line)?.[1])).toEqual(
      push.credentials.map(({ clusterId }) => clusterId),
    );
    expect(asking.length).toBeGreaterThan(5);
  });
});
