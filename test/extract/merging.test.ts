import { describe, expect, test } from "vitest";
import { extractSnapshot } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import type { Endpoint } from "../../src/snapshot/schema.ts";
import { namespace, node, ofService, service, serviceExport, slice } from "./objects.ts";

const exported = (spec = {}, more: readonly KubernetesObject[] = [], exportSpec = {}) =>
  extractSnapshot(
    [namespace("shop"), service("shop/web", spec), serviceExport("shop/web", exportSpec), ...more],
    { clusterId: "east" },
  ).exports["shop/web"]!;

describe("an endpoint in two slices (discovery.k8s.io/v1)", () => {
  test.each<[object, object, Partial<Endpoint>]>([
    [{ ready: false }, { ready: false }, { ready: false }],
    [{ ready: false }, { ready: true }, {}],
    [{ ready: true }, { ready: false }, {}],
    [{ serving: false }, { serving: false }, { serving: false }],
    [{ serving: false }, {}, {}],
    [{}, { serving: false }, {}],
    [{ terminating: true }, { terminating: true }, { terminating: true }],
    [{ terminating: true }, {}, {}],
    [{}, { terminating: true }, {}],
  ])("has, for the conditions %j and %j, the conditions %j", (left, right, expected) => {
    const slices = [left, right].map((conditions, index) =>
      slice(`shop/web-${index}`, ofService("web"), [{ addresses: ["10.0.0.1"], conditions }]),
    );
    const { members } = exported({}, slices).endpoints["http/TCP/8080"]!;
    expect(members).toEqual({ "10.0.0.1": { address: "10.0.0.1", ...expected } });
  });

  test("has the zone of the first slice by name that has one", () => {
    const zones = [undefined, "b", "c"].map((zone, index) =>
      slice(`shop/web-${index}`, ofService("web"), [{ addresses: ["10.0.0.1"], zone }]),
    );
    const { members } = exported({}, zones.reverse()).endpoints["http/TCP/8080"]!;
    expect(members).toEqual({ "10.0.0.1": { address: "10.0.0.1", zone: "b" } });
  });
});

describe("the order of", () => {
  test("endpoints and groups is that of their keys", () => {
    const ends = [{ addresses: ["10.0.0.3"] }, { addresses: ["10.0.0.2", "10.0.0.1"] }];
    const { endpoints } = exported({}, [
      slice("shop/web-1", ofService("web"), ends, { ports: [{ name: "z", port: 1 }] }),
      slice("shop/web-2", ofService("web"), ends, { ports: [{ name: "a", port: 1 }] }),
      slice("shop/web-3", ofService("web"), [], { ports: [{ name: "empty", port: 1 }] }),
    ]);
    expect(Object.keys(endpoints)).toEqual(["a/TCP/1", "z/TCP/1"]);
    expect(Object.keys(endpoints["a/TCP/1"]!.members)).toEqual(["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
  });

  test("exported labels is that of their keys", () => {
    expect(Object.keys(exported({}, [], { exportedLabels: { b: "", a: "" } }).exportedLabels!)).toEqual([
      "a",
      "b",
    ]);
  });
});

describe("bounds of a snapshot", () => {
  test.each<[string, object, string, unknown]>([
    ["a port of 31 bits", { ports: [{ port: 2 ** 31 - 1 }] }, "ports", 1],
    ["a negative port of 31 bits", { ports: [{ port: 1 - 2 ** 31 }] }, "ports", 1],
    ["a port name of 63 characters", { ports: [{ port: 1, name: "n".repeat(63) }] }, "ports", 1],
    ["a protocol of 16 characters", { ports: [{ port: 1, protocol: "p".repeat(16) }] }, "ports", 1],
    [
      "a port without a name and a protocol",
      { ports: [{ port: 1, name: null, protocol: null }] },
      "ports",
      1,
    ],
    ["100 external IPs", { externalIPs: Array(100).fill("192.0.2.1") }, "externalIPs", 100],
    ["a text of the longest length", { sessionAffinity: "s".repeat(63) }, "sessionAffinity", 63],
  ])("include %s", (_, spec, field, length) => {
    expect(Reflect.get(exported(spec), field)).toHaveLength(length as number);
  });

  test.each([null, "", undefined, []])("leave out an optional field with the value %j", (value) => {
    const fields = { sessionAffinity: value, internalTrafficPolicy: value, externalIPs: value };
    if (Array.isArray(value)) fields.sessionAffinity = fields.internalTrafficPolicy = undefined;
    const { sessionAffinity, internalTrafficPolicy, externalIPs } = exported(fields);
    expect([sessionAffinity, internalTrafficPolicy, externalIPs]).toEqual([undefined, undefined, undefined]);
  });

  test.each([undefined, null, ""])("take a Service of the type %j for ClusterIP", (type) => {
    expect(exported({ type }).serviceType).toBe("ClusterIP");
  });

  test.each<[object, boolean, string[] | undefined]>([
    [{ clusterIP: "None", clusterIPs: undefined }, true, undefined],
    [{ clusterIP: undefined, clusterIPs: ["None"] }, true, undefined],
    [{ clusterIP: "10.96.0.1", clusterIPs: undefined }, false, ["10.96.0.1"]],
    [{ clusterIP: "10.96.0.1", clusterIPs: [] }, false, ["10.96.0.1"]],
    [{ clusterIP: "10.96.0.1", clusterIPs: ["10.96.0.1", "fd00::1"] }, false, ["10.96.0.1", "fd00::1"]],
    [{ clusterIP: undefined, clusterIPs: undefined }, false, undefined],
  ])("read the cluster IPs of %j", (spec, headless, clusterIPs) => {
    expect(exported(spec)).toMatchObject({ headless });
    expect(exported(spec).clusterIPs).toEqual(clusterIPs);
  });
});

describe("the topology (labels of nodes)", () => {
  const R = "topology.kubernetes.io/region";
  const Z = "topology.kubernetes.io/zone";
  test.each<[string, object[], unknown]>([
    ["is absent without nodes", [], undefined],
    ["is absent without labels", [{}], undefined],
    ["has the first of two equally frequent regions", [{ [R]: "b" }, { [R]: "a" }], { region: "a" }],
    ["has the region of most nodes", [{ [R]: "a" }, { [R]: "b" }, { [R]: "b" }], { region: "b" }],
    ["may have zones without a region", [{ [Z]: "b" }, { [Z]: "a" }, { [Z]: "b" }], { zones: ["a", "b"] }],
    ["accepts a label of 63 characters", [{ [R]: "r".repeat(63) }], { region: "r".repeat(63) }],
    ["ignores a label of 64 characters", [{ [R]: "r".repeat(64) }], undefined],
    ["ignores an empty label", [{ [R]: "", [Z]: "" }], undefined],
  ])("%s", (_, labels, expected) => {
    const nodes = labels.map((one, index) => node(`node-${index}`, one as Record<string, unknown>));
    expect(extractSnapshot(nodes, { clusterId: "east" }).topology).toEqual(expected);
  });
});

test.each([
  ["apiVersion", "v1alpha1", "v1beta1"],
  ["JSON text", "v1beta1", "v1beta1"],
])("of two versions of an object the one with the later %s counts, in any order", (_, early, late) => {
  const versions = [early, late].map((version, index) =>
    serviceExport(
      "shop/web",
      { exportedLabels: { version: String(index) } },
      {},
      `multicluster.x-k8s.io/${version}`,
    ),
  );
  for (const objects of [versions, versions.toReversed()]) {
    const { exports } = extractSnapshot([namespace("shop"), service("shop/web"), ...objects], {
      clusterId: "east",
    });
    expect(exports["shop/web"]!.exportedLabels).toEqual({ version: "1" });
  }
});
