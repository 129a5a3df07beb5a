import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { checkout } from "../../test/e2e/harness/cli.ts";
import { startGateway, startSync } from "../../test/e2e/harness/processes.ts";
import { importedSlice, namespace, serviceImport } from "../../test/e2e/servers/kubernetes/objects.ts";
import { freePort } from "../../test/e2e/servers/ports.ts";
import { ServerProcess } from "../../test/e2e/servers/process.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import { ensureTool } from "../../test/e2e/servers/tools/tools.ts";
import { ApiServerDouble } from "../../test/worker/api-server-double.ts";
import { pidOf } from "../cpu/contenders.ts";
import type { Stop } from "../processes/stops.ts";
import { LONG_LEASES } from "../push.ts";
import { addressOf as wideAddress } from "../worlds/wide-world.ts";
import { addressOf, CHANGING_QUERY, changingObjects, changingSlice } from "./changing-objects.ts";
import { Poller } from "./poll.ts";

const IMPORTER = "importer";
const TRANSFER_TOKEN = "transfer-token";
/** Time between an answer of the secondary and its next query, in milliseconds. */
const PAUSE = 50;
const DEADLINE = 120_000;
const SERVICES_PER_NAMESPACE = 100;
/** One cluster has more services here than Kubernetes supports. */
const LIMITS = {
  imports: 1_000_000,
  snapshotCharacters: 512 * 1024 * 1024,
  pushBytes: 512 * 1024 * 1024,
  pushBytesInFlight: 1024 * 1024 * 1024,
  pushValues: 50_000_000,
  pushValuesPerSecond: 50_000_000,
  pushSentBytes: 256 * 1024 * 1024,
  pushRatio: 1000,
  pushSeconds: 120,
};

/** A worker, its gateway and a secondary of that. */
export interface Chain {
  readonly pids: Readonly<Record<"worker" | "gateway" | "secondary", number>>;
  /** Changes one endpoint in the API server; resolves when the secondary answers it. */
  change(): Promise<void>;
}

/**
 * Starts all three over an API server in this process, with so many imported headless services of one
 * endpoint each.
 */
export async function startChain(services: number, stops: Stop[]): Promise<Chain> {
  const api = await new ApiServerDouble().start();
  stops.push(() => api.stop());
  fill(api, services);
  const tokenSha256 = createHash("sha256").update(TRANSFER_TOKEN).digest("hex");
  const gateway = await startGateway({
    clusters: [IMPORTER],
    speaksFor: { [IMPORTER]: "*" },
    tls: false,
    config: { ...LONG_LEASES, limits: LIMITS, transfer: { credentials: [{ tokenSha256 }] } },
  });
  stops.push(() => gateway.kill());
  const kubeconfig = join(temporaryFolder("double"), "kubeconfig");
  writeFileSync(kubeconfig, api.kubeconfig);
  const sync = startSync({ kubeconfig, clusterId: IMPORTER, gateways: [gateway] });
  stops.push(() => sync.kill());
  const secondary = await startSecondary(gateway.url);
  stops.push(() => secondary.server.kill());
  const poller = new Poller(secondary.url, "", PAUSE);
  stops.push(() => poller.close());
  const answers = new SteadyAnswers(poller);
  stops.push(() => answers.end());
  let changes = 0;
  await answers.wait(addressOf(changes));
  return {
    pids: {
      worker: pidOf(sync.process),
      gateway: pidOf(gateway.process),
      secondary: pidOf(secondary.server),
    },
    change: async () => {
      put(api, changingSlice(addressOf(++changes)));
      await answers.wait(addressOf(changes));
    },
  };
}

function fill(api: ApiServerDouble, services: number): void {
  put(api, namespace("changing"));
  for (const object of changingObjects()) put(api, object);
  for (let service = 0; service < services; service++) {
    const space = `team-${Math.floor(service / SERVICES_PER_NAMESPACE)}`;
    if (service % SERVICES_PER_NAMESPACE === 0) put(api, namespace(space));
    const name = `service-${service}`;
    const ports = [{ name: "http", port: 80, protocol: "TCP" }];
    put(api, serviceImport(space, name, { type: "Headless", ports }));
    const endpoints = [
      { addresses: [wideAddress(service)], hostname: `${name}-0`, conditions: { ready: true } },
    ];
    put(api, importedSlice(space, name, "cluster-a", { ports: [{ name: "http", port: 8080 }], endpoints }));
  }
}

const COLLECTIONS: Record<string, string> = {
  Namespace: "/api/namespaces",
  ServiceImport: "/apis/multicluster.x-k8s.io/serviceimports",
  EndpointSlice: "/apis/discovery.k8s.io/endpointslices",
};

function put(api: ApiServerDouble, object: { readonly kind: string; readonly metadata: object }): void {
  api.put(COLLECTIONS[object.kind]!, object);
}

async function startSecondary(
  primary: string,
): Promise<{ readonly url: string; readonly server: ServerProcess }> {
  const deno = await ensureTool("deno");
  const origin = `http://127.0.0.1:${await freePort()}`;
  const server = await ServerProcess.start({
    name: "secondary",
    command: deno,
    args: ["run", "-A", join(checkout, "src/hosts/deno/secondary.ts")],
    folder: temporaryFolder("secondary"),
    env: {
      CLUSTERSET_PRIMARY_URL: primary,
      CLUSTERSET_TRANSFER_TOKEN: TRANSFER_TOKEN,
      CONFIG: JSON.stringify({ access: { public: true } }),
      PUSH_CREDENTIALS: "[]",
      DENO_SERVE_ADDRESS: `tcp:${new URL(origin).host}`,
    },
    ready: async () => (await fetch(`${origin}/healthz`)).ok,
  });
  return { url: `${origin}/dns-query`, server };
}

/** Asks a server at a steady rate, so that its queries cost the same whether or not something changes. */
class SteadyAnswers {
  #addresses: readonly string[] = [];
  #isEnding = false;
  readonly #ended: Promise<void>;

  constructor(poller: Poller) {
    this.#ended = this.#run(poller);
  }

  /** @throws {Error} where exactly this address is not answered in time */
  async wait(address: string): Promise<void> {
    const end = performance.now() + DEADLINE;
    while (this.#addresses.length !== 1 || this.#addresses[0] !== address) {
      if (performance.now() > end) throw new Error(`the secondary does not answer ${address}`);
      await sleep(PAUSE / 5);
    }
  }

  end(): Promise<void> {
    this.#isEnding = true;
    return this.#ended;
  }

  async #run(poller: Poller): Promise<void> {
    while (!this.#isEnding) {
      this.#addresses = await poller.ask(CHANGING_QUERY).catch(() => []);
      await sleep(PAUSE);
    }
  }
}
