import { describe, expect, it } from "vitest";
import { checkScope, EVERYTHING, type Scope, scopeKey } from "../../src/merge/scope.ts";

describe("the key of a scope", () => {
  it.each<[string, Scope, Scope]>([
    ["order", { namespaces: ["b", "a"] }, { namespaces: ["a", "b"] }],
    ["repetition", { clusters: ["a", "a"] }, { clusters: ["a"] }],
    ["a part that is not set", { clusters: ["a"], view: undefined }, { clusters: ["a"] }],
    ["the order of parts", { view: "a", clusters: ["a"] }, { clusters: ["a"], view: "a" }],
    [
      "how an address is written",
      { addressRanges: ["FD00:0::/8", "10.0.0.1"] },
      { addressRanges: ["10.0.0.1/32", "fd00::/8"] },
    ],
  ])("does not tell %s", (_, one, other) => {
    expect(scopeKey(one)).toBe(scopeKey(other));
  });

  it("tells scopes apart in which something else exists", () => {
    const scopes: Scope[] = [
      EVERYTHING,
      { view: "a" },
      { clusters: ["a"] },
      { clusters: [] },
      { namespaces: ["a"] },
      { namespaces: [] },
      { addressSources: ["Endpoint"] },
      { addressSources: [] },
      { addressRanges: ["10.0.0.0/8"] },
      { addressRanges: [] },
      { clusters: ["a,b"] },
      { clusters: ["a", "b"] },
    ];
    expect(new Set(scopes.map(scopeKey)).size).toBe(scopes.length);
    expect(scopeKey(EVERYTHING)).toBe("");
  });
});

describe("a scope is refused", () => {
  it.each<[string, Scope, RegExp]>([
    [
      "whose view is not among its clusters",
      { view: "a", clusters: ["b"] },
      /view "a" is not among its clusters/,
    ],
    ["with a range that is none", { addressRanges: ["10.0.0.1/8"] }, /"10.0.0.1\/8" is no range/],
  ])("%s", (_, scope, message) => {
    expect(() => checkScope(scope)).toThrow(RangeError);
    expect(() => checkScope(scope)).toThrow(message);
  });

  it("in no other case", () => {
    checkScope({ view: "a", clusters: ["a"], addressRanges: ["::/0", "10.0.0.1"], namespaces: [] });
  });
});
