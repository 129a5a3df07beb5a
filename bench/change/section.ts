import { type GatewayProcess, startGateway, startSync } from "../../test/e2e/harness/processes.ts";
import { kubernetesPlugin, startCoreDns } from "../../test/e2e/servers/coredns.ts";
import { startApiServer } from "../../test/e2e/servers/kubernetes/api-server.ts";
import { namespace } from "../../test/e2e/servers/kubernetes/objects.ts";
import { BENCH_WORLD, generateWorld } from "../../test/worlds/generate.ts";
import { type Stop, withStops } from "../processes/stops.ts";
import { LONG_LEASES } from "../push.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { pushWideWorld } from "../size/held-world.ts";
import { applyObjects, importObjects } from "../worlds/kubernetes-objects.ts";
import { type WideWorld, wideClusterIds, wideEndpoints, wideWorld } from "../worlds/wide-world.ts";
import { ChangeSeries } from "./change-series.ts";
import {
  changeUnrelated,
  changingObjects,
  UNRELATED_PER_SECOND,
  unrelatedObjects,
} from "./changing-objects.ts";
import { Poller } from "./poll.ts";

const SIZES = {
  small: { services: 100, changes: 8, endpoints: 20_000 },
  full: { services: 500, changes: 30, endpoints: 1_000_000 },
};
/** Time between an answer and the next query of one server, in milliseconds. */
const PAUSE = 1;
const IMPORTER = "importer";

/** How long a change in an API server takes to reach the answers. */
export const changeSection: Section = {
  name: "change",
  summary: "time from the API server's reply to the changed answer, beside CoreDNS",
  measure: (effort, progress) => withStops((stops) => measureChanges(effort, progress, stops)),
};

async function measureChanges({ isSmall }: Effort, progress: Progress, stops: Stop[]): Promise<Table[]> {
  const { services, changes, endpoints } = SIZES[isSmall ? "small" : "full"];
  const world = wideWorld(endpoints);
  const { series, gateway, unrelated } = await startServers(services, world, progress, stops);
  const idleAndBusy = async (held: string, factor: number): Promise<Table[]> => {
    const idle = await series.measure(`${held}, nothing else changes`, changes, 4 * factor, progress);
    const end = unrelated();
    stops.push(end);
    const title = `${held}, ${UNRELATED_PER_SECOND} unrelated slices change a second`;
    const busy = await series.measure(title, changes, 8 * factor, progress);
    await end();
    return [idle, busy];
  };
  const alone = await idleAndBusy(`${services} services`, 1);
  await pushWideWorld(gateway, world, progress);
  const beside = `${wideEndpoints(world).toLocaleString("en")} endpoints of ${world.clusters} other clusters beside`;
  return [...alone, ...(await idleAndBusy(beside, 1.3))];
}

async function startServers(services: number, world: WideWorld, progress: Progress, stops: Stop[]) {
  progress("starting an API server, CoreDNS, the gateway and its sync worker");
  const api = await startApiServer({ name: "bench" });
  stops.push(() => api.stop());
  const { namespaces, objects } = importObjects(generateWorld({ ...BENCH_WORLD, services }));
  await applyObjects(api.admin, [...namespaces, namespace("changing")]);
  await applyObjects(api.admin, [...objects, ...changingObjects(), ...unrelatedObjects()]);
  const kubeconfig = api.kubeconfig();
  const coredns = await startCoreDns([kubernetesPlugin({ kubeconfig })], { doh: true });
  stops.push(() => coredns.stop());
  const gateway = await startGateway({
    clusters: [IMPORTER, ...wideClusterIds(world)],
    speaksFor: { [IMPORTER]: "*" },
    config: LONG_LEASES,
  });
  stops.push(() => gateway.kill());
  const sync = startSync({ kubeconfig, clusterId: IMPORTER, gateways: [gateway] });
  stops.push(() => sync.stop());
  const series = new ChangeSeries(api.admin, pollersOf(gateway, coredns.doh!, stops));
  await series.settle();
  progress("changes that do not count");
  await series.warmUp();
  return { series, gateway, unrelated: () => changeUnrelated(api.admin) };
}

function pollersOf(gateway: GatewayProcess, coredns: { url: string; ca: string }, stops: Stop[]) {
  const pollers = {
    gateway: new Poller(`${gateway.url}/dns-query`, gateway.ca, PAUSE),
    CoreDNS: new Poller(coredns.url, coredns.ca, PAUSE),
  };
  stops.push(
    () => pollers.gateway.close(),
    () => pollers.CoreDNS.close(),
  );
  return pollers;
}
