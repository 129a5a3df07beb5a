import { expect, it } from "vitest";
import { DesiredLine, isLabelValue, isQualifiedName } from "../../../src/snapshot/desired-line.ts";
import { desiredImport, desiredSlice } from "../../worker/control/desired-lines.ts";

const IMPORT = desiredImport();
const SLICE = desiredSlice();
const CONDITION = { type: "Valid", status: "True", reason: "Valid", message: "is exported" };

const importAt = (key: string) => ({ import: key, desired: IMPORT });
const sliceNamed = (slice: string) => ({ service: "shop/web", cluster: "east", slice, desired: SLICE });
const a = (count: number) => "a".repeat(count);

it.each<[string, unknown]>([
  ["the start of changes", { start: "changes", formatVersion: 1 }],
  ["an import with the longest name", importAt(`${a(253)}/${a(253)}`)],
  ["no import", { import: "shop/web", desired: null }],
  ["a slice with the longest name", sliceNamed(a(40))],
  ["no slice", { ...sliceNamed("a-1"), desired: null }],
  ["conditions of an export", { export: "shop/web", conditions: [CONDITION] }],
  ["an export that the gateway does not know", { export: "shop/web", conditions: null }],
  ["leases", { leases: { east: 0, west: 59.5 } }],
  ["a position", { position: "1-1" }],
])("a line of a desired state may be %s", (_, line) => {
  expect(DesiredLine.parse(line)).toEqual(line);
});

it.each<[string, ...unknown[]]>([
  ["another format", { start: "snapshot", formatVersion: 2 }],
  [
    "an import of a name that is none",
    ...["web", "shop/", "shop/web/a", "_shop/web", "/a\nshop/web"].map(importAt),
  ],
  ["an import of a name that is too long", importAt(`${a(253)}/${a(254)}`)],
  ["an import with another member", { import: "shop/web", desired: { ...IMPORT, ips: [] } }],
  ["a line of an import with another member", { ...importAt("shop/web"), conditions: [] }],
  ["a slice of a name that is none", ...["", a(41), "Aa", "a."].map(sliceNamed)],
  [
    "a condition with a time",
    { export: "shop/web", conditions: [{ ...CONDITION, lastTransitionTime: "now" }] },
  ],
  ["of another cluster id", { leases: { "East!": 1 } }, { ...sliceNamed("a-1"), cluster: "East!" }],
  ["nothing", {}],
])("a line of a desired state is not %s", (_, ...lines) => {
  for (const line of lines) expect(DesiredLine.safeParse(line).success, JSON.stringify(line)).toBe(false);
});

// "Labels and Selectors" of the Kubernetes documentation, "Syntax and character set".
it("a label's key is a name of up to 63 characters, after a DNS subdomain of up to 253 and a slash if there is one", () => {
  const valid = [
    "app",
    "a",
    "App_2.x-y",
    a(63),
    "example.org/app",
    "a/a",
    "e-x.example.org/app",
    `${a(253)}/app`,
  ];
  const names = [a(64), "", "-app", "app-", "app.", "gr\u00f6\u00dfe", "example.org/", "example.org/-"];
  const prefixes = [
    "",
    "Example.org",
    "example..org",
    ".example.org",
    "example.org.",
    "-example.org",
    "example-.org",
    "a_b",
    a(254),
  ];
  for (const key of valid) expect(isQualifiedName(key), key).toBe(true);
  for (const key of [...names, "example.org/app/x", ...prefixes.map((prefix) => `${prefix}/app`)])
    expect(isQualifiedName(key), key).toBe(false);
});

it("a label's value is empty, or such a name", () => {
  for (const value of ["", "web", "Web_2.x-y", a(63)]) expect(isLabelValue(value), value).toBe(true);
  for (const value of [a(64), "a/b", "-", " "]) expect(isLabelValue(value), value).toBe(false);
});
