import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { temporaryFolder } from "../../test/e2e/servers/tools/folders.ts";
import type { Effort, Progress, Table } from "../report/report.ts";
import { ChangingCluster } from "../worlds/changing-cluster.ts";
import { type WideWorld, wideEndpoints, wideWorld } from "../worlds/wide-world.ts";
import { type Answering, type Deployment, deploy, LARGE_LIMITS, pushAll, startObject } from "./location.ts";
import type { Scripts } from "./workerd/bundles.ts";

const ENDPOINTS = { small: 20_000, full: 1_000_000 };

/** The large world at the edge. */
export function edgeWorld({ isSmall, endpoints }: Effort): WideWorld {
  return wideWorld(endpoints ?? ENDPOINTS[isSmall ? "small" : "full"]);
}

/** That world, and before it one of a tenth. */
export function edgeWorlds(effort: Effort): readonly WideWorld[] {
  const large = edgeWorld(effort);
  return [wideWorld(wideEndpoints(large) / 10), large];
}

/** An object that holds a world. */
export interface EdgeWorld {
  /** What it holds, in words. */
  readonly world: string;
  readonly deployment: Deployment;
  readonly object: Answering;
}

/** Such as `20,000 endpoints of 4 clusters`. */
export function describeWorld(world: WideWorld): string {
  return `${wideEndpoints(world).toLocaleString("en")} endpoints of ${world.clusters} clusters`;
}

/** Runs something with an object that holds a world, to which `ChangingCluster` may push. */
export async function withWorld(
  scripts: Scripts,
  {
    name,
    clusters,
    snapshots,
  }: { name: string; clusters: readonly string[]; snapshots: Iterable<ClusterSnapshot> },
  progress: Progress,
  measure: (world: EdgeWorld) => Promise<Table[]>,
): Promise<Table[]> {
  progress(`${name}: starting the object`);
  const deployment = deploy(scripts, [...clusters, ChangingCluster.id], LARGE_LIMITS);
  const object = await startObject(deployment, temporaryFolder("state"));
  try {
    await pushAll(object, snapshots);
    return await measure({ world: name, deployment, object });
  } finally {
    await object.stop();
  }
}
