import { slices, unexported } from "../../test/e2e/commands/exported.ts";
import { type KubeObject, namespace, serviceExport } from "../../test/e2e/servers/kubernetes/objects.ts";
import { addressOf as addressOfChange } from "../change/changing-objects.ts";
import { pidOf } from "../cpu/contenders.ts";
import { cpuMicrosecondsSince, readThreadTimes } from "../processes/process-cpu.ts";
import { forgetPeak, residentMemory } from "../processes/resident-memory.ts";
import type { Progress, Row, Table } from "../report/report.ts";
import { applyObjects } from "../worlds/kubernetes-objects.ts";
import { addressOf } from "../worlds/wide-world.ts";
import { writeRows } from "./changes.ts";
import type { Clusters } from "./clusters.ts";
import type { ControlWorker } from "./control-worker.ts";

const SERVICES_PER_NAMESPACE = 100;
/** For each service to be written in one cluster, in milliseconds. */
const DEADLINE_PER_SERVICE = 500;
/** An address that no other change has. */
const MARKER = addressOfChange(60_000);

/**
 * Exports services in `a` while the worker of `b` is stopped, then starts that worker, and then starts it
 * again.
 * @param described the services, for titles
 */
export async function exportServices(
  clusters: Clusters,
  services: number,
  described: string,
  progress: Progress,
): Promise<Table[]> {
  const { a, b, exporter, importer, gateway } = clusters;
  const deadline = DEADLINE_PER_SERVICE * (services + 100);
  const phase = async (name: string, worker: ControlWorker, isNew: boolean, run: () => Promise<unknown>) => {
    const before = isNew ? new Map<string, number>() : await worker.writes();
    const gatewayUse = useOf(pidOf(gateway.process));
    const started = performance.now();
    // A process that starts has used nothing before.
    const earlier = isNew ? undefined : useOf(worker.pid);
    await run();
    const seconds = (performance.now() - started) / 1000;
    const workerUse = earlier?.() ?? useOf(worker.pid, true)();
    progress(`${name}: ${seconds.toFixed(1)} s`);
    const writes = new Map(
      [...(await worker.writes())].map(([what, count]) => [what, count - (before.get(what) ?? 0)]),
    );
    return { rows: [row("time", "s", seconds), ...workerUse("worker"), ...gatewayUse()("gateway")], writes };
  };
  const table = (
    title: string,
    { rows, writes }: Awaited<ReturnType<typeof phase>>,
    share: number,
  ): Table => ({
    title,
    rows: [...rows, ...writeRows(writes, share)],
    baselines: [],
    goals: [],
    notes: NOTES,
  });

  await importer.stop();
  const objects = manyObjects(services);
  for (const { admin } of [a, b]) await applyObjects(admin, objects.namespaces);
  progress(`${services} services are exported`);
  const exporting = await phase("exporting", exporter, false, async () => {
    for (const group of [objects.services, objects.exports]) await applyObjects(a.admin, group);
    progress("all objects are in the API server");
    await exporter.untilHeld(services + 1, deadline, progress);
  });
  progress("the other cluster's worker starts");
  const importing = await phase("importing", importer, true, async () => {
    await importer.restart();
    await importer.untilHeld(services + 1, deadline, progress);
  });
  progress("it starts again");
  const again = await phase("again", importer, true, async () => {
    await importer.restart();
    // What comes after the whole state: when this is there, the worker has looked at everything.
    const seen = importer.slices.waitForAddress("db", MARKER);
    await a.admin.apply(...slices("changing", "db", { endpoints: [MARKER] }));
    await seen;
    await importer.untilHeld(services + 1, deadline, progress);
  });
  return [
    table(
      `The cluster that exports ${described}, from the first of them; writes for each service`,
      exporting,
      services,
    ),
    table(
      `The other cluster's worker, from its start until it has ${described}; writes for each service`,
      importing,
      services,
    ),
    table(`The same worker, started again with ${described} as desired; writes in all`, again, 1),
  ];
}

const NOTES = [
  "ClusterSetIP services of one endpoint. Worker and gateway: CPU time in this phase, and the most memory at a time. The last phase has one changed endpoint, which is the one write.",
];

/** Begins to measure a process. */
function useOf(pid: number, isWhole = false): () => (name: string) => Row[] {
  const before = isWhole ? new Map<string, number>() : readThreadTimes(pid);
  if (!isWhole) forgetPeak(pid);
  return () => {
    const seconds = cpuMicrosecondsSince(before, pid) / 1e6;
    const peak = residentMemory(pid).peak / 2 ** 20;
    return (name) => [row(`${name}: CPU time`, "s", seconds), row(`${name}: memory`, "MiB", peak)];
  };
}

function row(name: string, unit: string, sample: number): Row {
  return { name, unit, samples: [sample] };
}

/** Services come before their exports, so that no export is invalid at first. */
function manyObjects(services: number): Record<"namespaces" | "services" | "exports", KubeObject[]> {
  const spaceOf = (service: number) => `team-${Math.floor(service / SERVICES_PER_NAMESPACE)}`;
  const nameOf = (service: number) => `service-${service}`;
  const all = Array.from({ length: services }, (_, service) => service);
  return {
    namespaces: [...new Set(all.map(spaceOf))].map(namespace),
    services: all.flatMap((service) =>
      unexported(spaceOf(service), nameOf(service), { endpoints: [addressOf(service)] }),
    ),
    exports: all.map((service) => serviceExport(spaceOf(service), nameOf(service))),
  };
}
