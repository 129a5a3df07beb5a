/** `node bench/generation/compile-program.ts WORLD CHANGES FILE`: compiles a world, writes its generation, and changes it. */
import { writeFileSync } from "node:fs";
import { IndexSource } from "../../src/gateway/serving/index-source.ts";
import { MergedServices } from "../../src/merge/index/merged-services.ts";
import { ServiceIndex } from "../../src/merge/index/service-index.ts";
import { EVERYTHING } from "../../src/merge/visibility/visibility.ts";
import { drain } from "../../src/snapshot/drain.ts";
import type { SnapshotDelta } from "../../src/snapshot/entry-changes.ts";
import { heldSnapshot } from "../../src/snapshot/lines/held-state.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { ZoneCompiler } from "../../src/zone/compiler/zone-compiler.ts";
import { NO_HISTORY } from "../../src/zone/reverse/reverse-history.ts";
import type { ZoneChange } from "../../src/zone/zone-source.ts";
import { applyLines, changeTables } from "../../test/snapshot/changes.ts";
import { writeGeneration } from "../../test/worlds/generation-file.ts";
import { countEndpoints, WORLDS, type WorldName } from "../worlds/worlds.ts";

/** What compiling a world took. Times in milliseconds. */
export interface Compilation {
  readonly endpoints: number;
  readonly generationBytes: number;
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
const index = new ServiceIndex();
const services = new MergedServices(index, EVERYTHING);
const [parse, parsed] = timed(() => JSON.parse(json) as ClusterSnapshot[]);
const source = new IndexSource(index, services);
const compiler = new ZoneCompiler();
let history = NO_HISTORY;
const [merge] = timed(() => {
  for (const snapshot of parsed) for (const _ of index.join(snapshot.clusterId, heldSnapshot(snapshot)));
  return settled();
});
const [compile, { generation }] = timed(() => compileNext("all"));
writeFileSync(file!, writeGeneration(generation));

const patch: number[] = [];
const mergeChange: number[] = [];
const compileChange: number[] = [];
for (let change = 1; change <= Number(changes); change++) {
  const [patchTime, delta] = timed(() => changeOneEndpoint(parsed[0]!, change));
  const [mergeTime, merged] = timed(() => {
    for (const _ of index.change(parsed[0]!.clusterId, delta));
    return settled();
  });
  const [compileTime, compiled] = timed(() => compileNext(merged));
  if (compiled.generation.rootHash === generation.rootHash)
    throw new Error("the change did not reach the generation");
  patch.push(patchTime);
  mergeChange.push(mergeTime);
  compileChange.push(compileTime);
}

const compilation: Compilation = {
  endpoints: countEndpoints(parsed),
  generationBytes: generation.byteLength,
  names: [generation.stems, ...generation.segments()].reduce((sum, one) => sum + one.names, 0),
  parse,
  merge,
  compile,
  patch,
  mergeChange,
  compileChange,
};
console.log(JSON.stringify(compilation));

/** Takes the address of one endpoint of a headless service away and gives it another, as a restarted pod gets. */
function changeOneEndpoint(snapshot: ClusterSnapshot, change: number): SnapshotDelta {
  const keys = Object.keys(snapshot.exports).filter((key) => snapshot.exports[key]!.headless);
  const key = keys[(change * 97) % keys.length]!;
  const [ports, group] = Object.entries(snapshot.exports[key]!.endpoints)[0]!;
  const [member, endpoint] = Object.entries(group.members)[0]!;
  const address = `10.250.0.${change}`;
  const members = { [member]: null, [`${address}#${endpoint.hostname}`]: { ...endpoint, address } };
  const patch = { endpoints: { [ports]: { members } } };
  const delta = applyLines(heldSnapshot(snapshot), [["exports", key, patch]], "changes");
  Object.assign(snapshot, changeTables(snapshot, delta));
  return delta;
}

function settled(): ZoneChange {
  const steps = services.settle();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

function compileNext(change: ZoneChange | "all") {
  const compiled = drain(compiler.compile(source, change, { serial: 1, history }));
  history = compiled.reverse;
  return compiled;
}

function timed<Result>(run: () => Result): [milliseconds: number, result: Result] {
  const started = performance.now();
  const result = run();
  return [performance.now() - started, result];
}
