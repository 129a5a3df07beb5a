import { describe, expect, test } from "vitest";
import { extractSnapshot } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import { parseSnapshot } from "../../src/snapshot/parse.ts";
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

describe("exports (KEP-1645, Exporting Services)", () => {
  test("an export contains the ServiceExport, its Service and that Service's slices", () => {
    const { exports, findings } = extract(
      service(
        "shop/web",
        {
          type: "LoadBalancer",
          clusterIP: "10.96.0.10",
          clusterIPs: ["10.96.0.10", "fd00::10"],
          ipFamilies: ["IPv4", "IPv6"],
          externalIPs: ["192.0.2.9"],
          sessionAffinity: "ClientIP",
          sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } },
          internalTrafficPolicy: "Cluster",
          trafficDistribution: "PreferSameZone",
          ports: [
            { name: "http", protocol: "TCP", port: 80, appProtocol: "http" },
            { name: "dns", protocol: "UDP", port: 53 },
          ],
        },
        { loadBalancer: { ingress: [{ ip: "192.0.2.1", ipMode: "VIP" }, { hostname: "lb.example" }] } },
      ),
      serviceExport("shop/web", { exportedLabels: { tier: "front" }, exportedAnnotations: { "a/b": "c d" } }),
      slice("shop/web-1", ofService("web"), [
        { addresses: ["10.0.0.1"], conditions: { ready: true, serving: true }, zone: "east-a" },
      ]),
    );
    expect(findings).toEqual({});
    expect(exports["shop/web"]).toEqual({
      exportedAt: "2026-01-02T03:04:05Z",
      serviceType: "LoadBalancer",
      headless: false,
      ports: [
        { name: "http", protocol: "TCP", port: 80, appProtocol: "http" },
        { name: "dns", protocol: "UDP", port: 53 },
      ],
      sessionAffinity: "ClientIP",
      sessionAffinityTimeoutSeconds: 600,
      internalTrafficPolicy: "Cluster",
      trafficDistribution: "PreferSameZone",
      ipFamilies: ["IPv4", "IPv6"],
      exportedLabels: { tier: "front" },
      exportedAnnotations: { "a/b": "c d" },
      clusterIPs: ["10.96.0.10", "fd00::10"],
      loadBalancer: [{ ip: "192.0.2.1" }, { hostname: "lb.example" }],
      externalIPs: ["192.0.2.9"],
      endpoints: {
        "http/TCP/8080": {
          ports: [{ name: "http", protocol: "TCP", port: 8080 }],
          members: { "10.0.0.1": { address: "10.0.0.1", zone: "east-a" } },
        },
      },
    });
  });

  test("an export's labels and annotations are those that fit, by their bytes as JSON", () => {
    const { exports } = extract(
      service("shop/web"),
      serviceExport("shop/web", {
        exportedLabels: Object.fromEntries(
          Array.from({ length: 30_000 }, (_, index) => [`key-${index}`, ""]),
        ),
        exportedAnnotations: { a: "1", control: "\u0001".repeat(50_000), plain: "x".repeat(200_000), z: "2" },
      }),
    );
    const { exportedLabels, exportedAnnotations } = exports["shop/web"]!;
    expect(exportedAnnotations).toEqual({ a: "1", plain: "x".repeat(200_000), z: "2" });
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
    expect(exports["shop/db"]).not.toHaveProperty("clusterIPs");
    expect(exports["shop/db"]!.endpoints["http/TCP/8080"]!.members).toEqual({
      "10.0.0.1#db-0": { address: "10.0.0.1", hostname: "db-0", ready: false, terminating: true },
    });
  });

  test.each([
    ["true", true],
    ["false", undefined],
    ["True", undefined],
    ["", undefined],
  ])(
    "the annotation tolerate-unready-endpoints %j counts as publishNotReadyAddresses: %s (2.1)",
    (value, expected) => {
      const old = service("shop/db", { clusterIP: "None" });
      const annotations = { "service.alpha.kubernetes.io/tolerate-unready-endpoints": value };
      const { exports } = extract(
        { ...old, metadata: { ...old.metadata, annotations } },
        serviceExport("shop/db"),
      );
      expect(exports["shop/db"]!.publishNotReadyAddresses).toBe(expected);
    },
  );

  test("ServiceExports of two API groups are one export with the older date", () => {
    const { exports } = extract(
      service("shop/web"),
      serviceExport("shop/web"),
      serviceExport("shop/web", {}, { creationTimestamp: "2025-01-01T00:00:00Z" }, "net.gke.io/v1"),
    );
    expect(exports["shop/web"]!.exportedAt).toBe("2025-01-01T00:00:00Z");
  });
});

describe("endpoints (discovery.k8s.io/v1)", () => {
  const exported = [service("shop/web"), serviceExport("shop/web")];
  const endpointsOf = (...slices: KubernetesObject[]) =>
    extract(...exported, ...slices).exports["shop/web"]!.endpoints;

  test.each([
    [{}, {}],
    [undefined, {}],
    [null, {}],
    [{ ready: null, serving: null, terminating: null }, {}],
    [{ ready: true, serving: true, terminating: false }, {}],
    [{ ready: false }, { ready: false }],
    [
      { ready: false, serving: true, terminating: true },
      { ready: false, terminating: true },
    ],
    [
      { ready: false, serving: false, terminating: true },
      { ready: false, serving: false, terminating: true },
    ],
  ])("conditions %j become %j: absent means ready, serving, not terminating", (conditions, kept) => {
    const endpoints = endpointsOf(
      slice("shop/web-1", ofService("web"), [{ addresses: ["10.0.0.1"], conditions }]),
    );
    expect(endpoints["http/TCP/8080"]!.members).toEqual({ "10.0.0.1": { address: "10.0.0.1", ...kept } });
  });

  test("merges slices by their ports; an endpoint in two slices is one, and ready if it is ready in either", () => {
    const other = { ports: [{ name: "http", protocol: "TCP", port: 9090 }] };
    const endpoints = endpointsOf(
      slice("shop/web-1", ofService("web"), [
        { addresses: ["10.0.0.2"], conditions: { ready: false, terminating: true }, zone: "a" },
        { addresses: ["10.0.0.1"] },
      ]),
      slice("shop/web-2", ofService("web"), [{ addresses: ["10.0.0.2"], conditions: { ready: true } }]),
      slice("shop/web-3", ofService("web"), [{ addresses: ["fd00::1"] }], { addressType: "IPv6" }),
      slice("shop/web-4", ofService("web"), [{ addresses: ["10.0.0.3"] }], other),
    );
    expect(Object.keys(endpoints)).toEqual(["http/TCP/8080", "http/TCP/9090"]);
    expect(endpoints["http/TCP/8080"]!.members).toEqual({
      "10.0.0.1": { address: "10.0.0.1" },
      "10.0.0.2": { address: "10.0.0.2", zone: "a" },
      "fd00::1": { address: "fd00::1" },
    });
    expect(Object.keys(endpoints["http/TCP/9090"]!.members)).toEqual(["10.0.0.3"]);
  });

  test.each([
    ["unnamed, without protocol", [{ port: 53 }], "(unnamed)/TCP/53"],
    ["with an empty protocol", [{ port: 53, protocol: "" }], "(unnamed)/TCP/53"],
    ["with a name that no API server accepts", [{ name: "a, b", port: 53 }], "(a%2c%20b)/TCP/53"],
    ["with a name that begins with a hyphen", [{ name: "-a.b_c", port: 53 }], "(-a.b_c)/TCP/53"],
    ["without number: every port", [{ name: "any", protocol: "TCP", port: null }], "*"],
    ["none", null, "*"],
    [
      "in any order, twice",
      [
        { name: "b", port: 2 },
        { name: "a", port: 1 },
        { name: "b", port: 2, protocol: "TCP" },
      ],
      "a/TCP/1,b/TCP/2",
    ],
  ])("ports %s", (_, ports, key) => {
    const endpoints = endpointsOf(
      slice("shop/web-1", ofService("web"), [{ addresses: ["10.0.0.1"] }], { ports }),
    );
    expect(Object.keys(endpoints)).toEqual([key]);
  });

  test("port sets too long for a key stay distinct if they start alike", () => {
    const many = Array.from({ length: 400 }, (_, index) => ({ name: `port-${index}`, port: 1000 + index }));
    const endpoints = endpointsOf(
      slice("shop/web-1", ofService("web"), [{ addresses: ["10.0.0.1"] }], { ports: many }),
      slice("shop/web-2", ofService("web"), [{ addresses: ["10.0.0.2"] }], { ports: many.slice(0, -1) }),
    );
    expect(
      Object.values(endpoints).map(({ ports, members }) => [ports.length, Object.keys(members)]),
    ).toEqual([
      [400, ["10.0.0.1"]],
      [399, ["10.0.0.2"]],
    ]);
  });

  test("slices of imports never belong to the Service, also with its label (Cilium, GKE)", () => {
    const endpoints = endpointsOf(
      slice("shop/a", { ...ofService("web"), ...ofImport("web", "west") }, [{ addresses: ["10.1.0.1"] }]),
      slice("shop/b", { ...ofService("web"), "multicluster.kubernetes.io/source-cluster": "west" }, [
        { addresses: ["10.1.0.2"] },
      ]),
    );
    expect(endpoints).toEqual({});
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
    expect(
      Object.entries(imports["shop/web"]!.endpoints).map(([source, groups]) => [
        source,
        Object.keys(groups["http/TCP/8080"]!.members),
      ]),
    ).toEqual([
      ["", ["10.1.0.2"]],
      ["West_1", ["10.1.0.1"]],
    ]);
  });

  test.each([undefined, null, {}, { ports: [] }])("keeps the valid parts of the spec %j", (spec) => {
    const { imports } = extract(object("multicluster.x-k8s.io/v1beta1", "ServiceImport", "shop/x", { spec }));
    expect(imports["shop/x"]).toEqual({ ips: [], ports: [], endpoints: {} });
  });

  test.each(["labels", "annotations"])(
    "leaves out what Submariner's Lighthouse keeps for itself, by its %s",
    (where) => {
      const spec = { type: "ClusterSetIP", ips: ["10.96.0.7"], ports: [{ port: 80 }] };
      const kept = { [where]: { "lighthouse.submariner.io/sourceNamespace": "shop" } };
      const { imports, findings } = extract(
        object("multicluster.x-k8s.io/v1alpha1", "ServiceImport", "shop/web-shop-east", { spec }, kept),
        serviceImport("shop/web"),
      );
      expect([Object.keys(imports), findings]).toEqual([["shop/web"], {}]);
    },
  );

  test("prefers multicluster.x-k8s.io to the other API group", () => {
    const { imports } = extract(
      serviceImport("shop/web", { ips: ["10.42.0.2"] }, "net.gke.io/v1"),
      serviceImport("shop/web"),
    );
    expect(imports["shop/web"]!.ips).toEqual(["10.42.0.1"]);
  });
});

describe("namespaces, topology, cluster id", () => {
  test("a Terminating namespace still counts; without the namespace its objects are leftovers", () => {
    const web = [service("gone/web"), serviceExport("gone/web"), serviceExport("gone/lonely")];
    const terminating = extract(...web, namespace("gone", { deletionTimestamp: "2026-01-02T03:04:06Z" }));
    expect(Object.keys(terminating.exports)).toEqual(["gone/web"]);
    expect(Object.keys(terminating.findings)).toEqual(["ServiceExport/gone/lonely/NoService"]);
    const leftover = extract(...web);
    expect([leftover.exports, leftover.findings]).toEqual([{}, {}]);
  });
  test.each([
    ["given", "east", "west", "uid-1", "east"],
    ["the ClusterProperty", undefined, "west.registry", "uid-1", "west.registry"],
    [
      "the UID of kube-system",
      undefined,
      undefined,
      "721ab723-13bc-11e5-aec2-42010af0021e",
      "721ab723-13bc-11e5-aec2-42010af0021e",
    ],
  ])("the cluster id is %s (KEP-2149)", (_, given, property, uid, clusterId) => {
    const objects = [
      namespace("kube-system", { uid }),
      clusterProperty("clusterset.k8s.io", "not this one"),
      ...(property === undefined ? [] : [clusterProperty("cluster.clusterset.k8s.io", property)]),
    ];
    const options = given === undefined ? {} : { clusterId: given };
    expect(extractSnapshot(objects, options).clusterId).toBe(clusterId);
  });
});
