import { expect, it } from "vitest";
import { Reader } from "../../src/database/reader.ts";
import type { Steps } from "../../src/dns/steps.ts";
import { KeyedUnits } from "../../src/gateway/keyed-scope.ts";
import type { CompiledUnit } from "../../src/names/compile-key.ts";
import { KeyWorld } from "../../src/names/key-world.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import type { PlannedTree } from "../../src/zone/zone-context.ts";
import { endpoints, exported, snapshot } from "../merge/fixtures.ts";
import { entriesOf } from "../names/entries-of.ts";
import { encodeQuery, leasesUntil } from "../resolve/ask.ts";
import { memoryDatabase } from "./open-keyed.ts";

const NAMES = Array.from({ length: 9000 }, (_, index) => `service-${index}`);
const HOT = "service-0";

class CountingWorld extends KeyWorld {
  readonly compiled: string[] = [];

  override compile(planned: PlannedTree, key: string): Steps<CompiledUnit> {
    this.compiled.push(key);
    return super.compile(planned, key);
  }
}

function worldWith(cacheBytes: number) {
  const service = exported({ endpoints: endpoints({ address: "10.0.0.1" }) });
  const east = snapshot("east", {
    exports: Object.fromEntries(NAMES.map((name) => [`shop/${name}`, service])),
  });
  const units = new KeyedUnits(new Reader(memoryDatabase(), () => {}), cacheBytes);
  const world = new CountingWorld(entriesOf([east]), {}, {}, units);
  const context = { world, leases: leasesUntil(() => undefined), now: 0, rotation: 0, view: undefined };
  const ask = (name: string) =>
    resolve(encodeQuery(`${name}.shop.svc.clusterset.local`, "A"), { ...context, outside: "refuse" })!
      .outcome;
  return { world, units, ask };
}

it("keeps a service that queries need, however many others push each other out", () => {
  const { world, ask } = worldWith(100_000);
  for (const name of NAMES) {
    expect(ask(name)).toBe("answer");
    expect(ask(HOT)).toBe("answer");
  }
  // Which services are used is known from the first one on that had to make room.
  expect(world.compiled.filter((key) => key === `shop/${HOT}`)).toHaveLength(2);
  expect(world.compiled).toHaveLength(NAMES.length + 1);
});

it("compiles a service that is larger than the cache for each query", () => {
  const { world, ask } = worldWith(100);
  for (let round = 0; round < 3; round++) expect(ask(HOT)).toBe("answer");
  expect(world.compiled).toHaveLength(3);
});

it("keeps compiled keys whatever a cluster changes that has no part in them", () => {
  const { world, units, ask } = worldWith(1e9);
  for (const name of NAMES) ask(name);
  for (let change = 0; change < 2000; change++) units.changed("west", ["#1", "#2"]);
  units.changed(
    "west",
    Array.from({ length: 1025 }, (_, index) => `space-${index}/`),
  );
  for (const name of NAMES) expect(ask(name)).toBe("answer");
  expect(world.compiled).toHaveLength(NAMES.length);
});

const MANY = Array.from({ length: 300 }, (_, at) => `n${at}/`);

it.each<[string, ...string[][]]>([
  ["its own namespace", ["shop/"]],
  ["more namespaces than are remembered", MANY],
  ["a namespace, and then many others", ["shop/"], MANY],
  ["what every key depends on", [""]],
])("compiles a key again whose cluster changed %s", (_, ...changes) => {
  const { world, units, ask } = worldWith(1e9);
  ask(HOT);
  for (const keys of changes) units.changed("east", keys);
  expect(ask(HOT)).toBe("answer");
  expect(world.compiled).toHaveLength(2);
});
