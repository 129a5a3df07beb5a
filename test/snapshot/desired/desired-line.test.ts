import { describe, expect, it } from "vitest";
import { DesiredLine, isLabelValue, isQualifiedName } from "../../../src/snapshot/desired-line.ts";

const PORT = { name: "http", protocol: "TCP", port: 80 };
const IMPORT = {
  type: "ClusterSetIP",
  ports: [PORT],
  ipFamilies: ["IPv4", "IPv6"],
  sessionAffinity: "ClientIP",
  sessionAffinityTimeoutSeconds: 10,
  internalTrafficPolicy: "Local",
  trafficDistribution: "PreferClose",
  labels: { app: "web" },
  annotations: { note: "a" },
  clusters: ["east", "west"],
};
const SLICE = {
  addressType: "IPv4",
  ports: [{ ...PORT, appProtocol: "http" }],
  endpoints: [{ address: "10.0.0.1", ready: true }],
};
const CONDITION = { type: "Valid", status: "True", reason: "Valid", message: "is exported" };

const importOf = (parts: object = {}) => ({ import: "shop/web", desired: { ...IMPORT, ...parts } });
const sliceOf = (parts: object = {}) => ({
  service: "shop/web",
  cluster: "east",
  slice: "a-1",
  desired: { ...SLICE, ...parts },
});
const exportOf = (parts: object = {}) => ({ export: "shop/web", conditions: [{ ...CONDITION, ...parts }] });
const times = <Value>(count: number, value: Value): Value[] => Array.from({ length: count }, () => value);
const a = (count: number) => "a".repeat(count);

const ACCEPTED: Readonly<Record<string, unknown>> = {
  "the start of a snapshot": { start: "snapshot", formatVersion: 1 },
  "the start of changes": { start: "changes", formatVersion: 1 },
  "an import": importOf(),
  "an import of a headless service": importOf({ type: "Headless" }),
  "an import with the defaults of the API": {
    import: "shop/web",
    desired: { type: "Headless", ports: [], ipFamilies: [], labels: {}, annotations: {}, clusters: [] },
  },
  "an import with a thousand ports": importOf({ ports: times(1000, PORT) }),
  "an import with the longest texts": importOf({
    sessionAffinity: a(63),
    internalTrafficPolicy: a(63),
    trafficDistribution: a(317),
    labels: { [a(317)]: a(63) },
    annotations: { [a(317)]: a(262_144) },
  }),
  "an import with the longest name": { ...importOf(), import: `${a(253)}/${a(253)}` },
  "no import": { import: "shop/web", desired: null },
  "a slice": sliceOf(),
  "a slice of IPv6": sliceOf({ addressType: "IPv6", endpoints: [{ address: "2001:db8::1" }] }),
  "a slice without ports and endpoints": sliceOf({ ports: [], endpoints: [] }),
  "a slice with a thousand of both": sliceOf({
    ports: times(1000, PORT),
    endpoints: times(1000, { address: "10.0.0.1" }),
  }),
  "a slice with the longest name and protocol": {
    ...sliceOf({ ports: [{ ...PORT, appProtocol: a(317) }] }),
    slice: a(40),
  },
  "no slice": { ...sliceOf(), desired: null },
  "conditions of an export": {
    export: "shop/web",
    conditions: [
      CONDITION,
      { ...CONDITION, type: "Ready", status: "False" },
      { ...CONDITION, type: "Conflict", status: "Unknown" },
    ],
  },
  "a condition with the longest texts": exportOf({ reason: a(1024), message: a(32_768) }),
  "an export without conditions": { export: "shop/web", conditions: [] },
  "an export that the gateway does not know": { export: "shop/web", conditions: null },
  leases: { leases: { east: 0, west: 59.5 } },
  "a position": { position: "1-1" },
  "the longest position": { position: a(128) },
};

const REJECTED: Readonly<Record<string, unknown>> = {
  "another start": { start: "all", formatVersion: 1 },
  "another format": { start: "snapshot", formatVersion: 2 },
  "a start with another member": { start: "snapshot", formatVersion: 1, position: "1" },
  "an import without a namespace": { ...importOf(), import: "web" },
  "an import with an empty namespace": { ...importOf(), import: "/web" },
  "an import with an empty name": { ...importOf(), import: "shop/" },
  "an import with three names": { ...importOf(), import: "shop/web/a" },
  "an import in a namespace that begins with _": { ...importOf(), import: "_shop/web" },
  "an import after a line end": { ...importOf(), import: "/a\nshop/web" },
  "an import before a slash": { ...importOf(), import: "shop/web\n/" },
  "an import with a name that is too long": { ...importOf(), import: `${a(253)}/${a(254)}` },
  "an import of another type": importOf({ type: "ExternalName" }),
  "an import with too many ports": importOf({ ports: times(1001, PORT) }),
  "an import of three families": importOf({ ipFamilies: ["IPv4", "IPv6", "IPv4"] }),
  "an import of another family": importOf({ ipFamilies: ["IPX"] }),
  "an import with a long affinity": importOf({ sessionAffinity: a(64) }),
  "an import with half a second": importOf({ sessionAffinityTimeoutSeconds: 0.5 }),
  "an import with a long policy": importOf({ internalTrafficPolicy: a(64) }),
  "an import with a long distribution": importOf({ trafficDistribution: a(318) }),
  "an import with a long key of a label": importOf({ labels: { [a(318)]: "" } }),
  "an import with a long label": importOf({ labels: { a: a(64) } }),
  "an import with a long key of an annotation": importOf({ annotations: { [a(318)]: "" } }),
  "an import with a long annotation": importOf({ annotations: { a: a(262_145) } }),
  "an import of no cluster id": importOf({ clusters: ["East!"] }),
  "an import with another member": importOf({ ips: [] }),
  "a line of an import with another member": { ...importOf(), conditions: [] },
  "a slice of a service without a namespace": { ...sliceOf(), service: "web" },
  "a slice of no cluster id": { ...sliceOf(), cluster: "East!" },
  "a slice without a name": { ...sliceOf(), slice: "" },
  "a slice with a long name": { ...sliceOf(), slice: a(41) },
  "a slice whose name begins with another character": { ...sliceOf(), slice: "Aa" },
  "a slice whose name ends with another character": { ...sliceOf(), slice: "a." },
  "a slice of host names": sliceOf({ addressType: "FQDN" }),
  "a slice with too many ports": sliceOf({ ports: times(1001, PORT) }),
  "a slice with too many endpoints": sliceOf({ endpoints: times(1001, { address: "10.0.0.1" }) }),
  "a slice with a long protocol": sliceOf({ ports: [{ ...PORT, appProtocol: a(318) }] }),
  "a slice with another member": sliceOf({ name: "a" }),
  "a line of a slice with another member": { ...sliceOf(), namespace: "shop" },
  "a condition of another type": exportOf({ type: "Available" }),
  "a condition of another status": exportOf({ status: "true" }),
  "a condition without a reason": exportOf({ reason: "" }),
  "a condition with a long reason": exportOf({ reason: a(1025) }),
  "a condition with a long message": exportOf({ message: a(32_769) }),
  "a condition with a time": exportOf({ lastTransitionTime: "2026-01-01T00:00:00Z" }),
  "four conditions": { export: "shop/web", conditions: times(4, CONDITION) },
  "an export without a namespace": { ...exportOf(), export: "web" },
  "an export with another member": { ...exportOf(), desired: null },
  "a lease of no cluster id": { leases: { "East!": 1 } },
  "a lease that expired": { leases: { east: -1 } },
  "leases with another member": { leases: {}, position: "1" },
  "an empty position": { position: "" },
  "a long position": { position: a(129) },
  "a position with another member": { position: "1", formatVersion: 1 },
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
