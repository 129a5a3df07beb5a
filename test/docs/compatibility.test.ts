import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { crdModules, goPrograms } from "../e2e/servers/tools/go-tools.ts";
import { runtimeVersions } from "../e2e/servers/tools/js-runtimes.ts";
import { root, textOf } from "./pages.ts";

const page = textOf("docs/reference/compatibility.md");
const { engines, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
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

it("the matrix names tests that exist", () => {
  const named = [...page.matchAll(/`(test\/[\w/.-]+)`/g)].map(([, path]) => path!);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
