import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../ports.ts";
import { ServerProcess } from "../process.ts";
import { removeFolder, temporaryFolder } from "../tools/folders.ts";
import { ensureTool } from "../tools/tools.ts";
import { waitFor } from "../wait.ts";
import { ApiClient } from "./api-client.ts";
import { auditFlags, readAuditLog } from "./audit-log.ts";
import { installCrds } from "./crds.ts";
import { startEtcd } from "./etcd.ts";
import { writeKubeconfig } from "./kubeconfig.ts";

const adminToken = "admin-of-the-end-to-end-tests";

export interface ApiServerOptions {
  name?: string;
  /** Whether the MCS and ClusterProperty CRDs are installed; yes by default. */
  crds?: boolean;
  args?: string[];
}

/** A real kube-apiserver with its own etcd: RBAC is on, and no controllers run. */
export type ApiServer = Awaited<ReturnType<typeof startNew>>["server"];

/** A server that runs without a test, with what its etcd had at first. */
type Idle = Awaited<ReturnType<typeof startNew>>;

/** Those of this process, by whether they have CRDs: a start takes some ten seconds of CPU time. */
const idle = { with: [] as Idle[], without: [] as Idle[] };
const MOST_IDLE = 3;

/** A kube-apiserver with its own etcd: a new one, or one that a test has stopped, with its first state. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const { args, crds = true } = options;
  const pool = crds ? idle.with : idle.without;
  const { server, contents } = (args === undefined && takeRunning(pool)) || (await startNew(options));
  return inUse(server, async () => {
    const isReusable = args === undefined && pool.length < MOST_IDLE && server.process.starts === 1;
    if (isReusable && (await reset(server, contents))) pool.push({ server, contents });
    else await server.stop();
  });
}

/** Takes one that something else has not ended meanwhile. */
function takeRunning(pool: Idle[]): Idle | undefined {
  for (let one = pool.pop(); one !== undefined; one = pool.pop()) if (isRunning(one.server)) return one;
  return undefined;
}

const isRunning = ({ process, etcd }: ApiServer) => process.isRunning && etcd.process.isRunning;

/** What a test has of a server: `stop` and its clients are its own. */
function inUse(server: ApiServer, release: () => Promise<void>): ApiServer {
  const clients: ApiClient[] = [];
  const clientFor = (token: string) => {
    const client = new ApiClient(server.url, server.ca, token);
    clients.push(client);
    return client;
  };
  const since = Date.now();
  return {
    ...server,
    admin: clientFor(adminToken),
    clientFor,
    writes: () => server.writes().filter(({ at }) => at > since),
    stop: async () => {
      await Promise.all(clients.map((client) => client.close()));
      await release();
    },
  };
}

/** @returns whether a server is as at first: not where it has ended, or where its CRDs have changed */
async function reset(server: ApiServer, contents: ReadonlyMap<string, string>): Promise<boolean> {
  if (!isRunning(server)) return false;
  const { etcd, admin } = server;
  // It renews its leases by itself.
  const changed = await etcd.restore(contents, (key) =>
    /^\/registry\/(?:masterleases|leases\/kube-system)\//.test(key),
  );
  if (changed.some((key) => /^\/registry\/(apiextensions|apiregistration)\.k8s\.io\//.test(key)))
    return false;
  // Its caches follow etcd.
  await waitFor("no namespace of the test", async () => {
    const { items = [] } = (await admin.api("GET", "/api/v1/namespaces?resourceVersion=0")) as KubeList;
    return items.every(({ metadata }) => SYSTEM_NAMESPACES.test(metadata.name));
  });
  return true;
}

const SYSTEM_NAMESPACES = /^(default|kube-(system|public|node-lease))$/;
type KubeList = { readonly items?: readonly { readonly metadata: { readonly name: string } }[] };

async function startNew(options: ApiServerOptions) {
  const program = await ensureTool("kube-apiserver");
  const folder = temporaryFolder(options.name ?? "cluster");
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const etcd = await startEtcd(folder);
  const caPath = join(folder, "certificates", "apiserver.crt");
  const connect = (token: string) => new ApiClient(url, readFileSync(caPath, "utf8"), token);
  const process = await ServerProcess.start({
    name: "kube-apiserver",
    command: program,
    args: [...flags(folder, port, etcd.url), ...(options.args ?? [])],
    folder,
    // The certificate is made at the first start. It may be read while it is written, so each probe reads it
    // anew.
    ready: async () => {
      const probe = connect(adminToken);
      try {
        await probe.api("GET", "/readyz");
        return true;
      } finally {
        await probe.close();
      }
    },
  });
  const admin = connect(adminToken);
  const server = {
    url,
    folder,
    ca: readFileSync(caPath, "utf8"),
    process,
    etcd,
    /** Speaks as a member of system:masters. */
    admin,
    clientFor: connect,
    /** Writes a kubeconfig for a token, the administrator's by default. @param through another way to it */
    kubeconfig: (token = adminToken, through?: { host: string; port: number }) =>
      writeKubeconfig(folder, {
        url: through ? `https://${through.host}:${through.port}` : url,
        caPath,
        token,
        ...(through && { serverName: "127.0.0.1" }),
      }),
    /** Restarts kube-apiserver on the same port with the same certificate; its watch caches start empty. */
    restart: async () => {
      // A client that keeps a watch open holds up its end for half a minute.
      const stops = () => process.log().split("Stopped listening").length;
      const before = stops();
      process.signal("SIGTERM");
      await waitFor("kube-apiserver to stop listening", () => !process.isRunning || stops() > before);
      await process.kill();
      await process.start();
    },
    /** Drops etcd's history; only after `restart`, too, do watches from an old version get 410 Gone. */
    compactEtcd: () => etcd.compact(),
    /** Everything that the account of the control plane (`AUDITED`) has tried to write, in order. */
    writes: () => readAuditLog(folder),
    stop: async () => {
      await admin.close();
      await Promise.all([process.kill(), etcd.process.kill()]);
      removeFolder(folder);
    },
  };
  await waitFor("namespaces default and kube-system", async () => {
    for (const name of ["default", "kube-system"]) await admin.api("GET", `/api/v1/namespaces/${name}`);
    return true;
  });
  if (options.crds !== false) await installCrds(admin);
  return { server, contents: await etcd.contents() };
}

function flags(folder: string, port: number, etcdUrl: string): string[] {
  const tokens = join(folder, "tokens.csv");
  writeFileSync(tokens, `${adminToken},admin,admin,"system:masters"\n`, { mode: 0o600 });
  const signingKey = join(folder, "service-accounts.key");
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  writeFileSync(signingKey, privateKey.export({ type: "pkcs1", format: "pem" }), { mode: 0o600 });
  return [
    `--etcd-servers=${etcdUrl}`,
    `--secure-port=${port}`,
    "--bind-address=127.0.0.1",
    // A loopback address is not accepted here, and nothing connects to it.
    "--advertise-address=192.0.2.1",
    "--endpoint-reconciler-type=none",
    `--cert-dir=${join(folder, "certificates")}`,
    `--token-auth-file=${tokens}`,
    "--authorization-mode=RBAC",
    "--service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-signing-key-file=${signingKey}`,
    `--service-account-key-file=${signingKey}`,
    // It wants a "default" service account in each namespace, which a controller would make.
    "--disable-admission-plugins=ServiceAccount",
    "--profiling=false",
    ...auditFlags(folder),
  ];
}
