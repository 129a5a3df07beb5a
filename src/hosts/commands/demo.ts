import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { encode } from "dns-packet";
import { UsageError } from "../../config/values.ts";
import { hostOf } from "../../dns/address.ts";
import { ManifestSource } from "../../worker/manifest-source.ts";
import { openSyncWorker } from "../../worker/sync.ts";
import { readServeConfig } from "../node/config.ts";
import { prepareStateFolder, StateFolderInUse } from "../node/database.ts";
import { type RunningGateway, startGateway } from "../node/gateway-host.ts";
import type { Logger } from "../node/process.ts";
import { endOnUncaught } from "./process.ts";
import { makeToken } from "./token.ts";

/** Flags of `demo`. */
interface DemoFlags {
  readonly listen: string;
  readonly stateDir: string;
}

const CLUSTERS = ["cluster-a", "cluster-b"] as const;
/** Browsers and macOS use `.local` for multicast DNS, so the demo has an alias zone. */
const ALIAS = "clusterset.test";
const FIRST_PUSH_TIMEOUT = 30_000;

/**
 * Runs a gateway and a sync worker for each of the two example clusters until the signal is aborted, and
 * prints lines to paste after both clusters have pushed.
 * @throws {UsageError} if the address or the state folder is in use
 */
export async function demo(
  flags: DemoFlags,
  logger: Logger,
  signal: AbortSignal,
  print: (line: string) => void,
): Promise<void> {
  await prepareStateFolder(flags.stateDir);
  const tokens = await keepTokens(flags.stateDir);
  const config = readServeConfig({
    listen: flags.listen,
    stateDir: flags.stateDir,
    zone: [ALIAS],
    // Each further thread takes half a second of CPU time to start (docs/how-to/deploy/capacity.md).
    threads: "0",
    clusterToken: CLUSTERS.map((clusterId) => `${clusterId}=${tokenFile(flags.stateDir, clusterId)}`),
  });
  // Its lines would come between those to paste.
  const quiet = { ...config, audit: { ...config.audit, enabled: false } };
  const gateway = await startGateway(quiet, logger).catch((error: unknown) => {
    if (!(error instanceof StateFolderInUse)) throw error;
    throw new UsageError(`${error.message}; a second demo needs a --listen of its own, too`);
  });
  const disarm = endOnUncaught(logger, () => gateway.stop());
  const workers = new AbortController();
  const stop = () => workers.abort();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const ca = await readFile(gateway.certificateFile!, "utf8");
    const running = Promise.all(
      CLUSTERS.map((clusterId) => {
        const cluster = logger.child({ cluster: clusterId });
        return openSyncWorker({
          source: new ManifestSource({ directory: examplesOf(clusterId), watch: true, logger: cluster }),
          clusterId,
          gateways: [gateway.url],
          token: tokens.get(clusterId)!,
          ca,
          once: false,
          signal: workers.signal,
          logger: cluster,
        }).run();
      }),
    );
    running.catch(stop);
    const pushed = await untilPushed(gateway, workers.signal);
    if (pushed) for (const line of describeDemo(gateway.url, gateway.certificateFile!)) print(line);
    await running;
  } finally {
    workers.abort();
    await gateway.stop();
    disarm();
  }
}

/** The output of the demo: the running parts, and example queries. */
export function describeDemo(url: string, certificateFile: string): string[] {
  const parsed = new URL(url);
  const { hostname, port } = parsed;
  const host = hostname === "localhost" ? "127.0.0.1" : hostOf(parsed);
  const certificate = relative(process.cwd(), certificateFile);
  const web = `web.shop.svc.${ALIAS}`;
  const query = Buffer.from(
    encode({ type: "query", id: 0, flags: 0x0100, questions: [{ type: "A", name: web }] }),
  );
  const curl = `curl -sS --cacert '${certificate}'`;
  const message = "application/dns-message";
  return [
    `clusterset-doh answers on ${url} for two clusters: ${CLUSTERS.join(" and ")}.`,
    `Zones: ${ALIAS} and clusterset.local. Their manifests: ${CLUSTERS.map((clusterId) => relative(process.cwd(), examplesOf(clusterId))).join(", ")} (edit them: the answers follow).`,
    "",
    "JSON:",
    `  ${curl} '${url}/resolve?name=${web}&type=A'`,
    `  ${curl} '${url}/resolve?name=_postgres._tcp.db.shop.svc.${ALIAS}&type=SRV'`,
    "in the view of cluster-a:",
    `  ${curl} '${url}/clusters/cluster-a/resolve?name=${web}&type=A'`,
    "DNS messages (RFC 8484), GET and POST:",
    `  ${curl} -H 'accept: ${message}' '${url}/dns-query?dns=${query.toString("base64url")}' | od -An -c`,
    `  echo ${query.toString("base64")} | base64 -d | ${curl} -H 'content-type: ${message}' --data-binary @- ${url}/dns-query | od -An -c`,
    "dig:",
    `  dig +https @${host} -p ${port} ${web} A`,
    "a browser (it asks whether to trust the self-signed certificate):",
    `  ${url}/resolve?name=${web}&type=A`,
    "the gateway's pages, for look-ups and for setting up clients:",
    `  ${url}/`,
    `  ${url}/setup`,
    "",
    "Stop with Ctrl-C.",
  ];
}

async function untilPushed(gateway: RunningGateway, signal: AbortSignal): Promise<boolean> {
  const deadline = Date.now() + FIRST_PUSH_TIMEOUT;
  while (!signal.aborted) {
    if (gateway.readiness().liveClusters === CLUSTERS.length) return true;
    if (Date.now() > deadline)
      throw new Error("the example clusters did not push within 30 s; --log-level info shows why");
    await wait(50, undefined, { signal }).catch(() => {});
  }
  return false;
}

function examplesOf(clusterId: string): string {
  return fileURLToPath(new URL(`../../../examples/${clusterId}`, import.meta.url));
}

function tokenFile(stateDirectory: string, clusterId: string): string {
  return join(stateDirectory, "tokens", clusterId);
}

async function keepTokens(stateDirectory: string): Promise<Map<string, string>> {
  await mkdir(join(stateDirectory, "tokens"), { recursive: true, mode: 0o700 });
  const tokens = new Map<string, string>();
  for (const clusterId of CLUSTERS) {
    const file = tokenFile(stateDirectory, clusterId);
    const kept = (await readFile(file, "utf8").catch(() => "")).trim();
    const token = kept === "" ? makeToken().token : kept;
    if (kept === "") await writeFile(file, `${token}\n`, { mode: 0o600 });
    tokens.set(clusterId, token);
  }
  return tokens;
}
