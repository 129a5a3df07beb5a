/** `node --expose-gc bench/image/hold-program.ts WORLD`: prints what a gateway's state takes in memory. */
import { createMerger } from "../../src/merge/merge.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { compileGeneration } from "../../src/zone/compile.ts";
import { memoryGrowth, memoryInUse } from "../memory.ts";
import { WORLDS, type WorldName } from "../worlds.ts";

const before = memoryInUse();
const state = hold(process.argv[2] as WorldName);
const memory = memoryGrowth(before);
// The state has to be alive until memory was looked at.
console.log(JSON.stringify({ ...memory, services: state.merge(state.snapshots).services.length }));

/** What a gateway on Node keeps: the snapshots, as they come from JSON, the merged services, the image. */
function hold(world: WorldName) {
  const snapshots = JSON.parse(JSON.stringify(WORLDS[world]())) as ClusterSnapshot[];
  const merge = createMerger();
  const { image } = compileGeneration(merge(snapshots));
  return { snapshots, merge, image };
}
