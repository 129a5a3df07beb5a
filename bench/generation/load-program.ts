/** `node --expose-gc bench/generation/load-program.ts FILE`: loads a generation into a fresh process and asks it once. */
import { readFileSync } from "node:fs";
import { LeaseTables } from "../../src/gateway/leases/lease-tables.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import { readGeneration } from "../../test/worlds/generation-file.ts";
import { type MemoryUse, memoryGrowth, memoryInUse } from "../processes/memory.ts";
import { encodeQuery } from "../resolve/cases.ts";

/** What loading a generation took. Times in milliseconds, memory in bytes. */
export interface Loading {
  readonly read: number;
  readonly load: number;
  readonly firstAnswer: number;
  readonly memory: MemoryUse;
}

const query = encodeQuery("service-0.team-0.svc.clusterset.local", "A");
const before = memoryInUse();
const times = [performance.now()];
const bytes = readFileSync(process.argv[2]!);
times.push(performance.now());
const generation = readGeneration(bytes);
times.push(performance.now());
const answer = resolve(query, {
  generation,
  leases: new LeaseTables(() => 1e13),
  now: 0,
  rotation: 0,
  view: undefined,
  outside: "refuse",
});
times.push(performance.now());
if (answer?.outcome !== "answer") throw new Error(`the loaded generation answers with ${answer?.outcome}`);
const [read, load, firstAnswer] = [1, 2, 3].map((index) => times[index]! - times[index - 1]!);
const loading: Loading = {
  read: read!,
  load: load!,
  firstAnswer: firstAnswer!,
  memory: memoryGrowth(before),
};
// The generation has to be alive until memory was looked at.
console.log(JSON.stringify({ ...loading, bytes: generation.byteLength }));
