import { describe, expect, it } from "vitest";
import { DesiredLine, isLabelValue, isQualifiedName } from "../../../src/snapshot/desired-line.ts";

const IMPORT = {
  type: "ClusterSetIP",
  ports: [{ name: "http", protocol: "TCP", port: 80 }],
  ipFamilies: ["IPv4", "IPv6"],
  labels: { app: "web" },
  annotations: { note: "a" },
  clusters: ["east", "west"],
};
const SLICE = { addressType: "IPv4", ports: [], endpoints: [{ address: "10.0.0.1", ready: true }] };
const CONDITION = { type: "Valid", status: "True", reason: "Valid", message: "is exported" };

const importAt = (key: string) => ({ import: key, desired: IMPORT });
const sliceNamed = (slice: string) => ({ service: "shop/web", cluster: "east", slice, desired: SLICE });
const a = (count: number) => "a".repeat(count);

const ACCEPTED: Readonly<Record<string, unknown>> = {
  "the start of a snapshot": { start: "snapshot", formatVersion: 1 },
  "the start of changes": { start: "changes", formatVersion: 1 },
  "an import": importAt("shop/web"),
  "an import with the longest name": importAt(`${a(253)}/${a(253)}`),
  "no import": { import: "shop/web", desired: null },
  "a slice": sliceNamed("a-1"),
  "a slice with the longest name": sliceNamed(a(40)),
  "no slice": { ...sliceNamed("a-1"), desired: null },
  "conditions of an export": { export: "shop/web", conditions: [CONDITION] },
  "an export that the gateway does not know": { export: "shop/web", conditions: null },
  leases: { leases: { east: 0, west: 59.5 } },
  "a position": { position: "1-1" },
};

const REJECTED: Readonly<Record<string, unknown>> = {
  "another format": { start: "snapshot", formatVersion: 2 },
  "an import without a namespace": importAt("web"),
  "an import with an empty namespace": importAt("/web"),
  "an import with an empty name": importAt("shop/"),
  "an import with three names": importAt("shop/web/a"),
  "an import in a namespace that begins with _": importAt("_shop/web"),
  "an import after a line end": importAt("/a\nshop/web"),
  "an import before a slash": importAt("shop/web\n/"),
  "an import with a name that is too long": importAt(`${a(253)}/${a(254)}`),
  "an import with another member": { import: "shop/web", desired: { ...IMPORT, ips: [] } },
  "a line of an import with another member": { ...importAt("shop/web"), conditions: [] },
  "a slice of no cluster id": { ...sliceNamed("a-1"), cluster: "East!" },
  "a slice without a name": sliceNamed(""),
  "a slice with a long name": sliceNamed(a(41)),
  "a slice whose name begins with another character": sliceNamed("Aa"),
  "a slice whose name ends with another character": sliceNamed("a."),
  "a condition with a time": {
    export: "shop/web",
    conditions: [{ ...CONDITION, lastTransitionTime: "2026-01-01T00:00:00Z" }],
  },
  "a lease of no cluster id": { leases: { "East!": 1 } },
  nothing: {},
};

describe("a line of a desired state", () => {
  it.each(Object.entries(ACCEPTED))("may be %s", (_, line) => {
    expect(DesiredLine.parse(line)).toEqual(line);
  });

  it.each(Object.entries(REJECTED))("is not %s", (_, line) => {
    expect(DesiredLine.safeParse(line).success).toBe(false);
  });
});

// "Labels and Selectors" of the Kubernetes documentation, "Syntax and character set".
describe("a label's key", () => {
  it.each([
    ["app", true],
    ["a", true],
    ["App_2.x-y", true],
    ["a".repeat(63), true],
    ["a".repeat(64), false],
    ["", false],
    ["-app", false],
    ["app-", false],
    ["app.", false],
    ["größe", false],
    ["example.org/app", true],
    ["a/a", true],
    ["e-x.example.org/app", true],
    [`${"a".repeat(253)}/app`, true],
    [`${"a".repeat(254)}/app`, false],
    ["example.org/", false],
    ["/app", false],
    ["Example.org/app", false],
    ["example..org/app", false],
    [".example.org/app", false],
    ["example.org./app", false],
    ["-example.org/app", false],
    ["example-.org/app", false],
    ["a_b/app", false],
    ["example.org/app/x", false],
    ["example.org/-", false],
  ])("%j is valid: %s", (text, expected) => {
    expect(isQualifiedName(text)).toBe(expected);
  });
});

describe("a label's value", () => {
  it.each([
    ["", true],
    ["web", true],
    ["Web_2.x-y", true],
    ["a".repeat(63), true],
    ["a".repeat(64), false],
    ["a/b", false],
    ["-", false],
    [" ", false],
  ])("%j is valid: %s", (text, expected) => {
    expect(isLabelValue(text)).toBe(expected);
  });
});
