import { join } from "node:path";
import type { Report } from "../run.ts";
import { type DebianProgram, debianPrograms, ensurePrograms, findProgram, unpackPackages } from "./apt.ts";
import { buildGoProgram, fetchCrds, type GoProgram, goPrograms } from "./go-tools.ts";
import { installPython, installRuntime } from "./packages.ts";

/** What is neither a program of a Debian package nor one in Go. */
const others = {
  deno: (report: Report) => installRuntime("deno", report),
  bun: (report: Report) => installRuntime("bun", report),
  /** The folder of dnspython, for PYTHONPATH. */
  dnspython: (report: Report) => installPython("dnspython", report),
  hadolint: async (report: Report) => join(await installPython("hadolint", report), "bin", "hadolint"),
  promtool: async () => join(await unpackPackages("prometheus"), "usr/bin/promtool"),
  /** The folder of the MCS CRDs. */
  mcsCrds: (report: Report) => fetchCrds("mcs-api", report),
  certManagerCrds: (report: Report) => fetchCrds("cert-manager", report),
  gatewayApiCrds: (report: Report) => fetchCrds("gateway-api", report),
  prometheusCrds: (report: Report) => fetchCrds("prometheus-operator", report),
} satisfies Record<string, (report: Report) => Promise<string>>;

/** A program, or a folder of files, that tests need. */
export type Tool = DebianProgram | GoProgram | keyof typeof others;

/** What `npm run test:e2e` may use, the largest first; soaks and benchmarks get the rest when they start. */
export const CI_TOOLS: readonly Tool[] = [
  ...(["etcd", "dig", "kdig", "h2load", "curl", "dnsmasq", "unbound", "chromium", "pip3"] as const),
  ...(["systemd-analyze", "zsh", "fish", "ip", "certutil", "redis-server", "redis-sentinel"] as const),
  ...(["mcsCrds", "certManagerCrds", "gatewayApiCrds", "prometheusCrds", "promtool"] as const),
  ...(["deno", "bun", "dnspython", "hadolint"] as const),
  ...(["kube-apiserver", "kubectl", "coredns", "helm", "krew"] as const),
];

const ready = new Map<Tool, Promise<string>>();

/** Installs, builds or fetches what is missing of these. @throws {Error} as `ensureTool` */
export async function ensureTools(names: readonly Tool[], report: Report): Promise<void> {
  await ensurePrograms(names.filter(isDebianProgram), report);
  await Promise.all(names.map((name) => ensureTool(name, report)));
}

/** Returns where a tool is, once it is there. @throws {Error} it cannot be had: no reason to skip a test */
export function ensureTool(name: Tool, report: Report = (line) => console.error(line)): Promise<string> {
  if (process.env.E2E_TOOLS === "ci" && !CI_TOOLS.includes(name))
    throw new Error(`${name} is for soaks alone: see CI_TOOLS`);
  let tool = ready.get(name);
  if (tool === undefined) {
    tool = obtain(name, report);
    ready.set(name, tool);
  }
  return tool;
}

async function obtain(name: Tool, report: Report): Promise<string> {
  if (isGoProgram(name)) return buildGoProgram(name, report);
  if (!isDebianProgram(name)) return others[name](report);
  await ensurePrograms([name], report);
  return findProgram(name)!;
}

function isGoProgram(name: Tool): name is GoProgram {
  return name in goPrograms;
}

function isDebianProgram(name: Tool): name is DebianProgram {
  return name in debianPrograms;
}
