import { expect, it } from "vitest";
import { essenceOf, printReport } from "../../../src/hosts/commands/report.ts";
import { statusLines } from "../../../src/hosts/commands/status.ts";
import { terminalLine } from "../../../src/hosts/node/process.ts";

const record = (data: string, TTL = 5) => ({ name: "web.", TTL, data });

const TWO = [record("10.0.0.1"), record("10.0.0.2")];

it.each([
  ["a TTL", { Answer: [record("10.0.0.1", 5)] }, { Answer: [record("10.0.0.1", 4)] }, true],
  ["the order of records", TWO, TWO.toReversed(), true],
  ["a lease", { leases: [{ expiresInSeconds: 3 }] }, { leases: [{ expiresInSeconds: 60 }] }, true],
  ["the age in a sentence", ["a change waits for 12 s"], ["a change waits for 2 min"], true],
  ["the position of a shared log", { position: 1 }, { position: 2 }, true],
  ["another address", { Answer: [record("10.0.0.1")] }, { Answer: [record("10.0.0.2")] }, false],
  ["one record more", TWO.slice(1), TWO, false],
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

it("-o yaml is the same for readers of YAML 1.1: words and numbers of theirs are quoted", () => {
  const out: string[] = [];
  const value = { no: ["on", "y", "1_000", "12:30:45", "0b1", "east"] };
  printReport({ value, lines: [] }, { output: "yaml" }, { out: (line) => out.push(line), err: () => {} });
  expect(out.join()).toBe(
    ['"no":', ...['"on"', '"y"', '"1_000"', '"12:30:45"', '"0b1"', "east"].map((one) => `  - ${one}`)].join(
      "\n",
    ),
  );
});

it("a cluster's message cannot move the cursor of a terminal", () => {
  const finding = { clusterId: "east", kind: "Service", namespace: "shop", name: "web", reason: "X" };
  const entries = [{ ...finding, message: "a\u001b[2J\nready: 1 of 1" }];
  const report = { ready: true, stale: [], services: 1, clusters: [], conflicts: null };
  const lines = statusLines({ ...report, findings: { total: 1, entries } });
  expect(lines).toContain("  east: Service shop/web: X: a\\u{1b}[2J ready: 1 of 1");
});

const LOGGED = { level: "warn", time: "2026-11-27T10:20:30.000Z", command: "serve", msg: "said" };
const line = (fields: object) => JSON.stringify({ ...LOGGED, ...fields });
const shownAt = (fields: object) => terminalLine(line(fields), false).replace(/^\d\d:\d\d:\d\d /, "");

it.each([
  [{}, "WARN  said\n"],
  [{ event: "listening", url: "https://[::1]:8443" }, "WARN  said  event=listening url=https://[::1]:8443\n"],
  [{ level: "error", err: { message: "it broke", stack: "at …" } }, 'ERROR said  err="it broke"\n'],
  [{ count: 3, list: ["a b"], none: null }, 'WARN  said  count=3 list=["a b"] none=null\n'],
  [{ msg: "two\n  lines\u001b[31m" }, "WARN  two lines\\u{1b}[31m\n"],
  [{ name: "\u202Eevil\u0007" }, 'WARN  said  name="\\u{202e}evil\\u0007"\n'],
  [{ level: "other" }, "OTHER said\n"],
])("at a terminal %j is %j", (fields, text) => {
  expect(shownAt(fields)).toBe(text);
});

it("a line of the log is coloured by its level, unless the terminal has no colours", () => {
  expect(terminalLine(line({}), true)).toContain("\u001b[33mWARN ");
  expect(terminalLine(line({}), false)).not.toContain("\u001b");
});
