import type { Report } from "../run.ts";
import { findProgram } from "./apt.ts";
import { buildKubeProxy } from "./go-tools.ts";

/** Where the programs are that the network of a whole cluster needs. */
export interface ClusterTools {
  kubeProxy: string;
}

/** The programs on PATH that pods and networks of such a cluster need, with their Debian packages. */
const programs: Readonly<Record<string, string>> = {
  ip: "iproute2",
  nft: "nftables",
  socat: "socat",
  nc: "netcat-openbsd",
  nslookup: "bind9-dnsutils",
};

let ready: Promise<ClusterTools> | undefined;

/** Builds what is missing and says where it is. A program that is not on PATH is an error, which names its Debian package. */
export function ensureClusterTools(report: Report = (line) => console.error(line)): Promise<ClusterTools> {
  ready ??= install(report);
  return ready;
}

async function install(report: Report): Promise<ClusterTools> {
  const missing = Object.keys(programs).filter((name) => !findProgram(name));
  if (missing.length > 0) {
    const packages = missing.map((name) => programs[name]).join(" ");
    throw new Error(`missing ${missing.join(", ")}: apt-get install ${packages}`);
  }
  return { kubeProxy: await buildKubeProxy(report) };
}
