import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { copyFile, readdir, readFile, writeFile } from "node:fs/promises";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { type Report, run } from "../run.ts";
import { findProgram } from "./apt.ts";
import { cached, cacheFolder } from "./cache.ts";
import { temporaryFolder } from "./folders.ts";

/** A program built from Go modules: go/<name> has go.mod and go.sum; each version has its own folder. */
interface Build {
  /** As in that go.mod. */
  readonly version: string;
  /** The package to build, or "." for the main.go in that folder. */
  readonly main: string;
  /** For the linker. */
  readonly ldflags?: string;
  /** Returns further flags. */
  readonly flags?: (pins: string) => Promise<string[]>;
}

const KUBERNETES = "v1.36.3";

export const goPrograms = {
  /** Reports its version, which Helm compares with `kubeVersion` of a chart. */
  "kube-apiserver": {
    version: KUBERNETES,
    main: "k8s.io/kubernetes/cmd/kube-apiserver",
    ldflags: `-X k8s.io/component-base/version.gitVersion=${KUBERNETES}`,
  },
  "kube-controller-manager": { version: KUBERNETES, main: "k8s.io/kubernetes/cmd/kube-controller-manager" },
  "kube-proxy": { version: KUBERNETES, main: "k8s.io/kubernetes/cmd/kube-proxy" },
  /** Has kustomize. */
  kubectl: { version: KUBERNETES, main: "k8s.io/kubernetes/cmd/kubectl" },
  /** With one condition changed. */
  kwok: { version: "v0.8.0", main: "sigs.k8s.io/kwok/cmd/kwok", flags: kwokFlags },
  /** With the plugins that our Corefiles have: all of them take four times as long to build. */
  coredns: { version: "v1.15.0", main: "." },
  /** Without a cluster it renders for this version of Kubernetes; its source says 1.20. */
  helm: {
    version: "v3.22.0",
    main: "helm.sh/helm/v3/cmd/helm",
    ldflags: ["chartutil", "lint/rules"]
      .map((part) => `helm.sh/helm/v3/pkg/${part}.k8sVersion`)
      .map((name) => `-X ${name}Major=1 -X ${name}Minor=${KUBERNETES.split(".")[1]}`)
      .join(" "),
  },
  /** Installs plugins of kubectl. */
  krew: { version: "v0.4.3", main: "sigs.k8s.io/krew/cmd/krew" },
  dnsproxy: { version: "v0.75.2", main: "github.com/AdguardTeam/dnsproxy" },
  caddy: { version: "v2.11.9", main: "github.com/caddyserver/caddy/v2/cmd/caddy" },
  /** Checks servers of HTTP/2. */
  h2spec: { version: "v2.2.1+incompatible", main: "github.com/summerwind/h2spec/cmd/h2spec" },
} as const satisfies Record<string, Build>;

/** A program that `buildGoProgram` builds. */
export type GoProgram = keyof typeof goPrograms;

const machine = `${platform()}-${arch()}`;
const minimumGo = [1, 26] as const;

/** Where `buildGoProgram` puts a program. */
export function goProgram(name: GoProgram): string {
  return join(cacheFolder, folderOf(name), name);
}

let building: Promise<unknown> = Promise.resolve();

/** Builds a program from the modules, and their hashes, that go/<name> has; returns its path. */
export async function buildGoProgram(name: GoProgram, report: Report): Promise<string> {
  const { version, main, ldflags = "", flags }: Build = goPrograms[name];
  // One after the other: a build uses all cores, and takes packages that the one before has compiled.
  const built = building.then(() =>
    cached(folderOf(name), async (target) => {
      report(`building ${name} ${version} (some minutes)`);
      const pins = pinsOf(name);
      const more = flags === undefined ? [] : await flags(pins);
      const args = [
        "build",
        "-mod=readonly",
        "-trimpath",
        `-ldflags=-s -w ${ldflags}`,
        ...more,
        "-o",
        target,
        main,
      ];
      await goCommand(args, { cwd: pins });
    }),
  );
  building = built.catch(() => {});
  await built;
  return goProgram(name);
}

async function kwokFlags(pins: string): Promise<string[]> {
  const { folder } = await downloaded("sigs.k8s.io/kwok", goPrograms.kwok.version, pins);
  return changedKwok(folder, pins);
}

/** The folder of a program's go.mod and go.sum. */
function pinsOf(name: string): string {
  return join(import.meta.dirname, "go", name);
}

function folderOf(name: GoProgram): string {
  const { version, main, ldflags }: Build = goPrograms[name];
  const own = main === "." ? readFileSync(join(pinsOf(name), "main.go")) : ldflags;
  return `${name}-${version}${own === undefined ? "" : `-${hashOf(own)}`}-${machine}`;
}

function hashOf(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 8);
}

/** Modules with CRD manifests, by their folders in the cache; `sum` is as go.sum would have it. */
export const crdModules = {
  "mcs-api": {
    module: "sigs.k8s.io/mcs-api",
    version: "v0.5.2",
    sum: "h1:N+vrRiCIb0WJ0dxbBo7VfNv2WJigOHEo4gsLXpffVs8=",
    folder: "config/crd",
    files: /\.yaml$/,
  },
  "cert-manager": {
    module: "github.com/cert-manager/cert-manager",
    version: "v1.21.2",
    sum: "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
    folder: "deploy/crds",
    files: /_certificates\.yaml$/,
  },
  "gateway-api": {
    module: "sigs.k8s.io/gateway-api",
    version: "v1.6.3",
    sum: "h1:lKpJa5bGlraC/QeACvCpsHLdmO6y0iKfzVl6gzaFEYc=",
    folder: "config/crd/standard",
    files: /_(?:httproutes|tlsroutes|backendtlspolicies)\.yaml$/,
  },
  "prometheus-operator": {
    module: "github.com/prometheus-operator/prometheus-operator",
    version: "v0.85.0",
    sum: "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
    folder: "example/prometheus-operator-crd",
    files: /_(?:servicemonitors|podmonitors|prometheusrules)\.yaml$/,
  },
} as const;

/** Fetches the CRD manifests of a module; returns their folder. */
export async function fetchCrds(name: keyof typeof crdModules, report: Report): Promise<string> {
  const { module, version, sum, folder, files } = crdModules[name];
  const chosen = hashOf(files.source);
  return cached(`${name}-${version}-${chosen}`, async (target) => {
    report(`fetching the CRDs of ${name} ${version}`);
    const found = await downloaded(module, version);
    if (found.sum !== sum) throw new Error(`${name} ${version} is ${found.sum}, not ${sum}`);
    const source = join(found.folder, folder);
    const manifests = (await readdir(source)).filter((file) => files.test(file));
    if (manifests.length === 0) throw new Error(`${name} ${version} holds no CRDs`);
    for (const file of manifests) await copyFile(join(source, file), join(target, file));
  });
}

/** A module in Go's cache; with `cwd`, checked against the go.sum there. */
async function downloaded(
  module: string,
  version: string,
  cwd?: string,
): Promise<{ folder: string; sum: string }> {
  const answer = await goCommand(["mod", "download", "-json", `${module}@${version}`], cwd ? { cwd } : {});
  const { Dir, Sum } = JSON.parse(answer) as { Dir: string; Sum: string };
  return { folder: Dir, sum: Sum };
}

async function goCommand(args: string[], options: Parameters<typeof run>[2] = {}): Promise<string> {
  const needed = `Go ${minimumGo.join(".")} or newer is needed to build the servers under test`;
  if (!findProgram("go")) throw new Error(`${needed}, and there is no go on PATH`);
  const found = (await run("go", ["env", "GOVERSION"])).trim();
  const [major = 0, minor = 0] = found.replace("go", "").split(".").map(Number);
  if (major < minimumGo[0] || (major === minimumGo[0] && minor < minimumGo[1])) {
    throw new Error(`${needed}, and this is ${found}`);
  }
  return run("nice", ["-n", "10", "go", ...args], options);
}

/** The condition that is changed: kwok v0.8.0 crashes where a client wants a terminal and sends no input. */
const CONDITION = "if tty {";
const CHANGED = "if tty && in != nil {";

/** Copies kwok's module and changes the condition. @returns flags of `go build` for the copy */
async function changedKwok(module: string, pinned: string): Promise<string[]> {
  const folder = temporaryFolder("kwok");
  const copy = join(folder, "source");
  await run("cp", ["-r", "--no-preserve=mode", module, copy]);
  const source = join(copy, "pkg/kwok/server/debugging_exec.go");
  const parts = (await readFile(source, "utf8")).split(CONDITION);
  if (parts.length !== 2) throw new Error(`${source} has ${CONDITION} ${parts.length - 1} times, not once`);
  await writeFile(source, parts.join(CHANGED));
  const modfile = join(folder, "kwok.mod");
  const pins = await readFile(join(pinned, "go.mod"), "utf8");
  await writeFile(modfile, `${pins}\nreplace sigs.k8s.io/kwok => ${copy}\n`);
  await copyFile(join(pinned, "go.sum"), join(folder, "kwok.sum"));
  return ["-modfile", modfile];
}
