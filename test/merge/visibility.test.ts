import { describe, expect, it } from "vitest";
import {
  checkVisibility,
  EVERYTHING,
  type Visibility,
  visibilityKey,
} from "../../src/merge/visibility/visibility.ts";

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
      { addressRanges: [] },
      { targets: [] },
      { targets: ["a"] },
      { addressRanges: ["10.0.0.0/8"], targets: ["a"] },
      { clusters: ["a,b"] },
      { clusters: ["a", "b"] },
    ];
    expect(new Set(scopes.map(visibilityKey)).size).toBe(scopes.length);
    expect(visibilityKey(EVERYTHING)).toBe("");
  });
});

it.each<[string, Visibility, Visibility]>([
  ["ranges", { addressRanges: ["10.0.0.0/8"] }, { addressRanges: ["11.0.0.0/8"] }],
  ["lengths of ranges", { addressRanges: ["10.0.0.0/8"] }, { addressRanges: ["10.0.0.0/9"] }],
  ["domains", { targets: ["a.example"] }, { targets: ["b.example"] }],
])("the key of a scope distinguishes %s", (_, one, other) => {
  expect(visibilityKey(one)).not.toBe(visibilityKey(other));
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
