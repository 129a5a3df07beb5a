import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { sourceOf } from "../../../src/zone/compile.ts";
import { compileKey } from "../../../src/zone/compiler/key-compiler.ts";
import { createContext } from "../../../src/zone/compiler/zone-context.ts";
import { DEFAULT_ZONE_OPTIONS, type ZoneOptions } from "../../../src/zone/options.ts";
import { ENDPOINT_UNITS, Pace } from "../../../src/zone/pace.ts";
import { HeldSources } from "../../../src/zone/reverse/held-sources.ts";
import { local } from "../../conformance/cases/cluster-local.ts";
import { endpoints, exported, imported, port, snapshot } from "../../merge/fixtures.ts";

const KEY = "shop/web";

/** The units of all loops that compile a key, and how often they yield although the pace is never over. */
function workOf(world: readonly ClusterSnapshot[], options: Partial<ZoneOptions>, isLocal = false) {
  const source = sourceOf(mergeClusterset(world));
  let units = 0;
  class Counted extends Pace {
    override isOver(more: number): boolean {
      units += more;
      return false;
    }
  }
  const from = {
    context: createContext(source, { ...DEFAULT_ZONE_OPTIONS, ...options }),
    source,
    clusters: new Map(source.clusters.map((cluster) => [cluster.clusterId, cluster])),
    sources: new HeldSources(),
    pace: new Counted(),
  };
  const locals = isLocal ? [{ clusterId: "east", kind: "service" as const, key: KEY }] : [];
  const steps = compileKey(from, { key: KEY, hash: 0, weight: 1, locals, compiled: undefined });
  let yields = 0;
  while (!steps.next().done) yields++;
  return { units, yields };
}

const addressesOf = (count: number) =>
  Array.from({ length: count }, (_, index) => `10.1.${index >> 8}.${index & 255}`);
const members = (count: number) => endpoints(...addressesOf(count).map((address) => ({ address })));
const federations = [{ name: "fed", zone: "federation" }];

describe("a step is short whatever it compiles: the work for each of many is counted in every loop over them", () => {
  it.each<[string, (count: number) => Partial<ClusterSnapshot>, Partial<ZoneOptions>, boolean, number]>([
    [
      "an address of a clusterset IP: its records",
      (count) => ({ imports: { [KEY]: imported({ ips: addressesOf(count) }) } }),
      {},
      false,
      1,
    ],
    [
      "a port: its SRV records",
      (count) => ({
        exports: {
          [KEY]: exported({
            ports: addressesOf(count).map((_, index) => port(`p${index}`, index + 1)),
            endpoints: endpoints({ address: "10.1.0.1" }),
          }),
        },
      }),
      {},
      false,
      1.25,
    ],
    [
      "an endpoint: its label, its service's address, its port, its name, its own records",
      (count) => ({ exports: { [KEY]: exported({ headless: true, endpoints: members(count) }) } }),
      {},
      false,
      4.75,
    ],
    [
      "an endpoint in a federation: an offer, its order, its name, its region",
      (count) => ({
        topology: { region: "eu", zones: [] },
        exports: { [KEY]: exported({ headless: true, endpoints: members(count) }) },
      }),
      { federations },
      false,
      13.75,
    ],
    [
      "an endpoint in a cluster's own zone",
      (count) => ({
        clusterZone: { name: "cluster.local", pods: "disabled" as const },
        services: { [KEY]: local({ headless: true, endpoints: members(count) }) },
      }),
      {},
      true,
      4.75,
    ],
  ])("%s", (_, parts, options, isLocal, loops) => {
    const few = workOf([snapshot("east", parts(100))], options, isLocal);
    const many = workOf([snapshot("east", parts(300))], options, isLocal);
    const perEach = (many.units - few.units) / 200 / ENDPOINT_UNITS;
    // To a quarter of a loop: copying names costs some units, too.
    expect([Math.round(perEach * 4) / 4, few.yields, many.yields]).toEqual([loops, 0, 0]);
  });
});
