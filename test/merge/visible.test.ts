import { describe, expect, it } from "vitest";
import { checkVisibility, EVERYTHING, type Visibility, visibilityKey } from "../../src/merge/visibility.ts";
import { createEntryFilter } from "../../src/merge/visible.ts";
import { exported } from "./fixtures.ts";

describe("the key of a scope", () => {
  it.each<[string, Visibility, Visibility]>([
    ["order", { namespaces: ["b", "a"] }, { namespaces: ["a", "b"] }],
    ["repetition", { clusters: ["a", "a"] }, { clusters: ["a"] }],
    ["a part that is not set", { clusters: ["a"], view: undefined }, { clusters: ["a"] }],
    ["the order of parts", { view: "a", clusters: ["a"] }, { clusters: ["a"], view: "a" }],
    [
      "how an address is written",
      { addressRanges: ["FD00:0::/8", "10.0.0.1"] },
      { addressRanges: ["10.0.0.1/32", "fd00::/8"] },
    ],
    ["how a domain is written", { targets: ["B.example.", "a"] }, { targets: ["a", "b.example"] }],
  ])("does not distinguish %s", (_, one, other) => {
    expect(visibilityKey(one)).toBe(visibilityKey(other));
  });

  it("distinguishes scopes in which something else exists", () => {
    const scopes: Visibility[] = [
      EVERYTHING,
      { view: "a" },
      { clusters: ["a"] },
      { clusters: [] },
      { namespaces: ["a"] },
      { namespaces: [] },
      { addressSources: ["Endpoint"] },
      { addressSources: [] },
      { addressRanges: ["10.0.0.0/8"] },
      { addressRanges: ["11.0.0.0/8"] },
      { addressRanges: ["10.0.0.0/9"] },
      { addressRanges: [] },
      { targets: [] },
      { targets: ["a"] },
      { targets: ["b"] },
      { addressRanges: ["10.0.0.0/8"], targets: ["a"] },
      { clusters: ["a,b"] },
      { clusters: ["a", "b"] },
    ];
    expect(new Set(scopes.map(visibilityKey)).size).toBe(scopes.length);
    expect(visibilityKey(EVERYTHING)).toBe("");
  });
});

describe("rejects a scope", () => {
  it.each<[string, Visibility, RegExp]>([
    [
      "whose view is not among its clusters",
      { view: "a", clusters: ["b"] },
      /view "a" is not among its clusters/,
    ],
    ["with a range that is none", { addressRanges: ["10.0.0.1/8"] }, /"10.0.0.1\/8" is no range/],
  ])("%s", (_, scope, message) => {
    expect(() => checkVisibility(scope)).toThrow(RangeError);
    expect(() => checkVisibility(scope)).toThrow(message);
  });

  it("in no other case", () => {
    checkVisibility({ view: "a", clusters: ["a"], addressRanges: ["::/0", "10.0.0.1"], namespaces: [] });
  });
});

describe("in a scope", () => {
  const LB = exported({ loadBalancer: [{ hostname: "lb.example" }] });
  const zone = { name: "cluster.local", pods: "insecure" } as const;
  const finding = { reason: "Odd", kind: "Node", name: "node-1", message: "about the cluster" };

  it("without load balancers none of their host names exists, be it a possible target", () => {
    const filter = createEntryFilter({ addressSources: ["ClusterSetIP"], targets: ["example"] })!;
    expect(filter.exported("shop/web", LB)!.loadBalancer).toEqual([]);
  });

  it("of address ranges alone no CNAME target exists", () => {
    const filter = createEntryFilter({ addressRanges: ["0.0.0.0/0", "::/0"] })!;
    expect(filter.exported("shop/web", LB)!.loadBalancer).toEqual([]);
  });

  it("without CNAME targets the names of pods stay, which need none", () => {
    expect(createEntryFilter({ targets: [] })!.zone(zone)).toEqual(zone);
  });

  it("of namespaces no finding of a whole cluster exists", () => {
    const filter = createEntryFilter({ namespaces: ["shop"] })!;
    expect(filter.hasFinding(finding)).toBe(false);
    expect(filter.hasFinding({ ...finding, namespace: "shop" })).toBe(true);
  });
});
