import { type Stop, withStops } from "../processes/stops.ts";
import type { Effort, Progress, Section, Table } from "../report/report.ts";
import { Changes } from "./changes.ts";
import { startClusters } from "./clusters.ts";
import { exportServices } from "./many-services.ts";

const CHANGES = { small: 10, full: 30 };
const SERVICES = { small: 500, full: 10_000 };
/** Until the first service is imported, in milliseconds. */
const DEADLINE = 50_000;

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
  await clusters.importer.untilHeld(1, DEADLINE);
  await changes.warmUp();
  const alone = await changes.measure("no other service", CHANGES[size], progress);
  const joined = await exportServices(clusters, services, describe(services), progress);
  await changes.warmUp();
  return [...alone, ...joined, ...(await changes.measure(describe(services), CHANGES[size], progress))];
}

function describe(services: number): string {
  return `${services.toLocaleString("en")} services`;
}
