import { describe, expect, it } from "vitest";
import { COLLECTION_PLANS } from "../../../src/snapshot/lines/entry-plan.ts";
import { hasFewMembers, MEMBERS_A_LINE, splitPatch } from "../../../src/snapshot/lines/split-patch.ts";

const { member: EXPORT } = COLLECTION_PLANS.exports;
const { member: IMPORT } = COLLECTION_PLANS.imports;
const { member: POD } = COLLECTION_PLANS.pods;

const table = (count: number, value: (index: number) => unknown = () => "x") =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, value(index)]));
const members = (count: number) => ({
  g: { ports: [], members: table(count, () => ({ address: "10.0.0.1" })) },
});

describe("the members of a patch", () => {
  it.each([
    ["1,000 labels", { exportedLabels: table(1000) }, true],
    ["1,001 labels", { exportedLabels: table(1001) }, false],
    ["999 endpoints in one group", { endpoints: members(999) }, true],
    ["1,000 endpoints in one group", { endpoints: members(1000) }, false],
    ["500 labels and 500 annotations", { exportedLabels: table(500), exportedAnnotations: table(500) }, true],
    [
      "501 labels and 500 annotations",
      { exportedLabels: table(501), exportedAnnotations: table(500) },
      false,
    ],
    ["more fields that are no table", { ports: new Array(2000).fill({}), unknown: table(2000) }, true],
    ["a table that is null", { exportedLabels: null }, true],
  ])("are few or many: %s", (_, patch, expected) => {
    expect(hasFewMembers(EXPORT, patch)).toBe(expected);
  });

  it("are none in an entry without tables", () => {
    expect(hasFewMembers(POD, table(2000))).toBe(true);
  });
});

describe("the pieces of a patch", () => {
  const HEAD = { exportedAt: "2024-01-01T00:00:00Z", headless: true, ports: [{ port: 1 }] };

  it("are one where there is little in it", () => {
    for (const patch of [
      HEAD,
      {},
      { endpoints: {} },
      { ...HEAD, endpoints: members(10) },
      { exportedLabels: { a: null } },
    ])
      expect([...splitPatch(EXPORT, patch)]).toEqual(Object.keys(patch).length === 0 ? [] : [patch]);
  });

  it.each([
    ["labels", { ...HEAD, exportedLabels: table(2500) }],
    ["endpoints", { ...HEAD, endpoints: members(2500) }],
    ["groups without endpoints", { ...HEAD, endpoints: table(2500, () => ({ ports: [], members: {} })) }],
    ["groups that are removed", { endpoints: table(2500, () => null) }],
    ["both", { exportedLabels: table(700), endpoints: members(700), ...HEAD }],
    ["long annotations", { ...HEAD, exportedAnnotations: table(6, () => "x".repeat(40_000)) }],
    [
      "many ports",
      {
        ...HEAD,
        endpoints: table(30, () => ({
          ports: new Array(200).fill({ name: "", protocol: "TCP", port: 1 }),
          members: {},
        })),
      },
    ],
  ])("have all of it, each once and in its order: %s", (_, patch) => {
    const pieces = [...splitPatch(EXPORT, patch)];
    expect(pieces.length).toBeGreaterThan(1);
    let merged: unknown = {};
    for (const piece of pieces) merged = mergeAll(merged, piece);
    expect(merged).toEqual(patch);
    for (const piece of pieces) {
      expect(namesIn(piece)).toBeLessThanOrEqual(MEMBERS_A_LINE);
      // A piece ends with the value that makes it too long.
      expect(JSON.stringify(piece).length).toBeLessThan(64 * 1024 + 40_100);
      expect(valuesIn(piece)).toBeLessThanOrEqual(7000 + 10);
    }
    const names = sum(pieces.map(namesIn));
    const own = namesIn(patch);
    // Those on the way to a member come again with each piece.
    expect(names).toBeGreaterThanOrEqual(own);
    expect(names).toBeLessThanOrEqual(own + 4 * pieces.length);
  });

  it("begin with every field that is not a table, and with empty tables, so that an entry is valid from the first on", () => {
    const [first] = splitPatch(EXPORT, { exportedLabels: table(1500), endpoints: members(1500), ...HEAD });
    expect(first).toMatchObject({ ...HEAD, endpoints: {} });
    expect(Object.keys(first!)).toEqual(["exportedLabels", "endpoints", ...Object.keys(HEAD)]);
  });

  it("name each group with its ports before its endpoints, and each cluster before its groups", () => {
    const patch = { ips: [], ports: [], endpoints: { east: members(1500), west: members(10), north: {} } };
    const pieces = [...splitPatch(IMPORT, patch)];
    expect(pieces).toHaveLength(2);
    expect(pieces[0]).toMatchObject({ ips: [], ports: [], endpoints: { east: { g: { ports: [] } } } });
    expect(pieces[1]).toMatchObject({ endpoints: { west: members(10), north: {} } });
    let merged: unknown = {};
    for (const piece of pieces) merged = mergeAll(merged, piece);
    expect(merged).toEqual(patch);
  });

  it("are as full as they may be", () => {
    const pieces = [...splitPatch(EXPORT, { exportedLabels: table(4000) })];
    // Each name stands below `exportedLabels`, and 4 are left for a way to a member.
    expect(pieces.map(namesIn)).toEqual([996, 996, 996, 996, 21]);
  });
});

/** A merge patch as it adds up with others, so that null stays. */
function mergeAll(one: unknown, other: unknown): unknown {
  if (typeof other !== "object" || other === null || Array.isArray(other)) return other;
  const merged: Record<string, unknown> = { ...(one as Record<string, unknown> | undefined) };
  for (const [name, value] of Object.entries(other)) merged[name] = mergeAll(merged[name], value);
  return merged;
}

/** Names of members that a piece has at all levels, but for those in values that are validated whole. */
function namesIn(piece: object): number {
  let count = 0;
  for (const [name, value] of Object.entries(piece)) {
    count++;
    const isWhole = name === "ports" || Array.isArray(value) || typeof value !== "object" || value === null;
    if (!isWhole && !("address" in value)) count += namesIn(value);
  }
  return count;
}

function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return 1 + sum(Object.values(value).map(valuesIn));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
