import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { makeToken } from "../../../src/hosts/commands/token.ts";
import { checkout } from "../cli.ts";
import { type GatewayClient, gatewayClient } from "../gateway-client.ts";
import { temporaryFolder } from "../servers/folders.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";

/** How a Worker under test is set up. */
export interface WorkerOptions {
  /** Where its state, secrets and log go; a new temporary folder unless told. */
  folder?: string;
  /** Clusters that may push, each with a token of its own. */
  clusters?: string[];
  /** Who may push beside `clusters`, by tokens that the caller has. */
  credentials?: readonly { clusterId: string; tokenSha256?: string | undefined }[];
  /** The variable CONFIG; that of wrangler.toml unless told. */
  config?: Record<string, unknown>;
  /** The lease of a push that asks for none; it is also made the shortest that is allowed. */
  leaseSeconds?: number;
  /** A free port unless told. */
  port?: number;
}

/** The Worker in workerd, started by `wrangler dev`. */
export interface WorkerProcess extends GatewayClient {
  /** No certificate: HTTP/1.1 in clear. */
  ca: "";
  /** The folder of `--persist-to`. */
  stateDir: string;
  process: ServerProcess;
  /** Everything that wrangler and the Worker have written. */
  log(): string;
  /** What the Worker has logged as `event`, over all of its starts. */
  events(event: string): Record<string, unknown>[];
  /** Runs SQL in the object, which it may start. */
  sql(query: string, ...parameters: (string | number | null)[]): Promise<unknown[][]>;
  /** Waits until workerd has evicted the object, which takes 10 s without any request, and starts it again. */
  evict(): Promise<void>;
  stop(): Promise<void>;
  /** SIGKILL, of wrangler and workerd. */
  kill(): Promise<void>;
  /** Starts again on the same port, with the same secrets and state, after stopping it if it runs. */
  restart(): Promise<void>;
}

const require = createRequire(import.meta.url);
const wrangler = join(dirname(require.resolve("wrangler/package.json")), "wrangler-dist/cli.js");
const ENVIRONMENT = {
  WRANGLER_SEND_METRICS: "false",
  // Asks Cloudflare for an example of `request.cf` otherwise.
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  MINIFLARE_WORKERD_PATH: fileURLToPath(new URL("workerd.sh", import.meta.url)),
  WORKERD: require("workerd").default as string,
  NO_COLOR: "1",
};

/** A little more than workerd waits before it evicts an object. */
const IDLE_MS = 11_000;
/** The API of wrangler's "Local Explorer". */
const OBJECTS = "/cdn-cgi/local/explorer/api/workers/durable_objects/namespaces";

let bundle: Promise<string> | undefined;

/** Starts the Worker and waits until it answers; `/readyz` may still say no. */
export async function startWorker(options: WorkerOptions = {}): Promise<WorkerProcess> {
  const { clusters = [], credentials = [], leaseSeconds, config } = options;
  bundle ??= buildWorker(temporaryFolder("bundle"));
  const script = await bundle;
  const folder = options.folder ?? temporaryFolder("worker");
  const stateDir = join(folder, "state");
  const port = options.port ?? (await freePort());
  const tokenFileFor = (clusterId: string) => join(folder, `${clusterId}.token`);
  const hashes = clusters.map((clusterId) => {
    const { token, sha256 } = makeToken();
    writeFileSync(tokenFileFor(clusterId), `${token}\n`, { mode: 0o600 });
    return { clusterId, tokenSha256: sha256 };
  });
  const lease =
    leaseSeconds === undefined
      ? {}
      : { lease: { minimumSeconds: leaseSeconds, defaultSeconds: leaseSeconds, maximumSeconds: 600 } };
  const variables = join(folder, "worker.vars");
  const overrides = config === undefined && leaseSeconds === undefined ? undefined : { ...lease, ...config };
  writeFileSync(
    variables,
    `PUSH_CREDENTIALS='${JSON.stringify([...hashes, ...credentials])}'\n` +
      (overrides === undefined ? "" : `CONFIG='${JSON.stringify(overrides)}'\n`),
    { mode: 0o600 },
  );
  const client = gatewayClient(`http://127.0.0.1:${port}`, () => "", tokenFileFor);
  const server = await ServerProcess.start({
    name: "wrangler",
    command: process.execPath,
    args: [
      ...[
        "--no-warnings",
        wrangler,
        "dev",
        script,
        "--no-bundle",
        "--config",
        join(checkout, "wrangler.toml"),
      ],
      ...["--ip", "127.0.0.1", "--port", String(port), "--persist-to", stateDir, "--env-file", variables],
      ...["--show-interactive-dev-session", "false"],
    ],
    folder,
    env: ENVIRONMENT,
    ready: async () => (await client.http("/healthz")).status === 200,
  });
  const events = (event: string) => loggedEvents(server.log()).filter((entry) => entry.event === event);
  return {
    ...client,
    ca: "",
    stateDir,
    process: server,
    log: () => server.log(),
    events,
    sql: (query, ...parameters) => runSql(client, query, parameters),
    evict: async () => {
      const starts = events("object-started").length;
      while (events("object-started").length <= starts) {
        await sleep(IDLE_MS);
        await runSql(client, "SELECT 1", []);
      }
    },
    stop: () => server.stop(),
    kill: () => server.kill(),
    restart: () => server.restart(),
  };
}

/** Bundles the Worker as `wrangler deploy` does. @returns the script */
export async function buildWorker(folder: string): Promise<string> {
  const build = new ServerProcess({
    name: "bundle",
    command: process.execPath,
    args: ["--no-warnings", wrangler, "deploy", "--dry-run", "--outdir", join(folder, "worker")],
    folder,
    cwd: checkout,
    env: ENVIRONMENT,
    ready: async () => false,
  });
  build.spawn();
  await build.ended();
  if (build.exitCode !== 0) throw new Error(`wrangler could not bundle the Worker:\n${build.log()}`);
  return join(folder, "worker", "worker.js");
}

async function runSql(client: GatewayClient, sql: string, params: readonly unknown[]): Promise<unknown[][]> {
  const answer = await client.http(`${OBJECTS}/clusterset-doh-ClustersetObject/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ durable_object_name: "clusterset", queries: [{ sql, params }] }),
  });
  if (answer.status !== 200) throw new Error(`${sql}: ${answer.status} ${answer.text}`);
  return answer.json<{ result: { rows: unknown[][] }[] }>().result[0]?.rows ?? [];
}

/** The events of a log: lines of JSON, in wrangler's frame around what is a warning or an error. */
function loggedEvents(log: string): Record<string, unknown>[] {
  return stripVTControlCharacters(log)
    .split("\n")
    .flatMap((line) => {
      try {
        return [JSON.parse(/\{"level":.*\}/.exec(line)?.[0] ?? "")];
      } catch {
        return [];
      }
    });
}
