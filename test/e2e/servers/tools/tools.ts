import { join } from "node:path";
import type { Report } from "../run.ts";
import { ensurePackages, findProgram } from "./apt.ts";
import {
  buildCaddy,
  buildCoreDns,
  buildDnsproxy,
  buildH2spec,
  buildHelm,
  buildKubeApiserver,
  buildKubeControllerManager,
  buildKubectl,
  buildKubeProxy,
  buildKwok,
  buildPebble,
  fetchCrds,
} from "./go-tools.ts";
import { installRuntime } from "./js-runtimes.ts";
import { installPython } from "./python-packages.ts";
import { buildHyperClient } from "./rust-tools.ts";

/** Where the programs and manifests of the servers under test are. */
export interface Tools {
  etcd: string;
  kubeApiserver: string;
  kubeControllerManager: string;
  kubeProxy: string;
  kwok: string;
  kubectl: string;
  helm: string;
  coredns: string;
  dnsproxy: string;
  pebble: string;
  caddy: string;
  h2spec: string;
  /** Asks by Rust's hyper: test/e2e/clients/http2/hyper. */
  hyperClient: string;
  /** The folder of dnspython, for PYTHONPATH. */
  dnspython: string;
  hadolint: string;
  /** The manifests of the MCS CRDs. */
  mcsCrds: string[];
  /** The manifests of the CRDs whose objects the manifests of the gateway may have. */
  operatorCrds: string[];
  deno: string;
  bun: string;
}

let ready: Promise<Tools> | undefined;

/**
 * Installs, builds or fetches everything that is missing and says where it is. Once all is there this takes
 * milliseconds. A part that cannot be had is an error, never a reason to leave a test out.
 */
export function ensureTools(report: Report = (line) => console.error(line)): Promise<Tools> {
  ready ??= install(report);
  return ready;
}

async function install(report: Report): Promise<Tools> {
  await ensurePackages(report);
  const etcd = findProgram("etcd");
  if (!etcd) throw new Error("etcd is not on PATH");
  const mcsCrds = await fetchCrds("mcs-api", report);
  const operators = ["cert-manager", "gateway-api", "prometheus-operator"] as const;
  const operatorCrds = (await Promise.all(operators.map((name) => fetchCrds(name, report)))).flat();
  const coredns = await buildCoreDns(report);
  const dnsproxy = await buildDnsproxy(report);
  const pebble = await buildPebble(report);
  const caddy = await buildCaddy(report);
  const h2spec = await buildH2spec(report);
  const hyperClient = await buildHyperClient(report);
  const dnspython = await installPython("dnspython", report);
  const hadolint = join(await installPython("hadolint", report), "bin", "hadolint");
  const kubeApiserver = await buildKubeApiserver(report);
  // After kube-apiserver, most of whose packages these have, too.
  const kubeControllerManager = await buildKubeControllerManager(report);
  const kubeProxy = await buildKubeProxy(report);
  const kubectl = await buildKubectl(report);
  const kwok = await buildKwok(report);
  const helm = await buildHelm(report);
  const deno = await installRuntime("deno", report);
  const bun = await installRuntime("bun", report);
  return {
    etcd,
    kubeApiserver,
    kubeControllerManager,
    kubeProxy,
    kwok,
    kubectl,
    helm,
    coredns,
    dnsproxy,
    pebble,
    caddy,
    h2spec,
    hyperClient,
    dnspython,
    hadolint,
    mcsCrds,
    operatorCrds,
    deno,
    bun,
  };
}
