import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeToken } from "../../../src/hosts/commands/token.ts";
import { AcknowledgementResponse } from "../../../src/http/openapi/schemas.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { checkout } from "../harness/cli.ts";
import type { GatewayClient } from "../harness/gateway-client.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ENVIRONMENT, startDev, wrangler } from "./harness/dev-process.ts";

export interface WorkerOptions {
  /** Clusters that may push, each with a token of its own. */
  clusters?: string[];
  /** Further clusters that may push, with tokens of the caller. */
  credentials?: readonly { clusterId: string; tokenSha256?: string | undefined }[];
  /** The variable CONFIG; that of wrangler.toml by default. */
  config?: Record<string, unknown>;
  /** Certificates that its own requests trust, beside the public authorities. */
  caFile?: string;
}

/** The Worker with its Durable Object. */
export type WorkerProcess = Awaited<ReturnType<typeof startWorker>>;

/** The name of the Worker in wrangler.toml. */
export const NAME = "clusterset-doh";
/** A little more than workerd waits before it evicts an object. */
const IDLE_MS = 11_000;
/** The API of wrangler's "Local Explorer". */
const OBJECTS = "/cdn-cgi/local/explorer/api/workers/durable_objects/namespaces";

let bundle: Promise<string> | undefined;

/** The bundle that `wrangler deploy` would upload, made once for each process. */
export function builtWorker(): Promise<string> {
  bundle ??= buildWorker(temporaryFolder("bundle"));
  return bundle;
}

/** Starts the Worker and waits until it answers; `/readyz` may still be 503. */
export async function startWorker(options: WorkerOptions = {}) {
  const { clusters = [], credentials = [], config, caFile } = options;
  const script = await builtWorker();
  const folder = temporaryFolder("worker");
  const registry = join(folder, "registry");
  const port = await freePort();
  const tokenFileFor = (clusterId: string) => join(folder, `${clusterId}.token`);
  const hashes = clusters.map((clusterId) => {
    const { token, sha256 } = makeToken();
    writeFileSync(tokenFileFor(clusterId), `${token}\n`, { mode: 0o600 });
    return { clusterId, tokenSha256: sha256 };
  });
  const variables = join(folder, "worker.vars");
  const overrides = config && { access: { public: true }, ...config };
  writeFileSync(
    variables,
    `PUSH_CREDENTIALS='${JSON.stringify([...hashes, ...credentials])}'\n` +
      (overrides === undefined ? "" : `CONFIG='${JSON.stringify(overrides)}'\n`),
    { mode: 0o600 },
  );
  const configuration = join(checkout, "wrangler.toml");
  const worker = await startDev({
    script,
    configuration,
    name: NAME,
    variables,
    folder,
    registry,
    port,
    tokenFileFor,
    caFile,
  });
  return {
    ...worker,
    folder,
    variables,
    registry,
    /** Pushes `shop/web` with that many endpoints: 10.0.0.0, 10.0.0.1, … */
    pushShop: async (clusterId: string, endpoints: number, leaseSeconds = 600) => {
      const answer = await worker.push(shopSnapshot(clusterId, endpoints), { leaseSeconds });
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
      return AcknowledgementResponse.parse(answer.json());
    },
    /** Runs SQL in the object, which it may start. */
    sql: (query: string, ...parameters: (string | number | null)[]) => runSql(worker, query, parameters),
    /** Waits until workerd has evicted the object, after 10 s without requests, and starts it again. */
    evict: async () => {
      const starts = worker.events("object-started").length;
      while (worker.events("object-started").length <= starts) {
        await sleep(IDLE_MS);
        await runSql(worker, "SELECT 1", []);
      }
    },
  };
}

/** Bundles a Worker, the gateway's by default, as `wrangler deploy` does. @returns the script */
export async function buildWorker(
  folder: string,
  configuration = join(checkout, "wrangler.toml"),
): Promise<string> {
  const build = new ServerProcess({
    name: "bundle",
    command: process.execPath,
    args: [
      "--no-warnings",
      wrangler,
      "deploy",
      `--config=${configuration}`,
      "--dry-run",
      `--outdir=${join(folder, "worker")}`,
    ],
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
  const answer = await client.http(`${OBJECTS}/${NAME}-ClustersetObject/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ durable_object_name: "clusterset", queries: [{ sql, params }] }),
  });
  if (answer.status !== 200) throw new Error(`${sql}: ${answer.status} ${answer.text}`);
  return answer.json<{ result: { rows: unknown[][] }[] }>().result[0]?.rows ?? [];
}
