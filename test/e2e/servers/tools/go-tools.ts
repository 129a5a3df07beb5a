import { copyFile, readdir } from "node:fs/promises";
import { arch, platform } from "node:os";
import { join } from "node:path";
import { type Report, run } from "../run.ts";
import { findProgram } from "./apt.ts";
import { cached } from "./cache.ts";

/** The versions under test. A new one gets its own folder in the cache. */
export const versions = {
  /** As in go/kube-apiserver/go.mod. */
  kubernetes: "v1.36.3",
  /** As in go/coredns/go.mod. */
  coredns: "v1.15.0",
  /** As in go/dnsproxy/go.mod. */
  dnsproxy: "v0.75.2",
  mcsApi: "v0.5.2",
} as const;

/** What the module of the MCS API has to be, as go.sum would have it. */
export const mcsApiSum = "h1:N+vrRiCIb0WJ0dxbBo7VfNv2WJigOHEo4gsLXpffVs8=";

const machine = `${platform()}-${arch()}`;
const minimumGo = [1, 26] as const;

/** Builds kube-apiserver from its Go module; returns the program's path. */
export function buildKubeApiserver(report: Report): Promise<string> {
  return build("kube-apiserver", versions.kubernetes, "k8s.io/kubernetes/cmd/kube-apiserver", report);
}

/** Builds AdGuard's dnsproxy from its Go module; returns the program's path. */
export function buildDnsproxy(report: Report): Promise<string> {
  return build("dnsproxy", versions.dnsproxy, "github.com/AdguardTeam/dnsproxy", report);
}

/** Builds CoreDNS from its Go module; returns the program's path. */
export function buildCoreDns(report: Report): Promise<string> {
  return build("coredns", versions.coredns, "github.com/coredns/coredns", report);
}

/** Builds a program from the modules, and their hashes, that go/<name> has. */
async function build(name: string, version: string, main: string, report: Report): Promise<string> {
  const folder = await cached(`${name}-${version}-${machine}`, async (target) => {
    report(`building ${name} ${version} (some minutes)`);
    const flags = ["-mod=readonly", "-trimpath", "-ldflags=-s -w"];
    await goCommand(["build", ...flags, "-o", target, main], { cwd: join(import.meta.dirname, "go", name) });
  });
  return join(folder, name);
}

/** Fetches the CRD manifests of the MCS API; returns their paths. */
export async function fetchMcsCrds(report: Report): Promise<string[]> {
  const folder = await cached(`mcs-api-${versions.mcsApi}`, async (target) => {
    report(`fetching the CRDs of mcs-api ${versions.mcsApi}`);
    const answer = await goCommand(["mod", "download", "-json", `sigs.k8s.io/mcs-api@${versions.mcsApi}`]);
    const { Dir, Sum } = JSON.parse(answer) as { Dir: string; Sum: string };
    if (Sum !== mcsApiSum) throw new Error(`mcs-api ${versions.mcsApi} is ${Sum}, not ${mcsApiSum}`);
    const crds = join(Dir, "config", "crd");
    const manifests = (await readdir(crds)).filter((name) => name.endsWith(".yaml"));
    if (manifests.length === 0) throw new Error(`mcs-api ${versions.mcsApi} holds no CRDs`);
    for (const name of manifests) await copyFile(join(crds, name), join(target, name));
  });
  return (await readdir(folder)).sort().map((name) => join(folder, name));
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
