import { setTimeout as sleep } from "node:timers/promises";
import { startGateway, startSync } from "../../test/e2e/processes.ts";
import type { ApiClient } from "../../test/e2e/servers/api-client.ts";
import { type ApiServer, startApiServer } from "../../test/e2e/servers/api-server.ts";
import { kubernetesPlugin, startCoreDns } from "../../test/e2e/servers/coredns.ts";
import { importedSlice, namespace, service, serviceImport } from "../../test/e2e/servers/objects.ts";
import { BENCH_WORLD, generateWorld } from "../../test/worlds/generate.ts";
import { LONG_LEASES, pushSnapshot } from "../push.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { encodeQuery } from "../resolve/cases.ts";
import { applyObjects, importObjects } from "../worlds/kubernetes-objects.ts";
import { Poller } from "./poll.ts";

const SMALL_WORLD = { ...BENCH_WORLD, services: 500 };
const CHANGES_PER_ROUND = 4;
/** The service that changes, headless, in a namespace of its own. */
const QUERY = encodeQuery("db.changing.svc.clusterset.local", "A");
/** Between two changes, so that nothing waits for the one before. Milliseconds. */
const REST = 1000;
const UNRELATED_PER_SECOND = 40;

type Stop = () => Promise<unknown>;

/** How long a change in an API server takes to reach the answers. */
export const changeSection: Section = {
  name: "change",
  summary: "time from a change in an API server to the new answer, beside CoreDNS",
  async measure(effort, progress) {
    const stops: Stop[] = [];
    try {
      return await measureChanges(effort, progress, stops);
    } finally {
      for (const stop of stops.reverse()) await stop();
    }
  },
};

async function measureChanges(effort: Effort, progress: Progress, stops: Stop[]): Promise<Table[]> {
  progress("starting an API server, CoreDNS, the gateway and its sync worker");
  const small = generateWorld(SMALL_WORLD);
  const large = generateWorld(BENCH_WORLD);
  const api = await startApiServer({ name: "bench" });
  stops.push(() => api.stop());
  const { namespaces, objects } = importObjects(small);
  await applyObjects(api.admin, [...namespaces, namespace("changing")]);
  await applyObjects(api.admin, [...objects, changingImport()]);
  await api.admin.apply(changingSlice(addressOf(0)));
  const coredns = await startCoreDns([kubernetesPlugin({ kubeconfig: api.kubeconfig() })], { doh: true });
  stops.push(() => coredns.stop());
  const importer = "importer";
  const clusters = [importer, ...large.map(({ clusterId }) => clusterId)];
  const gateway = await startGateway({ clusters, speaksFor: { [importer]: "*" }, config: LONG_LEASES });
  stops.push(() => gateway.stop());
  const sync = startSync({ kubeconfig: api.kubeconfig(), clusterId: importer, gateways: [gateway] });
  stops.push(() => sync.stop());

  const pollers = {
    gateway: new Poller(`${gateway.url}/dns-query`, gateway.ca),
    CoreDNS: new Poller(coredns.doh!.url, coredns.doh!.ca),
  };
  stops.push(
    () => pollers.gateway.close(),
    () => pollers.CoreDNS.close(),
  );
  const changes = Math.ceil(CHANGES_PER_ROUND * effort.rounds * effort.share);
  const series = new ChangeSeries(api, pollers);
  await series.settle();
  const note = `${changes} changes; each gives the EndpointSlice of a headless service another address. Both are asked over DoH every few milliseconds; the clock starts before the API server is told.`;
  const tables = [
    await series.measure("Time from a change to the new answer, 500 services", changes, [note], progress),
  ];
  const stopUnrelated = changeUnrelated(api.admin);
  stops.push(stopUnrelated);
  const busyTitle = `Time from a change to the new answer while ${UNRELATED_PER_SECOND} unrelated objects change a second`;
  const busyNote =
    "The objects are Services that nobody exports; the API server's writes of them take time of the same machine.";
  tables.push(await series.measure(busyTitle, changes, [busyNote], progress));
  await stopUnrelated();
  progress("pushing 10,000 services of two other clusters to the gateway");
  for (const snapshot of large) await pushSnapshot(gateway, snapshot);
  const largeNote = "CoreDNS still holds the 500 services: its column is there for the state of the machine.";
  const title =
    "Time from a change to the new answer, gateway with 10,000 services and 100,000 endpoints more";
  return [...tables, await series.measure(title, changes, [largeNote], progress)];
}

/** Changes a Service that is not exported again and again, at a fixed rate; returns what ends that. */
function changeUnrelated(admin: ApiClient): Stop {
  let port = 0;
  const writes = new Set<Promise<unknown>>();
  const timer = setInterval(() => {
    port = (port % 1000) + 1;
    const write = admin.apply(service("changing", "unrelated", { ports: [{ port, protocol: "TCP" }] }));
    writes.add(write);
    void write.finally(() => writes.delete(write));
  }, 1000 / UNRELATED_PER_SECOND);
  return async () => {
    clearInterval(timer);
    await Promise.all(writes);
  };
}

/** Changes one address again and again and waits for everyone to answer it. */
class ChangeSeries {
  readonly #api: ApiServer;
  readonly #pollers: Record<"gateway" | "CoreDNS", Poller>;
  #address = 0;

  constructor(api: ApiServer, pollers: Record<"gateway" | "CoreDNS", Poller>) {
    this.#api = api;
    this.#pollers = pollers;
  }

  /** Waits until both answer what is there. */
  async settle(): Promise<void> {
    const address = addressOf(this.#address);
    await Promise.all(Object.values(this.#pollers).map((poller) => poller.waitForAddress(QUERY, address)));
  }

  async measure(title: string, changes: number, notes: string[], progress: Progress): Promise<Table> {
    const samples = { gateway: [] as number[], CoreDNS: [] as number[], written: [] as number[] };
    for (let change = 1; change <= changes; change++) {
      progress(`change ${change} of ${changes}`);
      await sleep(REST);
      const address = addressOf(++this.#address);
      const started = performance.now();
      const [written, gateway, coredns] = await Promise.all([
        this.#api.admin.apply(changingSlice(address)).then(() => performance.now()),
        this.#pollers.gateway.waitForAddress(QUERY, address),
        this.#pollers.CoreDNS.waitForAddress(QUERY, address),
      ]);
      samples.written.push(written - started);
      samples.gateway.push(gateway - started);
      samples.CoreDNS.push(coredns - started);
    }
    const unit = "ms";
    const rows = [
      { name: "gateway", unit, samples: samples.gateway },
      { name: "CoreDNS", unit, samples: samples.CoreDNS },
      { name: "the API server's own answer", unit, samples: samples.written },
    ];
    return { title, rows, baselines: ["CoreDNS"], goals: [], notes };
  }
}

function changingImport() {
  return serviceImport("changing", "db", {
    type: "Headless",
    ports: [{ name: "pg", port: 5432, protocol: "TCP" }],
  });
}

function changingSlice(address: string) {
  return importedSlice("changing", "db", "cluster-a", {
    ports: [{ name: "pg", port: 5432 }],
    endpoints: [{ addresses: [address], hostname: "db-0", conditions: { ready: true } }],
  });
}

function addressOf(index: number): string {
  return `10.99.${index >> 8}.${index & 255}`;
}
