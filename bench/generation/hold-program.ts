/** `node --expose-gc bench/generation/hold-program.ts WORLD`: prints what a gateway's state takes in memory. */
import { IndexSource } from "../../src/gateway/serving/index-source.ts";
import { MergedServices } from "../../src/merge/index/merged-services.ts";
import { ServiceIndex } from "../../src/merge/index/service-index.ts";
import { EVERYTHING } from "../../src/merge/visibility/visibility.ts";
import { drain } from "../../src/snapshot/drain.ts";
import { HeldTables } from "../../src/snapshot/held/held-tables.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { ZoneCompiler } from "../../src/zone/compiler/zone-compiler.ts";
import { NO_HISTORY } from "../../src/zone/reverse/reverse-history.ts";
import { memoryGrowth, memoryInUse } from "../processes/memory.ts";
import { WORLDS, type WorldName } from "../worlds/worlds.ts";

const before = memoryInUse();
const state = hold(process.argv[2] as WorldName);
const memory = memoryGrowth(before);
// The state has to be alive until memory was looked at.
console.log(JSON.stringify({ ...memory, services: state.services.size }));

/** What a gateway on Node keeps: the snapshots, as they come from JSON, the index by service, the compiler's state, the generation. */
function hold(world: WorldName) {
  const snapshots = JSON.parse(JSON.stringify(WORLDS[world]())) as ClusterSnapshot[];
  const index = new ServiceIndex();
  const services = new MergedServices(index, EVERYTHING);
  const held = snapshots.map(HeldTables.of);
  for (const [at, { clusterId }] of snapshots.entries()) for (const _ of index.join(clusterId, held[at]!));
  for (const _ of services.settle());
  const compiler = new ZoneCompiler();
  const source = new IndexSource(index, services);
  const { generation } = drain(compiler.compile(source, "all", { serial: 1, history: NO_HISTORY }));
  return { held, index, services, compiler, generation };
}
