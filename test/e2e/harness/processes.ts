import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { cliPath, nodeFlags } from "./cli.ts";
import { type GatewayClient, gatewayClient } from "./gateway-client.ts";

/** How a gateway under test is set up. */
export interface GatewayOptions {
  /** A new temporary folder by default. */
  stateDir?: string;
  /** Clusters that may push, each with a token of its own. */
  clusters?: string[];
  /** A gateway with the same `clusters`, to use its tokens. */
  tokensOf?: Pick<GatewayClient, "tokenFor">;
  /** For which other source clusters some of them speak. */
  speaksFor?: Record<string, "*" | string[]>;
  /** Which of them get their desired state. */
  control?: string[];
  /** Zones beside `clusterset.local`. */
  zones?: string[];
  /** HTTP/1.1 in clear if false. */
  tls?: boolean;
  /** Instead of the self-signed certificate: one, and that of the authority that signed it. */
  certificate?: { cert: string; key: string; ca: string };
  /** The lease of a push that requests none, which is also the shortest allowed one. */
  leaseSeconds?: number;
  /** Further keys of the config file. */
  config?: Record<string, unknown>;
  /** A free port by default. */
  port?: number;
  /** Further variables of its environment. */
  env?: Record<string, string>;
}

/** `clusterset-doh serve` in its own process. */
export interface GatewayProcess extends GatewayClient {
  /** The PEM text and file that the certificate is checked against; both empty without TLS. */
  ca: string;
  caFile: string;
  stateDir: string;
  process: ServerProcess;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts again on the same port and state folder, after stopping it if it runs. */
  restart(): Promise<void>;
}

/** Starts `clusterset-doh serve` and waits until it answers; `/readyz` may still be 503. */
export async function startGateway(options: GatewayOptions = {}): Promise<GatewayProcess> {
  const { clusters = [], zones = [], tls = true, leaseSeconds, config = {} } = options;
  const folder = temporaryFolder("gateway");
  const stateDir = options.stateDir ?? join(folder, "state");
  const port = options.port ?? (await freePort());
  const url = `${tls ? "https" : "http"}://127.0.0.1:${port}`;
  const inFolder = (name: string) => join(folder, name);
  const write = (name: string, text: string) => writeFileSync(inFolder(name), text, { mode: 0o600 });
  const tokenFileFor = (clusterId: string) => inFolder(`${clusterId}.token`);
  for (const id of clusters)
    write(`${id}.token`, `${options.tokensOf?.tokenFor(id) ?? randomBytes(32).toString("base64url")}\n`);
  const lease = leaseSeconds !== undefined && {
    lease: { minimumSeconds: leaseSeconds, defaultSeconds: leaseSeconds, maximumSeconds: 600 },
  };
  const { certificate, speaksFor = {}, control = [] } = options;
  if (certificate !== undefined) {
    write("server.crt", certificate.cert);
    write("server.key", certificate.key);
    write("authority.crt", certificate.ca);
  }
  const files = certificate && {
    tls: { certificateFile: inFolder("server.crt"), keyFile: inFolder("server.key") },
  };
  const granted = clusters
    .filter((clusterId) => speaksFor[clusterId] !== undefined || control.includes(clusterId))
    .map((clusterId) => ({
      clusterId,
      tokenFile: tokenFileFor(clusterId),
      ...(speaksFor[clusterId] !== undefined && { speaksFor: speaksFor[clusterId] }),
      ...(control.includes(clusterId) && { control: true }),
    }));
  const grants = granted.length > 0 && { push: { credentials: granted } };
  // On a busy machine it would count as overloaded, and reject pages and JSON.
  const limits = { loopDelayMilliseconds: 0, ...(config.limits as object | undefined) };
  write("config.yaml", JSON.stringify({ ...lease, ...files, ...grants, ...config, limits }));
  const own = join(stateDir, "tls", "self-signed.crt");
  const caFile = !tls ? "" : certificate ? inFolder("authority.crt") : own;
  const readCa = () => (tls ? readFileSync(caFile, "utf8") : "");

  const client = gatewayClient(url, readCa, tokenFileFor);

  const server = await ServerProcess.start({
    name: "gateway",
    command: process.execPath,
    args: [
      ...nodeFlags,
      ...[cliPath, "serve", "--listen", `127.0.0.1:${port}`],
      ...["--state-dir", stateDir, "--config", inFolder("config.yaml")],
      ...zones.flatMap((zone) => ["--zone", zone]),
      ...(tls ? [] : ["--no-tls"]),
      ...clusters.flatMap((id) => ["--cluster-token", `${id}=${tokenFileFor(id)}`]),
    ],
    folder,
    ...(options.env !== undefined && { env: options.env }),
    ready: async () => (await client.http("/healthz")).status === 200,
  });

  return {
    ...client,
    ca: readCa(),
    caFile,
    stateDir,
    process: server,
    stop: () => stopCleanly(server),
    kill: () => server.kill(),
    restart: () => server.restart(),
  };
}

/** The source of a sync worker, and the gateway that it pushes to. */
export interface SyncOptions {
  /** Either this, or `manifests`. */
  kubeconfig?: string;
  /** A folder of YAML files. */
  manifests?: string;
  clusterId?: string;
  gateways: (GatewayClient & { ca: string })[];
  /** The file of the first gateway for `clusterId` by default. */
  tokenFile?: string;
  /** Further flags. */
  args?: string[];
  /** Further variables of its environment. */
  env?: Readonly<Record<string, string>>;
}

/** `clusterset-doh sync` in its own process. */
export interface SyncProcess {
  process: ServerProcess;
  /** Everything it has written. */
  log(): string;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again, after stopping it if it runs. */
  restart(): Promise<void>;
}

/** Starts `clusterset-doh sync` and returns at once; what it does shows in the gateway's answers. */
export function startSync(options: SyncOptions): SyncProcess {
  const folder = temporaryFolder("sync");
  const server = new ServerProcess({
    name: `sync-${options.clusterId ?? "unnamed"}`,
    command: process.execPath,
    args: [cliPath, ...syncArguments(options, folder)],
    folder,
    ...(options.env !== undefined && { env: options.env }),
    ready: async () => true,
  });
  server.spawn();
  return {
    process: server,
    log: () => server.log(),
    stop: () => stopCleanly(server),
    kill: () => server.kill(),
    restart: async () => {
      await server.stop();
      server.spawn();
    },
  };
}

/**
 * The arguments of `clusterset-doh` for a sync worker; the gateways' certificates are gathered in a file in
 * `folder`.
 */
export function syncArguments(options: SyncOptions, folder = temporaryFolder("sync")): string[] {
  const { kubeconfig, manifests, clusterId, gateways, args = [] } = options;
  const tokenFile = options.tokenFile ?? (clusterId ? gateways[0]?.tokenFileFor(clusterId) : undefined);
  const certificates = gateways.map(({ ca }) => ca).join("");
  const caFile = join(folder, "gateways.crt");
  if (certificates !== "") writeFileSync(caFile, certificates);
  return [
    "sync",
    ...(kubeconfig ? ["--kubeconfig", kubeconfig] : []),
    ...(manifests ? ["--manifests", manifests] : []),
    ...(clusterId ? ["--cluster-id", clusterId] : []),
    ...gateways.flatMap(({ url }) => ["--gateway", url]),
    ...(tokenFile ? ["--token-file", tokenFile] : []),
    ...(certificates !== "" ? ["--ca-file", caFile] : []),
    ...args,
  ];
}

async function stopCleanly(server: ServerProcess): Promise<number | null> {
  await server.stop();
  return server.exitCode;
}
