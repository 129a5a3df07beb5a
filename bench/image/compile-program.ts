/** `node bench/image/compile-program.ts WORLD CHANGES FILE`: compiles a world, writes its image, and changes it. */
import { writeFileSync } from "node:fs";
import { createMerger } from "../../src/merge/merge.ts";
import { applyPatch } from "../../src/snapshot/patch.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { compileGeneration } from "../../src/zone/compile.ts";
import { countEndpoints, WORLDS, type WorldName } from "../worlds.ts";

/** What compiling a world took. Times in milliseconds. */
export interface Compilation {
  readonly endpoints: number;
  readonly imageBytes: number;
  readonly names: number;
  /** The first time in a fresh process. */
  readonly parse: number;
  readonly merge: number;
  readonly compile: number;
  /** Each after one endpoint changed. */
  readonly patch: readonly number[];
  readonly mergeChange: readonly number[];
  readonly compileChange: readonly number[];
}

const [world, changes, file] = process.argv.slice(2);
const json = JSON.stringify(WORLDS[world as WorldName]());
const mergeSnapshots = createMerger();
const [parse, parsed] = timed(() => JSON.parse(json) as ClusterSnapshot[]);
const [merge, clusterset] = timed(() => mergeSnapshots(parsed));
const [compile, { image }] = timed(() => compileGeneration(clusterset));
writeFileSync(file!, image.bytes);

let snapshots = parsed;
const patch: number[] = [];
const mergeChange: number[] = [];
const compileChange: number[] = [];
for (let change = 1; change <= Number(changes); change++) {
  const [patchTime, patched] = timed(() => changeOneEndpoint(snapshots[0]!, change));
  snapshots = [patched, ...snapshots.slice(1)];
  const [mergeTime, merged] = timed(() => mergeSnapshots(snapshots));
  const [compileTime, compiled] = timed(() => compileGeneration(merged));
  if (compiled.image.contentHash === image.contentHash) throw new Error("the change did not reach the image");
  patch.push(patchTime);
  mergeChange.push(mergeTime);
  compileChange.push(compileTime);
}

const compilation: Compilation = {
  endpoints: countEndpoints(snapshots),
  imageBytes: image.bytes.length,
  names: image.nodes,
  parse,
  merge,
  compile,
  patch,
  mergeChange,
  compileChange,
};
console.log(JSON.stringify(compilation));

/** Takes the address of one endpoint of a headless service away and gives it another, as a restarted pod gets. */
function changeOneEndpoint(snapshot: ClusterSnapshot, change: number): ClusterSnapshot {
  const keys = Object.keys(snapshot.exports).filter((key) => snapshot.exports[key]!.headless);
  const key = keys[(change * 97) % keys.length]!;
  const [ports, group] = Object.entries(snapshot.exports[key]!.endpoints)[0]!;
  const [member, endpoint] = Object.entries(group.members)[0]!;
  const address = `10.250.0.${change}`;
  const members = { [member]: null, [`${address}#${endpoint.hostname}`]: { ...endpoint, address } };
  return applyPatch(snapshot, { exports: { [key]: { endpoints: { [ports]: { members } } } } });
}

function timed<Result>(run: () => Result): [milliseconds: number, result: Result] {
  const started = performance.now();
  const result = run();
  return [performance.now() - started, result];
}
