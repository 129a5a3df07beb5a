import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { type Report, run } from "../run.ts";

/** The Debian packages that the end-to-end tests need, each with a program that shows whether it is installed. */
const packages: Record<string, string> = {
  "etcd-server": "etcd",
  "bind9-dnsutils": "dig",
  "knot-dnsutils": "kdig",
  "nghttp2-client": "h2load",
  curl: "curl",
  // The program without the service.
  "dnsmasq-base": "dnsmasq",
  unbound: "unbound",
  dnsperf: "dnsperf",
  // Only the benchmarks run it.
  dnsdist: "dnsdist",
  chromium: "chromium",
  "python3-pip": "pip3",
  "firefox-esr": "firefox-esr",
  "libnss3-tools": "certutil",
  "default-jdk-headless": "javac",
  // Nothing of it is started: its programs check units.
  systemd: "systemd-analyze",
  zsh: "zsh",
  fish: "fish",
  // For networks of whole clusters.
  iproute2: "ip",
  nftables: "nft",
  socat: "socat",
  // Only the conformance suite of the MCS API runs it.
  "netcat-openbsd": "nc",
  "redis-server": "redis-server",
  "redis-sentinel": "redis-sentinel",
};

/** The full path of a program on PATH, or undefined. */
export function findProgram(name: string): string | undefined {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

/** Installs every missing Debian package; one that cannot be installed is an error. */
export async function ensurePackages(report: Report): Promise<void> {
  const missing = Object.keys(packages).filter((name) => !findProgram(packages[name] ?? name));
  if (missing.length === 0) return;
  if (!findProgram("apt-get") || process.getuid?.() !== 0) {
    throw new Error(`missing ${missing.join(", ")}: install them, or run this as root on Debian or Ubuntu`);
  }
  report(`apt-get install ${missing.join(" ")}`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  await run("apt-get", ["update", "-q"], { env });
  await run("apt-get", ["install", "-y", "-q", "--no-install-recommends", ...missing], { env });
  const stillMissing = missing.filter((name) => !findProgram(packages[name] ?? name));
  if (stillMissing.length > 0) throw new Error(`installed, but not on PATH: ${stillMissing.join(", ")}`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
