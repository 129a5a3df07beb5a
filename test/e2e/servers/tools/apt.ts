import { accessSync, constants, readdirSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Report, run } from "../run.ts";
import { cached } from "./cache.ts";

/** Programs of Debian packages, by the package that has each. */
export const debianPrograms = {
  etcd: "etcd-server",
  dig: "bind9-dnsutils",
  kdig: "knot-dnsutils",
  h2load: "nghttp2-client",
  curl: "curl",
  // The program without the service.
  dnsmasq: "dnsmasq-base",
  unbound: "unbound",
  dnsperf: "dnsperf",
  dnsdist: "dnsdist",
  chromium: "chromium",
  pip3: "python3-pip",
  "firefox-esr": "firefox-esr",
  certutil: "libnss3-tools",
  javac: "default-jdk-headless",
  // Nothing of it is started: its programs check units.
  "systemd-analyze": "systemd",
  zsh: "zsh",
  fish: "fish",
  // For networks of whole clusters.
  ip: "iproute2",
  nft: "nftables",
  socat: "socat",
  nc: "netcat-openbsd",
  "redis-server": "redis-server",
  "redis-sentinel": "redis-sentinel",
} as const;

/** A program of a Debian package. */
export type DebianProgram = keyof typeof debianPrograms;

/** The full path of a program on PATH, or undefined. */
export function findProgram(name: string): string | undefined {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

let installing: Promise<unknown> = Promise.resolve();

/** Installs the packages of the programs that are missing; one that cannot be installed is an error. */
export function ensurePrograms(names: readonly DebianProgram[], report: Report): Promise<void> {
  // dpkg has one lock.
  const done = installing.then(() => install(names, report));
  installing = done.catch(() => {});
  return done;
}

async function install(names: readonly DebianProgram[], report: Report): Promise<void> {
  const missing = names.filter((name) => !findProgram(name)).map((name) => debianPrograms[name]);
  if (missing.length === 0) return;
  if (!findProgram("apt-get") || process.getuid?.() !== 0) {
    throw new Error(`missing ${missing.join(", ")}: install them, or run this as root on Debian or Ubuntu`);
  }
  report(`apt-get install ${missing.join(" ")}`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  await run("apt-get", ["update", "-q"], { env });
  await run("apt-get", ["install", "-y", "-q", "--no-install-recommends", ...missing], { env });
  const stillMissing = names.filter((name) => !findProgram(name));
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

/** Unpacks packages into the cache, without starting or configuring anything. @returns their folder */
export async function unpackPackages(name: string, ...others: readonly string[]): Promise<string> {
  const architecture = (await run("dpkg", ["--print-architecture"])).trim();
  return cached(`${name}-${architecture}`, async (folder) => {
    await run("apt-get", ["download", name, ...others], { cwd: folder });
    for (const file of readdirSync(folder).filter((one) => one.endsWith(".deb"))) {
      await run("dpkg-deb", ["-x", file, "."], { cwd: folder });
      rmSync(join(folder, file));
    }
  });
}
