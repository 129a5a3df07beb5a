import { describe, expect, test } from "vitest";
import { MOST_FINDINGS } from "../../src/extract/bounded-findings.ts";
import { extractSnapshot, SnapshotAssembler } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import {
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

test("a snapshot is the same until something changes", () => {
  const assembler = assemble(everything, "east");
  const before = assembler.snapshot();
  const { version } = assembler.state;
  expect(assembler.snapshot()).toEqual(before);
  // The object without a service gets its finding again, in a new record.
  for (const one of everything.slice(0, -1)) assembler.upsert(structuredClone(one));
  expect(assembler.snapshot()).toEqual(before);
  expect(assembler.state.version).toBe(version);
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

describe("objects", () => {
  const used = (...args: Parameters<typeof object>) => {
    const assembler = new SnapshotAssembler({ clusterId: "east" });
    return [assembler.upsert(object(...args)), assembler.delete(object(...args))];
  };

  test("of other kinds and API groups, and incomplete ones, are ignored", () => {
    expect(used("v1", "Service", "shop/web")).toEqual([true, true]);
    expect(used("apps/v1", "Deployment", "shop/web")).toEqual([false, false]);
    expect(used("serving.knative.dev/v1", "Service", "shop/web")).toEqual([false, false]);
    expect(used("v1", "Service", "shop/web", {}, { name: undefined })).toEqual([false, false]);
    const { apiVersion, kind, metadata } = service("shop/web");
    for (const one of [
      { apiVersion, kind },
      { apiVersion, metadata },
      { kind, metadata },
    ])
      expect(assemble([]).upsert(one)).toBe(false);
  });

  test("of the kind Pod are used only for verified pod names", () => {
    const insecure = { clusterZone: { name: "cluster.local", pods: "insecure" } } as const;
    expect(new SnapshotAssembler(insecure).upsert(pod("shop/web-0"))).toBe(false);
    expect(assemble([]).upsert(pod("shop/web-0"))).toBe(true);
  });

  test("have names that Kubernetes allows: namespaces of up to 63 characters, others of up to 253", () => {
    const findingsOf = (...named: KubernetesObject[]) =>
      Object.values(assemble([namespace("shop"), ...named], "east").snapshot().findings);
    expect(findingsOf(namespace("n".repeat(63)), service(`shop/${"s".repeat(253)}`))).toEqual([]);
    for (const wrong of ["n".repeat(64), "-n", "n_"])
      expect(findingsOf(namespace(wrong))).toMatchObject([{ reason: "InvalidName" }]);
  });
});

describe("the topology (labels of nodes)", () => {
  const R = "topology.kubernetes.io/region";
  const Z = "topology.kubernetes.io/zone";
  const ZONES = Array.from({ length: 1001 }, (_, index) => `zone-${1000 + index}`);
  test.each<[string, object[], unknown]>([
    ["is absent without labels", [{}], undefined],
    ["has the first of two equally frequent regions", [{ [R]: "b" }, { [R]: "a" }], { region: "a" }],
    ["has the region of most nodes", [{ [R]: "a" }, { [R]: "b" }, { [R]: "b" }], { region: "b" }],
    ["may have zones without a region", [{ [Z]: "b" }, { [Z]: "a" }, { [Z]: "b" }], { zones: ["a", "b"] }],
    [
      "has the first 1,000 zones by name",
      ZONES.toReversed().map((zone) => ({ [Z]: zone })),
      { zones: ZONES.slice(0, -1) },
    ],
    ["takes a label of 63 characters", [{ [R]: "r".repeat(63) }], { region: "r".repeat(63) }],
    ["ignores a label of 64 characters, and an empty one", [{ [R]: "r".repeat(64), [Z]: "" }], undefined],
  ])("%s", (_, labels, expected) => {
    const nodes = labels.map((one, index) => node(`node-${index}`, one as Record<string, unknown>));
    expect(extractSnapshot(nodes, { clusterId: "east" }).topology).toEqual(expected);
  });
});

describe("what the worker made from the desired state", () => {
  const ends = [{ addresses: ["10.9.0.1"] }];
  const managedBy = <Made extends KubernetesObject>(manager: string, made: Made): Made => {
    const labels = { ...(made.metadata?.labels as object), "app.kubernetes.io/managed-by": manager };
    return { ...made, metadata: { ...made.metadata, labels } };
  };
  const own = <Made extends KubernetesObject>(made: Made) => managedBy("clusterset-doh", made);
  const extract = (...objects: KubernetesObject[]) =>
    extractSnapshot([namespace("shop"), ...objects], {
      clusterId: "east",
      clusterZone: { name: "cluster.local", pods: "disabled" },
    });

  test("is pushed of a ServiceImport as its ips, if it has any, and nothing else", () => {
    const { imports, findings } = extract(
      own(serviceImport("shop/web", { ips: ["10.96.0.7", "fd00::7"] })),
      own(slice("shop/web-1", ofImport("web", "west"), ends)),
      own(serviceImport("shop/db", { type: "Headless", ips: [] })),
    );
    expect(imports).toEqual({
      "shop/web": { managed: true, ips: ["10.96.0.7", "fd00::7"], ports: [], endpoints: {} },
    });
    expect(findings).toEqual({});
  });

  test("counts less than the ServiceImport of another implementation, such as that of Helm", () => {
    const { imports } = extract(
      own(serviceImport("shop/web")),
      serviceImport("shop/web", { ips: ["10.42.0.9"] }, "net.gke.io/v1"),
      managedBy("Helm", serviceImport("shop/db")),
    );
    expect(imports).toMatchObject({
      "shop/web": { ips: ["10.42.0.9"] },
      "shop/db": { type: "ClusterSetIP" },
    });
    expect(imports["shop/web"]).not.toHaveProperty("managed");
  });

  test("is not pushed of a derived Service, whose export is InvalidServiceType: how many there are is up to other clusters", () => {
    const { services, exports, findings } = extract(
      own(service("shop/derived")),
      own(slice("shop/derived-1", { ...ofService("derived"), ...ofImport("web", "west") }, ends)),
      serviceExport("shop/derived"),
      service("shop/web"),
    );
    expect(Object.keys(services)).toEqual(["shop/web"]);
    expect(exports).toEqual({});
    expect(Object.values(findings)).toMatchObject([
      { kind: "ServiceExport", name: "derived", reason: "InvalidServiceType" },
    ]);
  });

  test("gives no endpoints to a Service of the cluster, whichever labels its slices have", () => {
    const { exports, services, findings } = extract(
      service("shop/web", { clusterIP: "None", clusterIPs: ["None"] }),
      serviceExport("shop/web"),
      own(slice("shop/web-1", ofService("web"), ends)),
      own(slice("shop/web-2", {}, ends)),
    );
    expect([exports["shop/web"]!.endpoints, services["shop/web"]!.endpoints, findings]).toEqual([{}, {}, {}]);
  });
});

describe("more findings than a gateway takes of one cluster", () => {
  const MANY = MOST_FINDINGS + 1;
  const strays = (space: string, count: number) =>
    Array.from({ length: count }, (_, index) => serviceExport(`${space}/e${String(index).padStart(5, "0")}`));
  const namesIn = (assembler: SnapshotAssembler, wanted: string) =>
    Object.values(assembler.snapshot().findings).flatMap(({ namespace, name }) =>
      namespace === wanted ? name : [],
    );
  const namespaces = ["flood", "shop", "small"].map((name) => namespace(name));
  const assembler = assemble([...namespaces, ...strays("flood", MANY), ...strays("small", 3)], "east");

  test("are those of all namespaces but the one that has too many, whose first ones stay, and one that says so", () => {
    const { findings } = assembler.snapshot();
    expect(Object.keys(findings)).toHaveLength(MOST_FINDINGS + 1);
    expect(findings).toHaveProperty("Cluster/east/TooMany");
    expect(namesIn(assembler, "small")).toHaveLength(3);
    const first = strays("flood", MOST_FINDINGS - 3).map(({ metadata }) => metadata!.name);
    expect(namesIn(assembler, "flood")).toEqual(first);
  });

  test("do not depend on the order of objects, and are all of them again when they are few enough", () => {
    const shuffled = [...strays("small", 3), ...strays("flood", MANY).reverse(), ...namespaces];
    expect(assemble(shuffled, "east").snapshot()).toEqual(assembler.snapshot());
    assembler.upsert(strays("shop", 1)[0]!);
    expect(namesIn(assembler, "shop")).toHaveLength(1);
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
