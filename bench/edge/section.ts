import type { Section, Table } from "../report/report.ts";
import { loadedSnapshots } from "../worlds/asked.ts";
import { wideClusterIds, wideQueries, wideSnapshots } from "../worlds/wide-world.ts";
import { measureColdStart } from "./cold/cold-start.ts";
import { describeWorld, edgeWorld, edgeWorlds, withWorld } from "./edge-world.ts";
import { measureIsolateMemory } from "./isolate-memory.ts";
import { measureLargePush } from "./large-push.ts";
import { measureObjectRequests } from "./object-requests.ts";
import { measureThroughput } from "./throughput.ts";
import { buildScripts } from "./workerd/bundles.ts";

/** Names that an isolate is asked for all over a large world. */
const QUERIES = 100;

/** The Worker in bare workerd, under queries. */
export const edgeSection: Section = {
  name: "edge",
  summary: "the Worker in bare workerd: throughput, requests to the object, the way of a change",
  async measure(effort, progress) {
    progress("bundling");
    const scripts = await buildScripts();
    return [
      ...(await measureThroughput(scripts, effort, progress)),
      ...(await measureObjectRequests(scripts, effort, progress)),
    ];
  },
};

/** The same with a large world. */
export const edgeSizeSection: Section = {
  name: "edge-size",
  summary: "1,000,000 endpoints at the edge: first query, memory, bytes for one change",
  async measure(effort, progress) {
    progress("bundling");
    const scripts = await buildScripts();
    const loaded = loadedSnapshots();
    const few = {
      name: "500 services",
      clusters: loaded.map(({ clusterId }) => clusterId),
      snapshots: loaded,
    };
    const little = await withWorld(scripts, few, progress, (world) =>
      measureColdStart(world, effort, progress),
    );
    const wide = edgeWorld(effort);
    const many = {
      name: describeWorld(wide),
      clusters: wideClusterIds(wide),
      snapshots: wideSnapshots(wide),
    };
    const large = await withWorld(scripts, many, progress, async (world) => [
      ...(await measureColdStart(world, effort, progress)),
      ...(await measureIsolateMemory(world, wideQueries(wide, QUERIES), effort, progress)),
    ]);
    return [...little, ...large];
  },
};

/** The object with a large world. */
export const edgeObjectSection: Section = {
  name: "edge-object",
  summary:
    "100,000 and 1,000,000 endpoints in the object: first pushes, memory, rows of one change, a restart",
  async measure(effort, progress) {
    progress("bundling");
    const scripts = await buildScripts();
    const tables: Table[] = [];
    for (const world of edgeWorlds(effort))
      tables.push(await measureLargePush(scripts, world, effort, progress));
    return tables;
  },
};
