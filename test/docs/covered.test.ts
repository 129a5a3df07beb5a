import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { coverageOf, coveringFolders, END_TO_END } from "../e2e/covered.ts";
import { crdModules, goPrograms } from "../e2e/servers/tools/go-tools.ts";
import { runtimeVersions } from "../e2e/servers/tools/packages.ts";
import { root, textOf } from "./pages.ts";

const foldersOf = (path: string) =>
  readdirSync(join(root, path)).filter((name) => statSync(join(root, path, name)).isDirectory());

it("each stage is covered by an end-to-end folder, which says what it covers, and nothing that is gone", () => {
  const covered = END_TO_END.flatMap(coverageOf);
  for (const stage of foldersOf("src")) expect(covered).toContain(`src/${stage}/`);
  for (const path of covered) expect(existsSync(join(root, path)), path).toBe(true);
  const harness = ["harness", "servers"];
  expect(END_TO_END).toEqual(foldersOf("test/e2e").filter((name) => !harness.includes(name)));
});

it("a change runs what covers it, and a change of the harness runs everything", () => {
  expect(coveringFolders(["src/desired/service.ts"])).toEqual(["test/e2e/control"]);
  expect(coveringFolders(["test/e2e/edge/store.e2e.test.ts"])).toEqual(["test/e2e/edge"]);
  expect(coveringFolders(["test/e2e/servers/dns.ts"])).toHaveLength(END_TO_END.length);
  expect(coveringFolders(["LICENSE"])).toEqual([]);
});

const page = textOf("docs/reference/compatibility.md");
const { engines, devDependencies } = JSON.parse(textOf("package.json")) as {
  readonly engines: { readonly node: string };
  readonly devDependencies: Readonly<Record<string, string>>;
};

it.each<readonly [string, string]>([
  ["Kubernetes", goPrograms["kube-apiserver"].version],
  ["Helm", goPrograms.helm.version],
  ["krew", goPrograms.krew.version],
  ...Object.entries(crdModules).map(([name, { version }]) => [name, version] as const),
  ...Object.entries(runtimeVersions),
  ["Node.js", devDependencies.node!],
  ["Node.js at least", engines.node.replace(">=", "")],
  ["Wrangler", devDependencies.wrangler!],
])("the matrix has the version of %s that tests run against", (_, version) => {
  expect(page).toContain(version);
});
