import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { makeToken } from "../../src/hosts/commands/token.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { type GatewayClient, gatewayClient } from "../../test/e2e/harness/gateway-client.ts";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { LONG_LEASES, pushSnapshot } from "../push.ts";
import type { CacheCounts, ObjectCounts } from "./counts.ts";
import { ELSEWHERE_MODULE, GATEWAY_MODULE, type Scripts } from "./workerd/bundles.ts";
import { startWorkerd, type WorkerdProcess, type WorkerdSpec } from "./workerd/workerd.ts";
import type { Binding, Service } from "./workerd/workerd-config.ts";

/** For worlds that take hours to push on busy cores. */
export const LARGE_LIMITS = {
  lease: { minimumSeconds: 10, defaultSeconds: 86_400, maximumSeconds: 86_400 },
};

const OBJECT_CLASS = "ClustersetObject";

/** Who may push, and what the Worker is configured with. */
export interface Deployment {
  readonly scripts: Scripts;
  readonly bindings: readonly Binding[];
  readonly tokenFileFor: (clusterId: string) => string;
}

/** A workerd process that answers at `url`. */
export interface Answering extends WorkerdProcess {
  readonly port: number;
  readonly url: string;
  /** Pushes, and asks. */
  readonly client: GatewayClient;
}

/** Makes a token for each cluster. @param config settings of the Worker beside long leases */
export function deploy(
  scripts: Scripts,
  clusters: readonly string[],
  config: Record<string, unknown> = {},
): Deployment {
  const folder = temporaryFolder("tokens");
  const tokenFileFor = (clusterId: string) => join(folder, `${clusterId}.token`);
  const hashes = clusters.map((clusterId) => {
    const { token, sha256 } = makeToken();
    writeFileSync(tokenFileFor(clusterId), `${token}\n`, { mode: 0o600 });
    return [clusterId, sha256] as const;
  });
  const bindings: Binding[] = [
    { name: "CONFIG", json: { access: { public: true }, lease: LONG_LEASES.lease, ...config } },
    { name: "PUSH_CREDENTIALS", text: JSON.stringify(Object.fromEntries(hashes)) },
  ];
  return { scripts, bindings, tokenFileFor };
}

/** The Worker, its object and a cache in one process. */
export async function startWhole(deployment: Deployment): Promise<Answering> {
  const { scripts, bindings } = deployment;
  const services: Service[] = [
    {
      name: "gateway",
      modules: [[GATEWAY_MODULE, scripts.gateway]],
      bindings: [...bindings, { name: "CLUSTERSET", objects: OBJECT_CLASS, of: "gateway" }],
      objects: { classes: [OBJECT_CLASS], disk: "state" },
      cache: "cache",
    },
    { name: "cache", modules: [["cache.js", scripts.memoryCache]] },
    { name: "state", folder: temporaryFolder("state") },
  ];
  return answering(deployment, { name: "gateway", services }, "gateway");
}

/** The object in its own process, reachable at its port without credentials. */
export function startObject(
  deployment: Deployment,
  state: string,
  memory: Pick<WorkerdSpec, "inspectorPort" | "heapMegabytes"> = {},
): Promise<Answering> {
  const { scripts, bindings } = deployment;
  const services: Service[] = [
    {
      name: "object",
      modules: [
        ["object.js", scripts.countingObject],
        [GATEWAY_MODULE, scripts.gateway],
      ],
      bindings: [...bindings, { name: "CLUSTERSET", objects: OBJECT_CLASS, of: "object" }],
      objects: { classes: [OBJECT_CLASS], disk: "state" },
    },
    { name: "state", folder: state },
  ];
  return answering(deployment, { name: "object", services, ...memory }, "object");
}

/** A location's cache in a process of its own. */
export function startCache(deployment: Deployment): Promise<Answering> {
  const services = [{ name: "cache", modules: [["cache.js", deployment.scripts.memoryCache]] as const }];
  return answering(deployment, { name: "cache", services }, "cache");
}

/**
 * Isolates of the Worker that share one process, and an object and a cache elsewhere; one socket for each.
 */
export function isolates(
  { scripts, bindings }: Deployment,
  ports: readonly number[],
  object: { readonly port: number },
  cache: { readonly port: number },
): WorkerdSpec {
  const names = ports.map((_, index) => `gateway-${index + 1}`);
  return {
    name: "isolates",
    services: [
      ...names.map((name) => ({
        name,
        modules: [
          ["started-first.js", scripts.startedFirst],
          [ELSEWHERE_MODULE, scripts.objectElsewhere],
          [GATEWAY_MODULE, scripts.gateway],
        ] as const,
        bindings: [...bindings, { name: "CLUSTERSET", service: "object" }],
        cache: "cache",
      })),
      { name: "object", address: `127.0.0.1:${object.port}` },
      { name: "cache", address: `127.0.0.1:${cache.port}` },
    ],
    sockets: ports.map((port, index) => ({ port, service: names[index]! })),
  };
}

/** Several clusters push, one after the other. */
export async function pushAll(
  { client }: Pick<Answering, "client">,
  snapshots: Iterable<ClusterSnapshot>,
): Promise<void> {
  for (const snapshot of snapshots) await pushSnapshot(client, snapshot);
}

export function objectCounts({ url }: { readonly url: string }): Promise<ObjectCounts> {
  return readJson(`${url}/counts`);
}

export function cacheCounts({ url }: { readonly url: string }): Promise<CacheCounts> {
  return readJson(`${url}/counts`);
}

async function answering(
  { tokenFileFor }: Deployment,
  spec: Omit<WorkerdSpec, "sockets">,
  service: string,
): Promise<Answering> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const { server, stop } = await startWorkerd({ ...spec, sockets: [{ port, service }] });
  const client = gatewayClient(url, () => "", tokenFileFor);
  return { server, stop, pid: server.pid!, port, url, client };
}

async function readJson<Result>(url: string): Promise<Result> {
  const { body } = await request(url);
  return (await body.json()) as Result;
}

/** Cloudflare gives an object 128 MB; what V8's heap leaves of it is for array buffers. */
export const HEAP_MEGABYTES = 100;
