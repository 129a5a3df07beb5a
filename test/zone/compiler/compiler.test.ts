import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolve } from "../../../src/resolve/resolve.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { ZoneCompiler } from "../../../src/zone/compiler/zone-compiler.ts";
import type { Generation } from "../../../src/zone/generation/generation.ts";
import { listRecords } from "../../../src/zone/listing.ts";
import type { ZoneOptions } from "../../../src/zone/options.ts";
import { NO_HISTORY } from "../../../src/zone/reverse/reverse-history.ts";
import { Segment } from "../../../src/zone/segment/segment.ts";
import type { ZoneSource } from "../../../src/zone/zone-source.ts";
import { encodeQuery, leasesUntil } from "../../resolve/ask.ts";
import { arbitraryWorld } from "../../worlds/arbitrary.ts";
import {
  changeBetween,
  compileEach,
  expectSame,
  hashesOf,
  OPTIONS,
  SMALL,
  source,
} from "../compile-worlds.ts";

/** Segments of one key up to all: which keys share one, changes with what they weigh. */
const arbitraryWeights = fc.constantFrom(6, 20, 60, 1e9).map((names) => ({ names, reverse: 2 }));
const arbitraryOptions = fc.constantFrom<Partial<ZoneOptions>>(OPTIONS, { hosts: OPTIONS.hosts! }, {});

/** Worlds of the same clusters, one after the other; some clusters come, change and leave. */
const arbitraryWorlds = fc.array(arbitraryWorld, { minLength: 2, maxLength: 4 });

/** The source with everything in it the other way round. */
function reversed(from: ZoneSource): ZoneSource {
  const keys = [...from.serviceKeys()].reverse();
  return {
    ...from,
    clusters: from.clusters.map((cluster) => ({
      ...cluster,
      namespaces: new Set([...cluster.namespaces.keys()].reverse()),
      localZone: cluster.localZone && {
        zone: cluster.localZone.zone,
        services: new Map(
          [...cluster.localZone.services.keys()].reverse().map((key) => {
            const service = cluster.localZone!.services.get(key)!;
            const groups = Object.entries(service.endpoints).map(([name, group]) => [
              name,
              { ...group, members: Object.fromEntries(Object.entries(group.members).reverse()) },
            ]);
            return [key, { ...service, endpoints: Object.fromEntries(groups.reverse()) }];
          }),
        ),
        pods: new Set([...cluster.localZone.pods.keys()].reverse()),
      },
    })),
    serviceKeys: () => keys,
  };
}

/** The answers to all records of a generation in all its zones and views. */
function answersOf(generation: Generation): string[] {
  const { frame } = generation;
  const views = [undefined, ...frame.views];
  return views.flatMap((view) =>
    frame.zones.flatMap(({ name: zone, ...own }) => {
      if (frame.treeFor({ name: zone, ...own }, frame.viewOf(view)) < 0) return [];
      return [...listRecords(generation, { zone, view })].map(({ name, type }) => {
        const context = { generation, leases: leasesUntil(() => 1e9), now: 0, rotation: 0, view };
        const answer = resolve(encodeQuery(name, type), { ...context, outside: "refuse" })!;
        return `${view} ${name} ${type} ${Buffer.from(answer.bytes).toString("hex")}`;
      });
    }),
  );
}

describe("a compiler", () => {
  it("compiles changes to the generations that it compiles from scratch: hashes, orders of claims, findings", () => {
    fc.assert(
      fc.property(arbitraryWorlds, arbitraryWeights, arbitraryOptions, (worlds, weights, options) => {
        const sources = worlds.map(source);
        const changed = compileEach(sources, "changes", weights, options);
        const scratch = compileEach(sources, "scratch", weights, options);
        expectSame(changed, scratch);
      }),
      { numRuns: 200 },
    );
  });

  it("compiles segments that loading accepts", () => {
    fc.assert(
      fc.property(arbitraryWorlds, arbitraryWeights, (worlds, weights) => {
        for (const { generation } of compileEach(worlds.map(source), "changes", weights))
          for (const segment of [generation.stems, ...generation.segments()]) {
            const loaded = Segment.load(segment.bytes.slice(), segment.hash);
            expect(loaded.source()).toEqual(segment.source());
          }
      }),
      { numRuns: 60 },
    );
  });

  it("gives equal bytes whatever the order of everything in its source", () => {
    fc.assert(
      fc.property(arbitraryWorlds, (worlds) => {
        const sources = worlds.map(source);
        expect(hashesOf(compileEach(sources.map(reversed), "changes"))).toEqual(
          hashesOf(compileEach(sources, "scratch")),
        );
      }),
      { numRuns: 50 },
    );
  });

  it("gives equal answers whatever the size of segments", () => {
    fc.assert(
      fc.property(arbitraryWorld, (world) => {
        const [small] = compileEach([source(world)], "scratch");
        const [large] = compileEach([source(world)], "scratch", { names: 1e9, reverse: 1e9 });
        expect(answersOf(small!.generation).sort()).toEqual(answersOf(large!.generation).sort());
      }),
      { numRuns: 30 },
    );
  });

  it("compiles everything after a compilation that was given up or failed", () => {
    fc.assert(
      fc.property(arbitraryWorlds, fc.nat(5), fc.boolean(), (worlds, turns, fails) => {
        const [first, second] = worlds.map(source) as [ZoneSource, ZoneSource];
        const compiler = new ZoneCompiler(OPTIONS, SMALL);
        const { reverse: history } = drain(
          compiler.compile(first, "all", { serial: 1, history: NO_HISTORY }),
        );
        const change = changeBetween(first, second);
        let left = turns;
        const broken: ZoneSource = {
          ...second,
          service: (key) => {
            if (fails && left-- <= 0) throw new Error("not now");
            return second.service(key);
          },
        };
        const given = compiler.compile(broken, change, { serial: 1, history });
        try {
          for (let turn = 0; turn < turns; turn++) given.next();
        } catch {}
        const compiled = drain(compiler.compile(second, change, { serial: 1, history }));
        const [, scratch] = compileEach([first, second], "scratch");
        expect(compiled.generation.rootHash).toBe(scratch!.generation.rootHash);
      }),
      { numRuns: 50 },
    );
  });
});
