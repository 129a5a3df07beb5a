import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../src/merge/merge.ts";
import { compileGeneration } from "../../src/zone/compile.ts";
import { listServices, type ServiceSearch } from "../../src/zone/services.ts";
import { twoClusters } from "../resolve/world.ts";
import { arbitraryWorld } from "../worlds/arbitrary.ts";

const ALL: ServiceSearch = { words: [], view: undefined, offset: 0, most: 1_000_000 };
const compile = (...args: Parameters<typeof mergeClusterset>) =>
  compileGeneration(mergeClusterset(...args)).generation;

describe("the services of a generation", () => {
  it("are listed page by page, each once, in a fixed order", () => {
    fc.assert(
      fc.property(arbitraryWorld, fc.integer({ min: 1, max: 5 }), (snapshots, most) => {
        const generation = compile(snapshots);
        const { total, services } = listServices(generation, ALL);
        const paged = [];
        for (let offset = 0; offset < total; offset += most)
          paged.push(...listServices(generation, { ...ALL, offset, most }).services);
        expect(paged).toEqual(services);
        const keys = services.map(({ namespace, name }) => `${namespace}/${name}`);
        expect(new Set(keys).size).toBe(keys.length);
      }),
    );
  });

  it("are found by words in any case, and all matches are counted", () => {
    const generation = compile(twoClusters());
    const names = (words: string[], most = 100) => {
      const { total, services } = listServices(generation, { ...ALL, words, most });
      return { total, names: services.map(({ name, namespace }) => `${name}.${namespace}`) };
    };
    const everything = names([]);
    expect(everything.total).toBeGreaterThan(2);
    const [name, namespace] = everything.names[0]!.split(".") as [string, string];
    expect(names([name.toUpperCase(), namespace]).names).toContain(`${name}.${namespace}`);
    expect(names(["no-such-word"])).toEqual({ total: 0, names: [] });
    expect(names([], 1)).toEqual({ total: everything.total, names: [everything.names[0]] });
  });
});
