import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { imageConfig, readDockerfile } from "../e2e/container/dockerfile.ts";
import { crdModules, goPrograms } from "../e2e/servers/tools/go-tools.ts";
import { pythonVersions, runtimeVersions } from "../e2e/servers/tools/packages.ts";

type Wanted = "dependencies" | "devDependencies" | "optionalDependencies";
type Manifest = { [Kind in Wanted]?: Record<string, string> } & { allowScripts?: Record<string, boolean> };
interface Locked {
  version: string;
  resolved?: string;
  integrity?: string;
  link?: boolean;
  hasInstallScript?: boolean;
  dev?: boolean;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const servers = "test/e2e/servers/tools";
const read = (path: string) => readFileSync(join(root, path), "utf8");
const manifestIn = (folder: string) => JSON.parse(read(join(folder, "package.json"))) as Manifest;
const lockIn = (folder: string) =>
  Object.entries(
    (JSON.parse(read(join(folder, "package-lock.json"))) as { packages: Record<string, Locked> }).packages,
  ).filter(([path, { link }]) => path !== "" && link !== true);
const exact = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

describe.each([".", ...Object.keys(runtimeVersions).map((name) => `${servers}/npm/${name}`)])(
  "npm, %s",
  (folder) => {
    const { dependencies, devDependencies, optionalDependencies, allowScripts = {} } = manifestIn(folder);

    test("package.json has exact versions only", () => {
      const wanted = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
      expect(wanted).not.toHaveLength(0);
      expect(wanted.filter(([, version]) => !exact.test(version))).toEqual([]);
    });

    test("each package in the lock file has an exact version and its hash, and is no repository or folder", () => {
      const locked = lockIn(folder);
      expect(locked).not.toHaveLength(0);
      for (const [path, { version, integrity, resolved }] of locked) {
        expect.soft(version, path).toMatch(exact);
        expect.soft(integrity, path).toMatch(/^sha512-[\w+/]{86}==$/);
        // Where it is left out, npm asks the registry that it is set up for. Neither matters beside the hash.
        const from = resolved ?? "https://registry.npmjs.org/";
        expect.soft(from, path).toMatch(/^https:\/\/registry\.npmjs\.org\//);
      }
    });

    test("only named packages run scripts when they are installed", () => {
      const withScripts = lockIn(folder)
        .filter(([, { hasInstallScript }]) => hasInstallScript)
        .map(([path]) => path.replace(/^.*node_modules\//, ""));
      expect(Object.keys(allowScripts).sort()).toEqual([...new Set(withScripts)].sort());
      expect(Object.values(allowScripts)).not.toContain(false);
    });
  },
);

test("no dependency of a release runs a script", () => {
  expect(lockIn(".").filter(([, { hasInstallScript, dev }]) => hasInstallScript && !dev)).toEqual([]);
});

test("CI installs the contents of the lock file, and fetches nothing else", () => {
  const steps = read(".ci/run").replaceAll(/^\s*#.*$/gm, "");
  expect(steps).toMatch(/\bnpm ci\b/);
  expect(steps).not.toMatch(/npm (i|install|add|update|exec|x)\b|\bnpx\b|\bcurl\b|\bwget\b|\bpip3? /);
});

test("JavaScript runtimes are the versions that the tests name", () => {
  for (const [name, version] of Object.entries(runtimeVersions))
    expect(manifestIn(`${servers}/npm/${name}`).dependencies).toEqual({ [name]: version });
});

test.each(Object.entries(pythonVersions))(
  "PyPI: %s and what comes along have versions and hashes",
  (name, version) => {
    const lines = read(`${servers}/python/${name}.txt`)
      .replace(/\\\n\s*/g, "")
      .trim()
      .split("\n");
    const wanted = lines.filter((line) => !line.startsWith("#"));
    for (const line of wanted) expect(line).toMatch(/^[\w-]+==[\d.]+( --hash=sha256:[0-9a-f]{64})+$/);
    expect(wanted.map((line) => line.split(" ")[0])).toContainEqual(
      expect.stringMatching(`^${name}(-bin)?==${version}$`),
    );
  },
);

test("Go: each program is a module with go.sum, in the version that the tests name", () => {
  expect(readdirSync(join(root, servers, "go")).sort()).toEqual(Object.keys(goPrograms).sort());
  for (const [name, { version, main: built }] of Object.entries(goPrograms)) {
    const module = read(`${servers}/go/${name}/go.mod`);
    const [, main] =
      new RegExp(`^\\s*(?:require )?(\\S+) ${version.replace("+", "\\+")}( // indirect)?$`, "m").exec(
        module,
      ) ?? [];
    expect(main).toBeDefined();
    if (built !== ".") expect(module).toContain(`\ntool ${built}\n`);
    expect(read(`${servers}/go/${name}/go.sum`)).toContain(`${main} ${version} h1:`);
  }
  expect(read(`${servers}/go-tools.ts`)).toContain('"-mod=readonly"');
  for (const { version, sum } of Object.values(crdModules)) {
    expect(version).toMatch(/^v\d+\.\d+\.\d+$/);
    expect(sum).toMatch(/^h1:[\w+/]{43}=$/);
  }
});

describe("the container", () => {
  const stages = readDockerfile(join(root, "infra/container/Dockerfile"));
  const { devDependencies } = manifestIn(".");

  test("every stage is of one base image, by digest, with the Node that the tests run on", () => {
    const own = new Set(stages.map(({ name }) => name));
    const images = stages.map(({ from }) => from).filter((from) => !own.has(from));
    expect(images).toEqual([expect.stringMatching(/^node:[\d.]+-\w+-slim@sha256:[0-9a-f]{64}$/)]);
    expect(images[0]).toContain(`node:${devDependencies!.node}-`);
  });

  test("packages are those of the lock file, and none of them runs a script", () => {
    const steps = stages.flatMap(({ instructions }) => instructions.filter(({ name }) => name === "RUN"));
    const installs = steps
      .map(({ args }) => args)
      .filter((args) => /\b(npm|npx|apt-get|apk|curl|wget)\b ?\w/.test(args) && !args.startsWith("rm -rf "));
    expect(installs).not.toHaveLength(0);
    for (const install of installs) expect(install).toMatch(/^npm ci( --omit=dev)? --ignore-scripts /);
  });

  test("its user is a number other than root's, one folder is written, and no shell is in between", () => {
    const { user, volumes, entrypoint } = imageConfig(stages);
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(volumes).toEqual(["/var/lib/clusterset-doh"]);
    const flags = ["--max-semi-space-size=4", "--no-parallel-scavenge"];
    expect(entrypoint).toEqual(["node", ...flags, "/app/bin/clusterset-doh.js"]);
  });

  test("its user is that of the manifests", () => {
    const [deployment] = parseAllDocuments(read("infra/kubernetes/sync-worker/deployment.yaml"));
    const { runAsUser, runAsGroup } = deployment!.toJS().spec.template.spec.securityContext;
    expect(`${runAsUser}:${runAsGroup}`).toBe(imageConfig(stages).user);
  });
});
