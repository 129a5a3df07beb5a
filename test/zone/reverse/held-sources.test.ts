import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HeldSources } from "../../../src/zone/reverse/held-sources.ts";
import { areSameSources, type CandidateSource } from "../../../src/zone/reverse/reverse-candidate.ts";

const labels = fc.constantFrom("web", "shop", "svc", "east", "west");
const lists = fc.array(labels, { maxLength: 3 });

const sources: fc.Arbitrary<CandidateSource> = fc
  .record({
    namespace: labels,
    name: labels,
    tree: fc.constantFrom("clusterset", "local east"),
    view: fc.option(labels, { nil: undefined }),
    rank: fc.constantFrom(0 as const, 1 as const, 2 as const),
    since: fc.constantFrom(0, 1.7e12, Number.POSITIVE_INFINITY),
    ttl: fc.nat(60),
    clusters: lists,
    claimants: lists,
    prefix: lists,
    form: fc.constantFrom("name", "namespace", "any"),
  })
  .map(({ prefix, form, ...source }) => {
    const { name, namespace } = source;
    const own = { name: [name, namespace, "svc"], namespace: [namespace, "svc"], any: [] }[form]!;
    return { ...source, above: [...prefix, ...own] } as CandidateSource;
  });

const source = (changed: Partial<CandidateSource> = {}): CandidateSource => ({
  ...{ namespace: "shop", name: "web", tree: "clusterset", view: undefined, rank: 2, since: 5, ttl: 9 },
  ...{ clusters: ["east"], above: ["web", "shop", "svc"], claimants: ["east"], ...changed },
});
const db = { name: "db", above: ["db", "shop", "svc"] };
const ofNamespace = { above: ["shop", "svc"] };

describe("sources that are held", () => {
  it("share what those of one cluster have in common, whatever their services", () => {
    const held = new HeldSources();
    const first = held.of(source());
    for (const changed of [{}, db, { since: 6 }, { namespace: "ops", above: ["web", "ops", "svc"] }])
      expect(held.of(source({ ...changed, clusters: ["east"] })).clusters).toBe(first.clusters);
    const headless = held.of(source(ofNamespace));
    expect(held.of(source({ ...db, ...ofNamespace })).clusters).toBe(headless.clusters);
    expect(headless.clusters).not.toBe(first.clusters);
  });

  it.each([
    { tree: "local:east" },
    { view: "east" },
    { view: "west" },
    { rank: 1 as const },
    { ttl: 8 },
    { clusters: ["west"] },
    { claimants: ["west"] },
    { above: ["pod", "web", "shop", "svc"] },
  ])("do not share it with others: %j", (changed) => {
    const held = new HeldSources();
    const others = [source(), source({ view: "east" })].map((other) => held.of(other));
    const own = held.of(source({ ...changed, clusters: [...(changed.clusters ?? ["east"])] }));
    expect(areSameSources(own, source(changed))).toBe(true);
    expect(others.filter(({ clusters }) => clusters === own.clusters)).toHaveLength(
      changed.view === "east" ? 1 : 0,
    );
  });

  it("are as they are given where their names have another form", () => {
    const held = new HeldSources();
    for (const above of [["web", "shop", "pod"], ["web", "ops", "svc"], ["svc"], []]) {
      const given = source({ above });
      expect(held.of(given)).toBe(given);
    }
  });

  it("share with the last 8,192 kinds at least, and forget older ones", () => {
    const held = new HeldSources();
    const first = held.of(source());
    const again = () => held.of(source({ clusters: ["east"] })).clusters === first.clusters;
    for (let ttl = 10; ttl < 10 + 8191; ttl++) held.of(source({ ttl }));
    expect(again()).toBe(true);
    held.of(source({ ttl: 1 }));
    expect(again()).toBe(false);
  });

  it("say what the source says that they were made of", () => {
    fc.assert(
      fc.property(fc.array(sources, { maxLength: 20 }), (all) => {
        const held = new HeldSources();
        for (const [source, own] of all.map((each) => [each, held.of(each)] as const)) {
          expect(areSameSources(own, source)).toBe(true);
          const { view, rank, since, ttl, tree } = own;
          expect({ view, rank, since, ttl, tree }).toEqual({
            ...{ view: source.view, rank: source.rank, since: source.since },
            ...{ ttl: source.ttl, tree: source.tree },
          });
          expect(own.above).toEqual(source.above);
        }
      }),
    );
  });
});
