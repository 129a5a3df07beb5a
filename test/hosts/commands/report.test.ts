import { expect, it } from "vitest";
import { essenceOf } from "../../../src/hosts/commands/report.ts";
import { statusLines } from "../../../src/hosts/commands/status.ts";

const record = (data: string, TTL = 5) => ({ name: "web.", TTL, data });

it.each([
  ["a TTL", { Answer: [record("10.0.0.1", 5)] }, { Answer: [record("10.0.0.1", 4)] }, true],
  [
    "the order of records",
    [record("10.0.0.1"), record("10.0.0.2")],
    [record("10.0.0.2"), record("10.0.0.1")],
    true,
  ],
  ["a lease", { leases: [{ expiresInSeconds: 3 }] }, { leases: [{ expiresInSeconds: 60 }] }, true],
  ["the age in a sentence", ["a change waits for 12 s"], ["a change waits for 2 min"], true],
  ["another address", { Answer: [record("10.0.0.1")] }, { Answer: [record("10.0.0.2")] }, false],
  ["one record more", [record("10.0.0.1")], [record("10.0.0.1"), record("10.0.0.2")], false],
  ["a cluster that is no longer live", [{ live: true }], [{ live: false }], false],
])("--watch compares %s", (_, one, other, isSame) => {
  expect(essenceOf(one) === essenceOf(other)).toBe(isSame);
});

it("status -o wide adds the position in a shared log, and whose values a conflict sets aside", () => {
  const conflict = {
    namespace: "shop",
    name: "web",
    reason: "TypeConflict",
    property: "type",
    winner: "east",
    value: "Headless",
    disagree: ["north", "west"],
    total: 3,
    message: "Conflicting type.",
  };
  const report = { ready: true, position: 7, stale: [], services: 1, clusters: [], findings: null };
  const lines = statusLines({ ...report, conflicts: { total: 1, entries: [conflict] } }, true);
  expect(lines[0]).toBe("ready: 0 of 0 clusters live, 1 service; position 7");
  expect(lines).toContain("  shop/web: Conflicting type. (set aside: north, west)");
});
