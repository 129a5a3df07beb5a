import { describe, expect, test } from "vitest";
import { extractSnapshot } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import { parseSnapshot } from "../../src/snapshot/parse.ts";
import type { EndpointGroups } from "../../src/snapshot/schema.ts";
import {
  clusterProperty,
  namespace,
  object,
  ofImport,
  ofService,
  service,
  serviceExport,
  serviceImport,
  slice,
} from "./objects.ts";

function extract(...objects: KubernetesObject[]) {
  const snapshot = extractSnapshot([namespace("shop"), ...objects], { clusterId: "east" });
  expect(parseSnapshot(snapshot)).toEqual(snapshot);
  return snapshot;
}

/** The keys of members by group. */
const membersIn = (groups: EndpointGroups) =>
  Object.entries(groups).map(([key, { members }]) => [key, Object.keys(members)]);

describe("exports (KEP-1645, Exporting Services)", () => {
  test("an export contains the ServiceExport, its Service and that Service's slices", () => {
    const same = {
      clusterIPs: ["10.96.0.10", "fd00::10"],
      ipFamilies: ["IPv4", "IPv6"],
      externalIPs: ["192.0.2.9"],
      sessionAffinity: "ClientIP",
      internalTrafficPolicy: "Cluster",
      trafficDistribution: "PreferSameZone",
      ports: [
        { name: "http", protocol: "TCP", port: 80, appProtocol: "http" },
        { name: "dns", protocol: "UDP", port: 53 },
      ],
    };
    const declared = { exportedLabels: { tier: "front" }, exportedAnnotations: { "a/b": "c d" } };
    const ingress = [{ ip: "192.0.2.1", ipMode: "VIP" }, { hostname: "lb.example" }];
    const affinity = { sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } } };
    const { exports, findings } = extract(
      service("shop/web", { type: "LoadBalancer", ...same, ...affinity }, { loadBalancer: { ingress } }),
      serviceExport("shop/web", declared),
      slice("shop/web-1", ofService("web"), [
        { addresses: ["10.0.0.1"], conditions: { ready: true, serving: true }, zone: "east-a" },
      ]),
    );
    expect(findings).toEqual({});
    expect(exports["shop/web"]).toEqual({
      ...same,
      ...declared,
      exportedAt: "2026-01-02T03:04:05Z",
      serviceType: "LoadBalancer",
      headless: false,
      sessionAffinityTimeoutSeconds: 600,
      loadBalancer: [{ ip: "192.0.2.1" }, { hostname: "lb.example" }],
      endpoints: {
        "http/TCP/8080": {
          ports: [{ name: "http", protocol: "TCP", port: 8080 }],
          members: { "10.0.0.1": { address: "10.0.0.1", zone: "east-a" } },
        },
      },
    });
  });

  test("an export's labels and annotations are those that fit, by their bytes as JSON", () => {
    const labels = Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`key-${index}`, ""]));
    const annotations = { a: "1", control: "\u0001".repeat(50_000), plain: "x".repeat(200_000), z: "2" };
    const declared = { exportedLabels: labels, exportedAnnotations: annotations };
    const { exports } = extract(service("shop/web"), serviceExport("shop/web", declared));
    const { exportedLabels, exportedAnnotations } = exports["shop/web"]!;
    const { control: _, ...fitting } = annotations;
    expect(exportedAnnotations).toEqual(fitting);
    expect(Object.keys(exportedLabels!).length).toBeGreaterThan(10_000);
    expect(JSON.stringify(exportedLabels).length).toBeLessThanOrEqual(256 * 1024);
  });

  test("a headless Service keeps hostnames and publishNotReadyAddresses", () => {
    const { exports } = extract(
      service("shop/db", { clusterIP: "None", clusterIPs: ["None"], publishNotReadyAddresses: true }),
      serviceExport("shop/db"),
      slice("shop/db-1", ofService("db"), [
        { addresses: ["10.0.0.1"], hostname: "db-0", conditions: { ready: false, terminating: true } },
      ]),
    );
    expect(exports["shop/db"]).toMatchObject({ headless: true, publishNotReadyAddresses: true });
    expect(exports["shop/db"]?.clusterIPs).toBeUndefined();
    expect(exports["shop/db"]!.endpoints["http/TCP/8080"]!.members).toEqual({
      "10.0.0.1#db-0": { address: "10.0.0.1", hostname: "db-0", ready: false, terminating: true },
    });
  });

  test("the annotation tolerate-unready-endpoints counts as publishNotReadyAddresses where it is true (2.1)", () => {
    const old = service("shop/db", { clusterIP: "None" });
    for (const value of ["true", "false", "True", ""]) {
      const annotations = { "service.alpha.kubernetes.io/tolerate-unready-endpoints": value };
      const annotated = { ...old, metadata: { ...old.metadata, annotations } };
      const { publishNotReadyAddresses } = extract(annotated, serviceExport("shop/db")).exports["shop/db"]!;
      expect(publishNotReadyAddresses, value).toBe(value === "true" || undefined);
    }
  });

  test("ServiceExports of two API groups are one export with the older date", () => {
    const { exports } = extract(
      service("shop/web"),
      serviceExport("shop/web"),
      serviceExport("shop/web", {}, { creationTimestamp: "2025-01-01T00:00:00Z" }, "net.gke.io/v1"),
    );
    expect(exports["shop/web"]!.exportedAt).toBe("2025-01-01T00:00:00Z");
  });
});

describe("the spec of an exported Service", () => {
  const exported = (spec: object) =>
    extract(service("shop/web", { ...spec }), serviceExport("shop/web")).exports["shop/web"]!;

  test("is taken whole up to its bounds", () => {
    const ports = [
      { port: 2 ** 31 - 1 },
      { port: 1 - 2 ** 31 },
      { port: 1, name: "n".repeat(63), protocol: "p".repeat(16) },
      { port: 1, name: null, protocol: null },
    ];
    const spec = { ports, externalIPs: Array(100).fill("192.0.2.1"), sessionAffinity: "s".repeat(63) };
    const { externalIPs, sessionAffinity, ports: kept } = exported(spec);
    expect([kept.length, externalIPs!.length, sessionAffinity!.length]).toEqual([4, 100, 63]);
  });

  test("may lack optional fields, or have them empty", () => {
    for (const value of [null, "", undefined]) {
      const empty = exported({ type: value, sessionAffinity: value, internalTrafficPolicy: value });
      expect(empty.serviceType).toBe("ClusterIP");
      expect([empty.sessionAffinity, empty.internalTrafficPolicy]).toEqual([undefined, undefined]);
    }
    for (const externalIPs of [null, []]) expect(exported({ externalIPs }).externalIPs).toBeUndefined();
  });

  test.each<[object, boolean, string[] | undefined]>([
    [{ clusterIP: "None", clusterIPs: undefined }, true, undefined],
    [{ clusterIP: undefined, clusterIPs: ["None"] }, true, undefined],
    [{ clusterIP: "10.96.0.1", clusterIPs: [] }, false, ["10.96.0.1"]],
    [{ clusterIP: "10.96.0.1", clusterIPs: ["10.96.0.1", "fd00::1"] }, false, ["10.96.0.1", "fd00::1"]],
    [{ clusterIP: undefined, clusterIPs: undefined }, false, undefined],
  ])("names its cluster IPs as %j: headless %j, %j", (spec, isHeadless, ips) => {
    const { headless, clusterIPs } = exported(spec);
    expect([headless, clusterIPs]).toEqual([isHeadless, ips]);
  });
});

describe("endpoints (discovery.k8s.io/v1)", () => {
  const endpointsOf = (...slices: KubernetesObject[]) =>
    extract(service("shop/web"), serviceExport("shop/web"), ...slices).exports["shop/web"]!.endpoints;
  const one = { addresses: ["10.0.0.1"] };
  const sliceWith = (name: string, endpoint: object, fields = {}) =>
    slice(`shop/${name}`, ofService("web"), [endpoint], fields);
  /** The endpoint of slices that have no other one. */
  const endpointOf = (...slices: KubernetesObject[]) => {
    const { address, ...rest } = endpointsOf(...slices)["http/TCP/8080"]!.members["10.0.0.1"]!;
    expect(address).toBe("10.0.0.1");
    return rest;
  };

  test.each([
    [undefined, {}],
    [{ ready: null, serving: null, terminating: null }, {}],
    [{ ready: true, serving: true, terminating: false }, {}],
    [{ ready: false }, { ready: false }],
    [
      { ready: false, serving: false, terminating: true },
      { ready: false, serving: false, terminating: true },
    ],
  ])("conditions %j become %j: absent means ready, serving, not terminating", (conditions, kept) => {
    expect(endpointOf(sliceWith("web-1", { ...one, conditions }))).toEqual(kept);
  });

  test.each<[object, object, object]>([
    [{ ready: false }, { ready: false }, { ready: false }],
    [{ ready: false }, { ready: true }, {}],
    [{ ready: true }, { ready: false }, {}],
    [{ serving: false }, { serving: false }, { serving: false }],
    [{}, { serving: false }, {}],
    [{ terminating: true }, { terminating: true }, { terminating: true }],
    [{ terminating: true }, {}, {}],
  ])(
    "an endpoint in two slices has, for the conditions %j and %j, the conditions %j",
    (left, right, kept) => {
      const slices = [left, right].map((conditions, at) => sliceWith(`web-${at}`, { ...one, conditions }));
      expect(endpointOf(...slices)).toEqual(kept);
    },
  );

  test("an endpoint in several slices has the zone of the first one by name that has one", () => {
    const slices = [undefined, "b", "c"].map((zone, at) => sliceWith(`web-${at}`, { ...one, zone }));
    expect(endpointOf(...slices.reverse())).toEqual({ zone: "b" });
  });

  test("slices are merged by their ports", () => {
    const endpoints = endpointsOf(
      sliceWith("web-1", { addresses: ["10.0.0.2"] }),
      sliceWith("web-2", one),
      sliceWith("web-3", { addresses: ["fd00::1"] }, { addressType: "IPv6" }),
      sliceWith("web-4", { addresses: ["10.0.0.3"] }, { ports: [{ name: "http", port: 9090 }] }),
    );
    expect(membersIn(endpoints)).toEqual([
      ["http/TCP/8080", ["10.0.0.1", "10.0.0.2", "fd00::1"]],
      ["http/TCP/9090", ["10.0.0.3"]],
    ]);
  });

  test.each([
    ["unnamed, without protocol", [{ port: 53 }], "(unnamed)/TCP/53"],
    ["with an empty protocol", [{ port: 53, protocol: "" }], "(unnamed)/TCP/53"],
    ["with a name that no API server accepts", [{ name: "a, b", port: 53 }], "(a%2c%20b)/TCP/53"],
    ["with a name that begins with a hyphen", [{ name: "-a.b_c", port: 53 }], "(-a.b_c)/TCP/53"],
    ["without number: every port", [{ name: "any", protocol: "TCP", port: null }], "*"],
    ["none", null, "*"],
    ["in any order, twice", ["b", "a", "b"].map((name) => ({ name, port: 1 })), "a/TCP/1,b/TCP/1"],
  ])("ports %s", (_, ports, key) => {
    expect(Object.keys(endpointsOf(sliceWith("web-1", one, { ports })))).toEqual([key]);
  });

  test("port sets too long for a key stay distinct if they start alike", () => {
    const many = Array.from({ length: 400 }, (_, index) => ({ name: `port-${index}`, port: 1000 + index }));
    const endpoints = endpointsOf(
      sliceWith("web-1", one, { ports: many }),
      sliceWith("web-2", { addresses: ["10.0.0.2"] }, { ports: many.slice(0, -1) }),
    );
    const sizes = Object.values(endpoints).map(({ ports }) => ports.length);
    expect(sizes).toEqual([400, 399]);
    expect(membersIn(endpoints).map(([, members]) => members)).toEqual([["10.0.0.1"], ["10.0.0.2"]]);
  });

  test("slices of imports never belong to the Service, also with its label (Cilium, GKE)", () => {
    const labels = [ofImport("web", "west"), { "multicluster.kubernetes.io/source-cluster": "west" }];
    for (const imported of labels)
      expect(endpointsOf(slice("shop/a", { ...ofService("web"), ...imported }, [one]))).toEqual({});
  });
});

describe("imports (KEP-1645, Importing Services)", () => {
  test("an import has its slices by source cluster, with the label unchanged", () => {
    const { imports, exports } = extract(
      serviceImport("shop/web", { sessionAffinity: "None" }),
      slice("shop/w-1", ofImport("web", "West_1"), [{ addresses: ["10.1.0.1"] }]),
      slice("shop/w-2", ofImport("web", ""), [{ addresses: ["10.1.0.2"] }]),
      slice("shop/local", ofService("web"), [{ addresses: ["10.0.0.1"] }]),
    );
    expect(exports).toEqual({});
    expect(imports["shop/web"]).toMatchObject({
      type: "ClusterSetIP",
      ips: ["10.42.0.1"],
      ports: [{ name: "", protocol: "TCP", port: 80 }],
      sessionAffinity: "None",
    });
    const { "": unnamed, West_1: west, ...others } = imports["shop/web"]!.endpoints;
    expect([unnamed, west].map((groups) => membersIn(groups!))).toEqual([
      [["http/TCP/8080", ["10.1.0.2"]]],
      [["http/TCP/8080", ["10.1.0.1"]]],
    ]);
    expect(others).toEqual({});
  });

  test("keeps the valid parts of a spec", () => {
    for (const spec of [undefined, null, {}, { ports: [] }]) {
      const made = object("multicluster.x-k8s.io/v1beta1", "ServiceImport", "shop/x", { spec });
      expect(extract(made).imports["shop/x"]).toEqual({ ips: [], ports: [], endpoints: {} });
    }
  });

  test("leaves out what Submariner's Lighthouse keeps for itself, by its labels or annotations", () => {
    const spec = { type: "ClusterSetIP", ips: ["10.96.0.7"], ports: [{ port: 80 }] };
    for (const where of ["labels", "annotations"]) {
      const kept = { [where]: { "lighthouse.submariner.io/sourceNamespace": "shop" } };
      const own = object("multicluster.x-k8s.io/v1alpha1", "ServiceImport", "shop/web-east", { spec }, kept);
      const { imports, findings } = extract(own, serviceImport("shop/web"));
      expect([Object.keys(imports), findings]).toEqual([["shop/web"], {}]);
    }
  });

  test("prefers multicluster.x-k8s.io to the other API group", () => {
    const { imports } = extract(
      serviceImport("shop/web", { ips: ["10.42.0.2"] }, "net.gke.io/v1"),
      serviceImport("shop/web"),
    );
    expect(imports["shop/web"]!.ips).toEqual(["10.42.0.1"]);
  });
});

test("a Terminating namespace still counts; without the namespace its objects are leftovers", () => {
  const web = [service("gone/web"), serviceExport("gone/web"), serviceExport("gone/lonely")];
  const terminating = extract(...web, namespace("gone", { deletionTimestamp: "2026-01-02T03:04:06Z" }));
  expect(Object.keys(terminating.exports)).toEqual(["gone/web"]);
  expect(Object.keys(terminating.findings)).toEqual(["ServiceExport/gone/lonely/NoService"]);
  const leftover = extract(...web);
  expect([leftover.exports, leftover.findings]).toEqual([{}, {}]);
});

const uid = "721ab723-13bc-11e5-aec2-42010af0021e";
test.each([
  ["given", "east", "west", "east"],
  ["the ClusterProperty", undefined, "west.registry", "west.registry"],
  ["the UID of kube-system", undefined, undefined, uid],
])("the cluster id is %s (KEP-2149)", (_, clusterId, property, expected) => {
  const objects = [
    namespace("kube-system", { uid }),
    clusterProperty("clusterset.k8s.io", "not this one"),
    ...(property === undefined ? [] : [clusterProperty("cluster.clusterset.k8s.io", property)]),
  ];
  expect(extractSnapshot(objects, clusterId === undefined ? {} : { clusterId }).clusterId).toBe(expected);
});
