import { expect, it } from "vitest";
import { drain } from "../../../../src/snapshot/drain.ts";
import type { ClusterSnapshot } from "../../../../src/snapshot/schema.ts";
import { ZoneCompiler } from "../../../../src/zone/compiler/zone-compiler.ts";
import { NO_HISTORY } from "../../../../src/zone/reverse/reverse-history.ts";
import type { ZoneChange } from "../../../../src/zone/zone-source.ts";
import { local } from "../../../conformance/cases/cluster-local.ts";
import { endpoints, exported, snapshot } from "../../../merge/fixtures.ts";
import { changeBetween, source } from "../../compile-worlds.ts";
import { RecordedNotes } from "./recorded-notes.ts";

/** Five keys, each of which may leave the last of the 17 leaves on a way down, which become one. */
const MOST_IN_STEP = 5 * 17;
const NUMBERS = Array.from({ length: 120 }, (_, number) => number);
const keys = NUMBERS.map((number) => `shop/s${number}`);
/** @param net the second byte of all addresses */
const exportsIn = (net: number) =>
  Object.fromEntries(
    NUMBERS.map((number) => [
      `shop/s${number}`,
      exported({ headless: true, endpoints: endpoints({ address: `10.${net}.${number}.1` }) }),
    ]),
  );
const zoned: Partial<ClusterSnapshot> = {
  clusterZone: { name: "east.test", pods: "disabled" },
  services: Object.fromEntries(NUMBERS.map((number) => [`shop/own-${number}`, local()])),
};
const world = (parts: Partial<ClusterSnapshot>) =>
  source([snapshot("east", parts), snapshot("west", { exports: exportsIn(9) })]);

it.each<[string, Partial<ClusterSnapshot>, Partial<ClusterSnapshot>]>([
  ["services that change", { exports: exportsIn(1) }, { exports: exportsIn(2) }],
  ["services that leave", { exports: exportsIn(1) }, {}],
  ["addresses that become contested", {}, { exports: exportsIn(9) }],
  ["a zone that is served no more", { ...zoned, exports: exportsIn(1) }, { exports: exportsIn(1) }],
  [
    "a namespace of a cluster with a zone",
    { ...zoned, exports: exportsIn(1) },
    { ...zoned, exports: exportsIn(1), namespaces: { shop: {}, other: {} } },
  ],
])("the leaves of %s are read in steps of few", (_, before, after) => {
  const notes = new RecordedNotes();
  let reads = 0;
  const get = notes.get.bind(notes);
  notes.get = (name) => {
    reads++;
    return get(name);
  };
  const compiler = new ZoneCompiler({}, { names: 6, reverse: 2, held: 0 }, notes.hold, notes);
  const [one, other] = [world(before), world(after)];
  const { reverse } = drain(compiler.compile(one, "all", { serial: 1, history: NO_HISTORY }));
  const change: ZoneChange = { ...changeBetween(one, other), services: keys };
  let [most, all] = [0, 0];
  reads = 0;
  const compiling = compiler.compile(other, change, { serial: 1, history: reverse });
  for (let step = compiling.next(); ; step = compiling.next()) {
    [most, all, reads] = [Math.max(most, reads), all + reads, 0];
    if (step.done !== true) continue;
    const scratch = new ZoneCompiler({}, { names: 6, reverse: 2 });
    const asked = { serial: 1, history: reverse };
    expect(step.value.generation.rootHash).toBe(
      drain(scratch.compile(other, "all", asked)).generation.rootHash,
    );
    break;
  }
  expect(all).toBeGreaterThan(2 * MOST_IN_STEP);
  expect(most).toBeLessThanOrEqual(MOST_IN_STEP);
});
