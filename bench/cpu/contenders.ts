import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { type GatewayProcess, startGateway } from "../../test/e2e/harness/processes.ts";
import { kubernetesPlugin, startCoreDns } from "../../test/e2e/servers/coredns.ts";
import { startApiServer } from "../../test/e2e/servers/kubernetes/api-server.ts";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { ServerProcess } from "../../test/e2e/servers/process.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { askOnce, type HttpAnswer } from "../processes/ask.ts";
import { LONG_LEASES, pushSnapshot } from "../push.ts";
import type { Progress } from "../report/report.ts";
import { loadedSnapshots } from "../worlds/asked.ts";
import { applyObjects, importObjects } from "../worlds/kubernetes-objects.ts";
import { compareAnswers } from "./compare-answers.ts";
import type { DohServer } from "./doh-server.ts";
import type { FixedAnswer } from "./fixed-answer.ts";

/** A server with all services of a world, which answers plain DNS on 127.0.0.1 too. */
export interface LoadedServer extends DohServer {
  readonly dnsPort: number;
}

/** A gateway with all services of a world. */
export interface LoadedGateway extends LoadedServer {
  readonly certificate: { readonly certFile: string; readonly keyFile: string };
}

/** `clusterset-doh serve` with the file store, after each cluster has pushed. */
export async function startLoadedGateway(snapshots: readonly ClusterSnapshot[]): Promise<LoadedGateway> {
  const dnsPort = await freePort();
  const gateway = await startPushed(snapshots, { dns: { listen: [`127.0.0.1:${dnsPort}`] } });
  const inState = (name: string) => join(gateway.stateDir, "tls", name);
  const certificate = { certFile: inState("self-signed.crt"), keyFile: inState("self-signed.key") };
  return { ...asServer("gateway", gateway), dnsPort, certificate };
}

/** The same with one access rule, which admits the clients that have a bearer token. */
export async function startGatewayWithToken(snapshots: readonly ClusterSnapshot[]): Promise<DohServer> {
  const token = randomBytes(20).toString("hex");
  const tokenSha256 = createHash("sha256").update(token).digest("hex");
  const rules = [{ name: "bench", bearer: [{ tokenSha256 }] }];
  const gateway = await startPushed(snapshots, { access: { public: false, rules } });
  return { ...asServer("gateway, bearer token", gateway), headers: { authorization: `Bearer ${token}` } };
}

/**
 * With one thread, as the servers beside it that are programs of Node; section `threads` compares several.
 */
async function startPushed(snapshots: readonly ClusterSnapshot[], config: object): Promise<GatewayProcess> {
  const clusters = snapshots.map(({ clusterId }) => clusterId);
  const gateway = await startGateway({ clusters, config: { ...LONG_LEASES, threads: 1, ...config } });
  for (const snapshot of snapshots) await pushSnapshot(gateway, snapshot);
  return gateway;
}

function asServer(name: string, { ca, url, stop, process }: GatewayProcess): DohServer {
  return { name, url: `${url}/dns-query`, ca, pid: pidOf(process), stop };
}

/**
 * Runs a measurement on the gateway and CoreDNS with equal services, once both answer alike, and stops them
 * with the servers that it starts.
 * @param measure puts further servers into `started`
 */
export async function withLoadedServers<Server extends { readonly stop: () => Promise<unknown> }, Result>(
  progress: Progress,
  measure: (gateway: LoadedGateway, coredns: LoadedServer, started: Server[]) => Promise<Result>,
): Promise<Result> {
  progress("starting an API server, CoreDNS and the gateway");
  const running: { readonly stop: () => Promise<unknown> }[] = [];
  const started: Server[] = [];
  try {
    const snapshots = loadedSnapshots();
    const coredns = await startLoadedCoreDns(snapshots);
    running.push(coredns);
    const gateway = await startLoadedGateway(snapshots);
    running.push(gateway);
    await compareAnswers(gateway, coredns);
    return await measure(gateway, coredns, started);
  } finally {
    await Promise.all([...running, ...started].map(({ stop }) => stop()));
  }
}

/** One of our programs that know one answer only, with the gateway's certificate. */
export async function startFixed(
  name: string,
  program: "fixed-hono" | "fixed-http2",
  { headers, body }: HttpAnswer,
  { ca, certificate }: LoadedGateway,
): Promise<DohServer> {
  const port = await freePort();
  const url = `https://127.0.0.1:${port}/dns-query`;
  const started: FixedAnswer = {
    port,
    ...certificate,
    headers,
    body: body.toString("base64"),
  };
  const server = await ServerProcess.start({
    name: program,
    command: process.execPath,
    args: [join(import.meta.dirname, `${program}-program.ts`), JSON.stringify(started)],
    folder: temporaryFolder(program),
    ready: async () => (await askOnce({ url, ca }, new Uint8Array(12))).body.equals(body),
  });
  return { name, url, ca, pid: pidOf(server), stop: () => server.stop() };
}

/** CoreDNS with its kubernetes plugin, on a real API server that holds the same services. */
export async function startLoadedCoreDns(snapshots: readonly ClusterSnapshot[]): Promise<LoadedServer> {
  const api = await startApiServer({ name: "bench" });
  const { namespaces, objects } = importObjects(snapshots);
  await applyObjects(api.admin, namespaces);
  await applyObjects(api.admin, objects);
  const coredns = await startCoreDns([kubernetesPlugin({ kubeconfig: api.kubeconfig() })], { doh: true });
  const stop = async () => {
    await coredns.stop();
    await api.stop();
  };
  const { url, ca } = coredns.doh!;
  return { name: "CoreDNS", url, ca, pid: pidOf(coredns.process), dnsPort: coredns.port, stop };
}

/** The process id of a server that runs. */
export function pidOf(server: ServerProcess): number {
  if (server.pid === undefined) throw new Error(`${server.spec.name} has ended:\n${server.log()}`);
  return server.pid;
}
