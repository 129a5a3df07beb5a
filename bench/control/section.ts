import { exported } from "../../test/e2e/commands/exported.ts";
import { type KubeObject, namespace } from "../../test/e2e/servers/kubernetes/objects.ts";
import { type Stop, withStops } from "../processes/stops.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { applyObjects } from "../worlds/kubernetes-objects.ts";
import { addressOf } from "../worlds/wide-world.ts";
import { Changes, writeRows } from "./changes.ts";
import { type Clusters, startClusters } from "./clusters.ts";

const CHANGES = { small: 10, full: 30 };
const SERVICES = { small: 500, full: 10_000 };
const SERVICES_PER_NAMESPACE = 100;
/** For each service to be written in one cluster, in milliseconds. */
const DEADLINE_PER_SERVICE = 500;

/** What the control plane takes to bring a cluster's change to another cluster's API server. */
export const controlSection: Section = {
  name: "control",
  summary: "time from a change in one cluster to the EndpointSlice in another, beside DoH; writes",
  measure: (effort, progress) => withStops((stops) => measureControl(effort, progress, stops)),
};

async function measureControl(
  { isSmall, endpoints }: Effort,
  progress: Progress,
  stops: Stop[],
): Promise<Table[]> {
  const size = isSmall ? "small" : "full";
  const services = endpoints ?? SERVICES[size];
  progress("starting two API servers, the gateway and two workers");
  const clusters = await startClusters(stops);
  const changes = new Changes(clusters);
  await clusters.importer.untilHeld(1, DEADLINE_PER_SERVICE * 100);
  await changes.warmUp();
  const alone = await changes.measure("no other service", CHANGES[size], progress);
  const joined = await exportServices(clusters, services, progress);
  await changes.warmUp();
  return [...alone, joined, ...(await changes.measure(describe(services), CHANGES[size], progress))];
}

/** Exports services in `a` while the worker of `b` is stopped, then starts that worker. */
async function exportServices(
  { a, b, exporter, importer }: Clusters,
  services: number,
  progress: Progress,
): Promise<Table> {
  const deadline = DEADLINE_PER_SERVICE * (services + 100);
  await importer.stop();
  progress(`${services} services are exported`);
  const objects = heldObjects(services);
  for (const { admin } of [a, b]) await applyObjects(admin, objects.namespaces);
  await applyObjects(a.admin, objects.exported);
  await exporter.untilHeld(services + 1, deadline);
  progress("the other cluster's worker starts");
  const started = performance.now();
  await importer.restart();
  await importer.untilHeld(services + 1, deadline);
  const seconds = (performance.now() - started) / 1000;
  return {
    title: `From the start of the other cluster's worker until it has ${describe(services)}`,
    rows: [{ name: "time", unit: "s", samples: [seconds] }, ...writeRows(await importer.writes(), 1)],
    ...{ baselines: [], goals: [] },
    notes: ["ClusterSetIP services of one endpoint; the worker writes at a bounded rate."],
  };
}

function heldObjects(services: number): { namespaces: KubeObject[]; exported: KubeObject[] } {
  const spaceOf = (service: number) => `team-${Math.floor(service / SERVICES_PER_NAMESPACE)}`;
  const all = Array.from({ length: services }, (_, service) => service);
  return {
    namespaces: [...new Set(all.map(spaceOf))].map(namespace),
    exported: all.flatMap((service) =>
      exported(spaceOf(service), `service-${service}`, { endpoints: [addressOf(service)] }),
    ),
  };
}

function describe(services: number): string {
  return `${services.toLocaleString("en")} services`;
}
