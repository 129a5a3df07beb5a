import { createHash } from "node:crypto";
import { copyFile, readdir } from "node:fs/promises";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { type Report, run } from "../run.ts";
import { findProgram } from "./apt.ts";
import { cached, cacheFolder } from "./cache.ts";
import { changedKwok } from "./kwok-source.ts";

/** The versions under test. A new one gets its own folder in the cache. */
export const versions = {
  /** As in the go.mod of go/kube-apiserver, kube-controller-manager, kube-proxy and kubectl. */
  kubernetes: "v1.36.3",
  /** As in go/kwok/go.mod. */
  kwok: "v0.8.0",
  /** As in go/coredns/go.mod. */
  coredns: "v1.15.0",
  /** As in go/dnsproxy/go.mod. */
  dnsproxy: "v0.75.2",
  /** As in go/pebble/go.mod. */
  pebble: "v2.10.1",
  /** As in go/caddy/go.mod. */
  caddy: "v2.11.9",
  /** As in go/h2spec/go.mod. */
  h2spec: "v2.2.1+incompatible",
  /** As in go/helm/go.mod. */
  helm: "v3.22.0",
  mcsApi: "v0.5.2",
} as const;

const machine = `${platform()}-${arch()}`;
const minimumGo = [1, 26] as const;

/** Builds kube-apiserver from its Go module; returns the program's path. */
export function buildKubeApiserver(report: Report): Promise<string> {
  return build("kube-apiserver", versions.kubernetes, "k8s.io/kubernetes/cmd/kube-apiserver", report);
}

/** Where `buildKubectl` puts kubectl. */
export const kubectlProgram = pathOf("kubectl", versions.kubernetes);
/** Where `buildHelm` puts helm. */
export const helmProgram = pathOf("helm", versions.helm);

/** Builds kubectl from its Go module, and its kustomize with it; returns the program's path. */
export function buildKubectl(report: Report): Promise<string> {
  return build("kubectl", versions.kubernetes, "k8s.io/kubernetes/cmd/kubectl", report);
}

/** Builds helm from its Go module; returns the program's path. */
export function buildHelm(report: Report): Promise<string> {
  return build("helm", versions.helm, "helm.sh/helm/v3/cmd/helm", report);
}

/** Builds AdGuard's dnsproxy from its Go module; returns the program's path. */
export function buildDnsproxy(report: Report): Promise<string> {
  return build("dnsproxy", versions.dnsproxy, "github.com/AdguardTeam/dnsproxy", report);
}

/** Builds Pebble, the ACME server of Let's Encrypt for tests, from its Go module; returns the program's path. */
export function buildPebble(report: Report): Promise<string> {
  return build("pebble", versions.pebble, "github.com/letsencrypt/pebble/v2/cmd/pebble", report);
}

/** Builds Caddy from its Go module; returns the program's path. */
export function buildCaddy(report: Report): Promise<string> {
  return build("caddy", versions.caddy, "github.com/caddyserver/caddy/v2/cmd/caddy", report);
}

/** Builds h2spec, which checks servers of HTTP/2, from its Go module; returns the program's path. */
export function buildH2spec(report: Report): Promise<string> {
  return build("h2spec", versions.h2spec, "github.com/summerwind/h2spec/cmd/h2spec", report);
}

/** Builds CoreDNS from its Go module; returns the program's path. */
export function buildCoreDns(report: Report): Promise<string> {
  return build("coredns", versions.coredns, "github.com/coredns/coredns", report);
}

/** Builds kube-controller-manager from its Go module; returns the program's path. */
export function buildKubeControllerManager(report: Report): Promise<string> {
  const main = "k8s.io/kubernetes/cmd/kube-controller-manager";
  return build("kube-controller-manager", versions.kubernetes, main, report);
}

/** Builds kube-proxy from its Go module; returns the program's path. */
export function buildKubeProxy(report: Report): Promise<string> {
  return build("kube-proxy", versions.kubernetes, "k8s.io/kubernetes/cmd/kube-proxy", report);
}

/** Builds kwok from its Go module, with one condition changed (kwok-source.ts); returns the program's path. */
export function buildKwok(report: Report): Promise<string> {
  const pinned = pinsOf("kwok");
  return build("kwok", versions.kwok, "sigs.k8s.io/kwok/cmd/kwok", report, async () => {
    const { folder } = await downloaded("sigs.k8s.io/kwok", versions.kwok, pinned);
    return changedKwok(folder, pinned);
  });
}

/** Builds a program from the modules, and their hashes, that go/<name> has. `more` returns further flags. */
async function build(
  name: string,
  version: string,
  main: string,
  report: Report,
  more: () => Promise<string[]> = async () => [],
): Promise<string> {
  await cached(folderOf(name, version), async (target) => {
    report(`building ${name} ${version} (some minutes)`);
    const flags = ["-mod=readonly", "-trimpath", "-ldflags=-s -w", ...(await more())];
    await goCommand(["build", ...flags, "-o", target, main], { cwd: pinsOf(name) });
  });
  return pathOf(name, version);
}

/** The folder of a program's go.mod and go.sum. */
function pinsOf(name: string): string {
  return join(import.meta.dirname, "go", name);
}

function folderOf(name: string, version: string): string {
  return `${name}-${version}-${machine}`;
}

function pathOf(name: string, version: string): string {
  return join(cacheFolder, folderOf(name, version), name);
}

/** A module whose CRD manifests are under test. */
interface CrdModule {
  readonly module: string;
  readonly version: string;
  /** What the module has to be, as go.sum would have it. */
  readonly sum: string;
  /** The folder of the manifests, and which of them are needed. */
  readonly folder: string;
  readonly files: RegExp;
}

/** By the names of their folders in the cache. */
export const crdModules = {
  "mcs-api": {
    module: "sigs.k8s.io/mcs-api",
    version: versions.mcsApi,
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
} as const satisfies Record<string, CrdModule>;

/** Fetches the CRD manifests of a module; returns their paths. */
export async function fetchCrds(name: keyof typeof crdModules, report: Report): Promise<string[]> {
  const { module, version, sum, folder, files } = crdModules[name];
  const chosen = createHash("sha256").update(files.source).digest("hex").slice(0, 8);
  const kept = await cached(`${name}-${version}-${chosen}`, async (target) => {
    report(`fetching the CRDs of ${name} ${version}`);
    const found = await downloaded(module, version);
    if (found.sum !== sum) throw new Error(`${name} ${version} is ${found.sum}, not ${sum}`);
    const source = join(found.folder, folder);
    const manifests = (await readdir(source)).filter((file) => files.test(file));
    if (manifests.length === 0) throw new Error(`${name} ${version} holds no CRDs`);
    for (const file of manifests) await copyFile(join(source, file), join(target, file));
  });
  return (await readdir(kept)).sort().map((file) => join(kept, file));
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
