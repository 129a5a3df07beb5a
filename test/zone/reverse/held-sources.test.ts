import fc from "fast-check";
import { expect, test } from "vitest";
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

test("a held source says what the source says that it was made of", () => {
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
