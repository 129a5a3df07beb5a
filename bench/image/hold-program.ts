/** `node --expose-gc bench/image/hold-program.ts WORLD`: prints what a gateway's state takes in memory. */
import { MergedServices } from "../../src/merge/index/merged-services.ts";
import { ServiceIndex } from "../../src/merge/index/service-index.ts";
import { clustersetOf } from "../../src/merge/merge.ts";
import { EVERYTHING } from "../../src/merge/visibility/visibility.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { compileGeneration } from "../../src/zone/compile.ts";
import { memoryGrowth, memoryInUse } from "../processes/memory.ts";
import { WORLDS, type WorldName } from "../worlds/worlds.ts";

const before = memoryInUse();
const state = hold(process.argv[2] as WorldName);
const memory = memoryGrowth(before);
// The state has to be alive until memory was looked at.
console.log(JSON.stringify({ ...memory, services: state.services.size }));

/** What a gateway on Node keeps: the snapshots, as they come from JSON, the merged services, the image. */
function hold(world: WorldName) {
  const snapshots = JSON.parse(JSON.stringify(WORLDS[world]())) as ClusterSnapshot[];
  const index = new ServiceIndex();
  const services = new MergedServices(index, EVERYTHING);
  for (const snapshot of snapshots) for (const _ of index.join(snapshot));
  for (const _ of services.settle());
  const { generation } = compileGeneration(clustersetOf(index, services));
  return { snapshots, services, generation };
}
