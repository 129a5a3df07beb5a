import { describe, expect, test } from "vitest";
import { MOST_FINDINGS } from "../../src/extract/bounded-findings.ts";
import { extractSnapshot, SnapshotAssembler } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import type { ClusterSnapshot, Endpoint } from "../../src/snapshot/schema.ts";
import {
  clusterProperty,
  namespace,
  node,
  object,
  ofImport,
  ofService,
  pod,
  service,
  serviceExport,
  serviceImport,
  slice,
} from "./objects.ts";

const VERIFIED = { name: "cluster.local", pods: "verified" } as const;

function assemble(objects: readonly KubernetesObject[], clusterId?: string): SnapshotAssembler {
  const assembler = new SnapshotAssembler({
    clusterZone: VERIFIED,
    ...(clusterId !== undefined && { clusterId }),
  });
  for (const one of objects) assembler.upsert(one);
  return assembler;
}

/** One object of each kind that a snapshot uses. */
const everything = [
  namespace("shop"),
  namespace("kube-system", { uid: "uid-1" }),
  node("one", { "topology.kubernetes.io/region": "eu" }),
  service("shop/web", { clusterIP: "None", clusterIPs: ["None"] }),
  serviceExport("shop/web"),
  serviceImport("shop/web"),
  slice("shop/web-1", ofService("web"), [{ addresses: ["10.0.0.1"] }]),
  slice("shop/web-2", ofImport("web", "west"), [{ addresses: ["10.1.0.1"] }]),
  pod("shop/web-0", { podIP: "10.0.0.1" }),
  service("shop/db"),
  serviceExport("shop/db"),
  slice("shop/stray", {}, []),
] as const;

describe("a snapshot", () => {
  test("is the same until something changes", () => {
    const assembler = assemble(everything, "east");
    const before = assembler.snapshot();
    const { version } = assembler.state;
    expect(assembler.snapshot()).toEqual(before);
    // The object without a service gets its finding again, in a new record.
    for (const one of everything.slice(0, -1)) assembler.upsert(structuredClone(one));
    expect(assembler.snapshot()).toEqual(before);
    expect(assembler.state.version).toBe(version);
  });

  test.each<[string, KubernetesObject]>([
    ["topology region", node("one", { "topology.kubernetes.io/region": "us" })],
    ["namespaces other", namespace("other")],
    ["exports shop/web", serviceExport("shop/web", { exportedLabels: { tier: "front" } })],
    ["imports shop/web", serviceImport("shop/web", { ips: ["10.42.0.2"] })],
    ["services shop/new", service("shop/new")],
    ["pods shop/10.0.0.2", pod("shop/web-1", { podIP: "10.0.0.2" })],
    ["findings EndpointSlice/shop/stray-2/NoServiceName", slice("shop/stray-2", {}, [])],
    ["clusterId", clusterProperty("cluster.clusterset.k8s.io", "west")],
  ])("shares all entries but %s after a change of it", (changed, object) => {
    const assembler = assemble(everything);
    const before = entriesOf(assembler.snapshot());
    assembler.upsert(object);
    const after = entriesOf(assembler.snapshot());
    expect([...after].flatMap(([name, value]) => (before.get(name) === value ? [] : name))).toEqual([
      changed,
    ]);
    expect(after.size).toBeGreaterThanOrEqual(before.size);
  });
});

test("all entries of a namespace leave with it, and come back with it", () => {
  const assembler = assemble(everything, "east");
  const before = assembler.snapshot();
  assembler.delete(namespace("shop"));
  const { exports, imports, services, pods, findings } = assembler.snapshot();
  expect([exports, imports, services, pods, findings]).toEqual([{}, {}, {}, {}, {}]);
  assembler.upsert(namespace("shop"));
  expect(assembler.snapshot()).toEqual(before);
});

function entriesOf(snapshot: ClusterSnapshot): ReadonlyMap<string, unknown> {
  return new Map(
    Object.entries(snapshot).flatMap(([part, value]): [string, unknown][] =>
      typeof value === "object"
        ? Object.entries(value).map(([key, entry]) => [`${part} ${key}`, entry])
        : [[part, value]],
    ),
  );
}

describe("objects", () => {
  test.each<[string, KubernetesObject, boolean]>([
    ["of another kind are ignored", object("apps/v1", "Deployment", "shop/web"), false],
    ["of another API group are ignored", object("serving.knative.dev/v1", "Service", "shop/web"), false],
    ["without a name are ignored", { apiVersion: "v1", kind: "Service", metadata: {} }, false],
    ["without metadata are ignored", { apiVersion: "v1", kind: "Service" }, false],
    ["without a kind are ignored", { apiVersion: "v1", metadata: { name: "web" } }, false],
    ["without an apiVersion are ignored", { kind: "Service", metadata: { name: "web" } }, false],
    ["of the kind Service are used", service("shop/web"), true],
  ])("%s", (_, one, isUsed) => {
    expect(new SnapshotAssembler({ clusterId: "east" }).upsert(one)).toBe(isUsed);
    expect(new SnapshotAssembler({ clusterId: "east" }).delete(one)).toBe(isUsed);
  });

  test("of the kind Pod are used only for verified pod names", () => {
    const insecure = { clusterZone: { name: "cluster.local", pods: "insecure" } } as const;
    expect(new SnapshotAssembler(insecure).upsert(pod("shop/web-0"))).toBe(false);
    expect(assemble([]).upsert(pod("shop/web-0"))).toBe(true);
  });

  test.each([
    ["a namespace of 63 characters is valid", namespace("n".repeat(63)), []],
    ["a namespace of 64 characters is a finding", namespace("n".repeat(64)), ["InvalidName"]],
    ["a namespace with another first character is a finding", namespace("-n"), ["InvalidName"]],
    ["a namespace with another last character is a finding", namespace("n_"), ["InvalidName"]],
    ["a Service of 253 characters is valid", service(`shop/${"s".repeat(253)}`), []],
    ["a Service of 254 characters is a finding", service(`shop/${"s".repeat(254)}`), ["InvalidName"]],
    ["a Service with a slash is a finding", service("shop/a/b"), ["InvalidName"]],
  ])("the name of %s", (_, one, reasons) => {
    const { findings } = assemble([namespace("shop"), one], "east").snapshot();
    expect(Object.values(findings).map(({ reason }) => reason)).toEqual(reasons);
  });
});
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

const own = <Made extends KubernetesObject>(object: Made): Made => ({
  ...object,
  metadata: {
    ...object.metadata,
    labels: { ...(object.metadata?.labels as object), "app.kubernetes.io/managed-by": "clusterset-doh" },
  },
});
const extract = (...objects: KubernetesObject[]) =>
  extractSnapshot([namespace("shop"), ...objects], {
    clusterId: "east",
    clusterZone: { name: "cluster.local", pods: "disabled" },
  });
const ends = [{ addresses: ["10.9.0.1"] }];

describe("what the worker made from the desired state", () => {
  test("is pushed of a ServiceImport as its ips, and nothing else", () => {
    const { imports, findings } = extract(
      own(serviceImport("shop/web", { ips: ["10.96.0.7", "fd00::7"] })),
      own(slice("shop/web-1", ofImport("web", "west"), ends)),
    );
    expect(imports).toEqual({
      "shop/web": { managed: true, ips: ["10.96.0.7", "fd00::7"], ports: [], endpoints: {} },
    });
    expect(findings).toEqual({});
  });

  test("is not pushed of a ServiceImport without ips, such as a headless one", () => {
    expect(extract(own(serviceImport("shop/db", { type: "Headless", ips: [] }))).imports).toEqual({});
  });

  test("counts less than the ServiceImport of another implementation", () => {
    const { imports } = extract(
      own(serviceImport("shop/web")),
      serviceImport("shop/web", { ips: ["10.42.0.9"] }, "net.gke.io/v1"),
    );
    expect(imports["shop/web"]).toMatchObject({ ips: ["10.42.0.9"] });
    expect(imports["shop/web"]).not.toHaveProperty("managed");
  });

  test("is not pushed of a derived Service: how many there are is up to other clusters", () => {
    const { services, exports } = extract(
      own(service("shop/derived")),
      own(slice("shop/derived-1", { ...ofService("derived"), ...ofImport("web", "west") }, ends)),
      service("shop/web"),
    );
    expect(Object.keys(services)).toEqual(["shop/web"]);
    expect(exports).toEqual({});
  });

  test("gives no endpoints to a Service of the cluster, whichever labels its slices have", () => {
    const { exports, services, findings } = extract(
      service("shop/web", { clusterIP: "None", clusterIPs: ["None"] }),
      serviceExport("shop/web"),
      own(slice("shop/web-1", ofService("web"), ends)),
      own(slice("shop/web-2", {}, ends)),
    );
    expect(exports["shop/web"]!.endpoints).toEqual({});
    expect(services["shop/web"]!.endpoints).toEqual({});
    expect(findings).toEqual({});
  });

  test("is not exported: a ServiceExport of a derived Service is InvalidServiceType", () => {
    const { exports, findings } = extract(own(service("shop/derived")), serviceExport("shop/derived"));
    expect(exports).toEqual({});
    expect(Object.values(findings)).toMatchObject([
      { kind: "ServiceExport", name: "derived", reason: "InvalidServiceType" },
    ]);
  });

  test("is told apart by the value of the label: that of Helm is another", () => {
    const helm = serviceImport("shop/web");
    const labelled = {
      ...helm,
      metadata: { ...helm.metadata, labels: { "app.kubernetes.io/managed-by": "Helm" } },
    };
    expect(extract(labelled).imports["shop/web"]).toMatchObject({
      type: "ClusterSetIP",
      ports: [{ port: 80 }],
    });
  });
});

describe("more findings than a gateway takes of one cluster", () => {
  const MANY = MOST_FINDINGS + 1;
  const stray = (namespace: string, index: number) =>
    serviceExport(`${namespace}/e${String(index).padStart(5, "0")}`);
  const strays = (namespace: string, count: number) =>
    Array.from({ length: count }, (_, index) => stray(namespace, index));
  const namesIn = ({ findings }: ClusterSnapshot, wanted: string) =>
    Object.values(findings).flatMap(({ namespace, name }) => (namespace === wanted ? name : []));
  const namespaces = ["flood", "shop", "small"].map((name) => namespace(name));
  const assembler = assemble([...namespaces, ...strays("flood", MANY), ...strays("small", 3)], "east");

  test("are those of all namespaces but the one that has too many, whose first ones stay, and one that says so", () => {
    const snapshot = assembler.snapshot();
    expect(Object.keys(snapshot.findings)).toHaveLength(MOST_FINDINGS + 1);
    expect(snapshot.findings).toHaveProperty("Cluster/east/TooMany");
    expect(namesIn(snapshot, "small")).toHaveLength(3);
    const first = strays("flood", MOST_FINDINGS - 3).map(({ metadata }) => metadata!.name);
    expect(namesIn(snapshot, "flood")).toEqual(first);
  });

  test("do not depend on the order of objects, and are all of them again when they are few enough", () => {
    const shuffled = [...strays("small", 3), ...strays("flood", MANY).reverse(), ...namespaces];
    expect(assemble(shuffled, "east").snapshot()).toEqual(assembler.snapshot());
    assembler.upsert(stray("shop", 0));
    expect(namesIn(assembler.snapshot(), "shop")).toHaveLength(1);
    for (const one of strays("flood", 5)) assembler.delete(one);
    const { findings } = assembler.snapshot();
    expect(findings).not.toHaveProperty("Cluster/east/TooMany");
    expect(Object.keys(findings)).toHaveLength(MANY + 3 + 1 - 5);
  });

  test("leave each namespace one, however many there are", () => {
    const names = Array.from({ length: 4000 }, (_, index) => `n${index}`);
    const objects = names.flatMap((name) => [namespace(name), ...strays(name, 3)]);
    const { findings } = assemble(objects, "east").snapshot();
    expect(Object.keys(findings)).toHaveLength(2 * 4000 + 1);
    expect(new Set(Object.values(findings).map((finding) => finding.namespace)).size).toBe(4000 + 1);
  });
});
