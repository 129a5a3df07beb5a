import { describe, expect, test } from "vitest";
import { extractSnapshot, SnapshotAssembler } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import { chooseClusterId, suggestKind } from "../../src/extract/objects.ts";
import { OWNED_NAME_ANNOTATION } from "../../src/extract/services/local-service.ts";
import { UNDATED } from "../../src/snapshot/schema.ts";
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

type Fields = Readonly<Record<string, unknown>>;

/** The findings of a cluster with its own zone and the namespace `shop`, as `<key>: <message>`. */
function findingsOf(objects: readonly KubernetesObject[]): string[] {
  const clusterZone = { name: "cluster.local", pods: "verified" } as const;
  const { findings } = extractSnapshot([namespace("shop"), ...objects], { clusterId: "east", clusterZone });
  return Object.entries(findings).map(([key, { message }]) => `${key}: ${message}`);
}

/** The exported Service `shop/web`. */
function exportedWeb(spec: Fields = {}, status: Fields = {}): KubernetesObject[] {
  return [service("shop/web", spec, status), serviceExport("shop/web")];
}

/** The exported Service `shop/web` with the EndpointSlice `shop/one`. */
function webWithSlice(endpoints: unknown, fields: Fields = {}): KubernetesObject[] {
  return [...exportedWeb(), slice("shop/one", ofService("web"), endpoints, fields)];
}

describe("services", () => {
  const ADDRESS = "10.0.0.1";
  const annotated = (type: string, value: string) =>
    object(
      "v1",
      "Service",
      "shop/web",
      { spec: { type } },
      { annotations: { [OWNED_NAME_ANNOTATION]: value } },
    );

  test.each<[string, KubernetesObject[]]>([
    ["Service/shop/a%2fb/InvalidName: the name is not valid for a Kubernetes object", [service("shop/a/b")]],
    [
      'ServiceExport/shop/web/NoService: no Service "shop/web" exists; create it or delete the ServiceExport',
      [serviceExport("shop/web")],
    ],
    [
      "ServiceExport/shop/web/Terminating: the ServiceExport is being deleted, so the service is no longer exported",
      [service("shop/web"), serviceExport("shop/web", {}, { deletionTimestamp: "2026-01-02T03:04:06Z" })],
    ],
    [
      'ServiceExport/shop/web/InvalidServiceType: the Service is of type "ExternalName", which cannot be exported (KEP-1645, Service Types); create it in each cluster instead',
      [service("shop/web", { type: "ExternalName" }), serviceExport("shop/web")],
    ],
    [
      'ServiceExport/shop/web/InvalidTimestamp: metadata.creationTimestamp holds "now", which is not an RFC 3339 time; the object counts as the youngest',
      [service("shop/web"), serviceExport("shop/web", {}, { creationTimestamp: "now" })],
    ],
    [
      'ServiceExport/shop/web/InvalidField: status.clusters holds {"cluster":"East"}, which names no cluster; it is left out',
      [
        service("shop/web"),
        serviceExport("shop/web", {}, {}, undefined, {
          clusters: [{ cluster: "East" }, { cluster: "west" }],
        }),
      ],
    ],
    [
      'Service/shop/web/InvalidField: spec.ipFamilies holds "IPv5", neither IPv4 nor IPv6; it is left out',
      exportedWeb({ ipFamilies: ["IPv5"] }),
    ],
    [
      'ServiceExport/shop/web/InvalidField: spec.exportedLabels holds {"a b":"c"}, which is not a label; it is left out',
      [service("shop/web"), serviceExport("shop/web", { exportedLabels: { "a b": "c" } })],
    ],
    [
      'ServiceExport/shop/web/InvalidField: spec.exportedAnnotations holds {"a":1}, which is not a label; it is left out',
      [service("shop/web"), serviceExport("shop/web", { exportedAnnotations: { a: 1 } })],
    ],
    [
      'ServiceExport/shop/web/TooMany: spec.exportedAnnotations has more than 262144 bytes as JSON; "b" is left out, and so is every other one that does not fit',
      [
        service("shop/web"),
        serviceExport("shop/web", { exportedAnnotations: { a: "1", b: "\u0001".repeat(50_000), c: "1" } }),
      ],
    ],
    [
      "Service/shop/web/TooMany: status.loadBalancer.ingress has 101 elements; the first 100 are kept, the others left out",
      exportedWeb({}, { loadBalancer: { ingress: Array(101).fill({ ip: ADDRESS }) } }),
    ],
    [
      'ServiceExport/shop/web/InvalidField: status.clusters holds "east", which is not a list; it is left out',
      [service("shop/web"), serviceExport("shop/web", {}, {}, undefined, { clusters: "east" })],
    ],
    [
      'Service/shop/web/InvalidField: spec.publishNotReadyAddresses is "true", neither true nor false; it is left out',
      exportedWeb({ publishNotReadyAddresses: "true" }),
    ],
    [
      'Service/shop/web/InvalidPort: spec.ports[1] holds {"port":2147483648}; a port needs a number of 32 bits, and may have a name of up to 63 characters and a protocol; it is left out',
      exportedWeb({ ports: [{ port: 80 }, { port: 2 ** 31 }] }),
    ],
    [
      "Service/shop/web/TooMany: spec.ports has 1001 elements; the first 1000 are kept, the others left out",
      exportedWeb({ ports: Array.from({ length: 1001 }, (_, port) => ({ port })) }),
    ],
    [
      "Service/shop/web/InvalidField: spec.sessionAffinityConfig.clientIP.timeoutSeconds holds 1.5, which is not a whole number; it is left out",
      exportedWeb({ sessionAffinityConfig: { clientIP: { timeoutSeconds: 1.5 } } }),
    ],
    [
      "ServiceImport/shop/web/InvalidField: spec.type holds 1, which is not a text of up to 63 characters; it is left out",
      [serviceImport("shop/web", { type: 1 })],
    ],
    [
      "ServiceImport/shop/web/InvalidField: spec.ips[0] holds 1, which is not a text of up to 64 characters; it is left out",
      [serviceImport("shop/web", { ips: [1] })],
    ],
    [
      'Service/shop/web/InvalidServiceType: the Service is of type "Mesh", which Kubernetes does not have; it is not served in the cluster\'s zone',
      [service("shop/web", { type: "Mesh" })],
    ],
    [
      'Service/shop/web/InvalidField: spec.externalName holds "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee..., which is not a text of up to 253 characters; it is left out',
      [service("shop/web", { type: "ExternalName", externalName: "e".repeat(254) })],
    ],
    [
      'Service/shop/web/InvalidSpecName: spec.name is "a.b", which requires the Service to be of type ExternalName; it is left out',
      [service("shop/web", { name: "a.b" })],
    ],
    [
      'Service/shop/web/InvalidSpecName: the annotation clusterset-doh.dev/name is "a.b", which requires the Service to be of type ExternalName; it is left out',
      [annotated("ClusterIP", "a.b")],
    ],
    [
      'Service/shop/web/InvalidSpecName: the annotation clusterset-doh.dev/name is "a b", which is not a valid DNS name; the CNAME record keeps the name of the Service',
      [annotated("ExternalName", "a b")],
    ],
    [
      'Pod/shop/web-0/InvalidPodAddress: status.podIPs holds "a b"; it is left out',
      [pod("shop/web-0", { podIPs: [{ ip: "a b" }] })],
    ],
    [
      "Service/shop/nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn/InvalidName: the name is not valid for a Kubernetes object",
      [service("shop/" + "n".repeat(254))],
    ],
  ])("reports %s", (expected, objects) => {
    expect(findingsOf(objects)).toEqual([expected]);
  });
});

const ingress = (value: unknown) => ({ loadBalancer: { ingress: value } });

test.each<[field: string, value: unknown, most: number | "list", spec: object, status?: object]>([
  ["spec.sessionAffinity", "s".repeat(64), 63, { sessionAffinity: "s".repeat(64) }],
  ["spec.internalTrafficPolicy", 1, 63, { internalTrafficPolicy: 1 }],
  ["spec.trafficDistribution", [], 317, { trafficDistribution: [] }],
  ["spec.externalIPs[0]", 1, 64, { externalIPs: [1] }],
  ["spec.clusterIPs[0]", true, 64, { clusterIPs: [true] }],
  ["spec.clusterIP[0]", 7, 64, { clusterIPs: undefined, clusterIP: 7 }],
  [
    "spec.ports[0].appProtocol",
    "p".repeat(318),
    317,
    { ports: [{ port: 80, appProtocol: "p".repeat(318) }] },
  ],
  ["status.loadBalancer.ingress[0].ip", "1".repeat(65), 64, {}, ingress([{ ip: "1".repeat(65) }])],
  [
    "status.loadBalancer.ingress[0].hostname",
    "h".repeat(254),
    253,
    {},
    ingress([{ hostname: "h".repeat(254) }]),
  ],
  ["status.loadBalancer.ingress", { ip: "192.0.2.1" }, "list", {}, ingress({ ip: "192.0.2.1" })],
  ["spec.externalIPs", "192.0.2.1", "list", { externalIPs: "192.0.2.1" }],
  ["spec.ports", { port: 80 }, "list", { ports: { port: 80 } }],
  ["spec.ipFamilies", "IPv4", "list", { ipFamilies: "IPv4" }],
])(
  "reports that %s of a Service holds %j, and takes up to %s characters",
  (field, value, most, spec, status) => {
    const text = JSON.stringify(value);
    const quoted = text.length > 80 ? `${text.slice(0, 77)}...` : text;
    const kind = most === "list" ? "a list" : `a text of up to ${most} characters`;
    const message = `${field} holds ${quoted}, which is not ${kind}; it is left out`;
    expect(findingsOf(exportedWeb(spec as never, status as never))).toEqual([
      `Service/shop/web/InvalidField: ${message}`,
    ]);
  },
);

describe("slices", () => {
  const ADDRESS = "10.0.0.1";
  const IMPORT = "multicluster.kubernetes.io/service-name";
  const SOURCE = "multicluster.kubernetes.io/source-cluster";

  test.each<[string, KubernetesObject[]]>([
    [
      "EndpointSlice/shop/one/NoServiceName: has no label kubernetes.io/service-name; the slice is left out",
      [slice("shop/one", {}, [])],
    ],
    [
      "EndpointSlice/shop/one/NoServiceName: has no label multicluster.kubernetes.io/service-name; the slice is left out",
      [slice("shop/one", { [SOURCE]: "west" }, [])],
    ],
    [
      "EndpointSlice/shop/one/NoSourceCluster: has no label multicluster.kubernetes.io/source-cluster; the slice is left out",
      [serviceImport("shop/web"), slice("shop/one", { [IMPORT]: "web" }, [])],
    ],
    [
      "EndpointSlice/shop/one/InvalidSourceCluster: the value of label multicluster.kubernetes.io/source-cluster is not a label value; the slice is left out",
      [serviceImport("shop/web"), slice("shop/one", ofImport("web", "a b"), [])],
    ],
    [
      'EndpointSlice/shop/one/UnsupportedAddressType: addressType is "FQDN", neither IPv4 nor IPv6; the slice is left out',
      webWithSlice([], { addressType: "FQDN" }),
    ],
    [
      "EndpointSlice/shop/one/InvalidEndpoint: endpoints[0] has no addresses; it is left out; endpoints[1] has no addresses; it is left out",
      webWithSlice([{}, { addresses: [] }]),
    ],
    [
      'EndpointSlice/shop/one/InvalidEndpoint: endpoints[0].addresses holds "a b"; it is left out',
      webWithSlice([{ addresses: ["a b"] }]),
    ],
    [
      "EndpointSlice/shop/one/InvalidEndpoint: endpoints[0].conditions.serving is 1, neither true nor false; the endpoint is left out",
      webWithSlice([{ addresses: [ADDRESS], conditions: { serving: 1 } }]),
    ],
    [
      'EndpointSlice/shop/one/InvalidEndpoint: endpoints[0].hostname holds "a b", which is not a host name; the endpoint is kept without it',
      webWithSlice([{ addresses: [ADDRESS], hostname: "a b" }]),
    ],
    [
      'EndpointSlice/shop/one/InvalidField: endpoints[0].zone holds "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz..., which is not a text of up to 317 characters; it is left out',
      webWithSlice([{ addresses: [ADDRESS], zone: "z".repeat(318) }]),
    ],
    [
      'EndpointSlice/shop/one/InvalidPort: ports[0] holds {"port":"80"}; a port needs a number of 32 bits, and may have a name of up to 63 characters and a protocol; it is left out',
      webWithSlice([], { ports: [{ port: "80" }] }),
    ],
    [
      'EndpointSlice/shop/one/InvalidField: ports holds {"port":80}, which is not a list; it is left out; endpoints holds {"addresses":["10.0.0.1"]}, which is not a list; it is left out',
      webWithSlice({ addresses: [ADDRESS] }, { ports: { port: 80 } }),
    ],
    [
      "EndpointSlice/shop/one/TooMany: ports has 1001 elements; the first 1000 are kept, the others left out",
      webWithSlice([], { ports: Array.from({ length: 1001 }, (_, port) => ({ port })) }),
    ],
  ])("reports %s", (expected, objects) => {
    expect(findingsOf(objects)).toEqual([expected]);
  });
});

test.each([
  { port: 80.5 },
  { port: 80, protocol: "p".repeat(17) },
  { port: 80, name: "n".repeat(64) },
  "http",
])("a port like %j is left out with a finding", (port) => {
  const found = expect.stringMatching(/InvalidPort: spec\.ports\[0\] holds/);
  expect(findingsOf(exportedWeb({ ports: [port, { port: 80 }] }))).toEqual([found]);
});

const wrongPorts = (count: number) => ({
  ports: Array.from({ length: count }, (_, index) => ({ name: index })),
});

describe("a finding", () => {
  test.each([
    [10, ""],
    [11, "; and 1 more"],
    [13, "; and 3 more"],
  ])("with %i messages ends with %j", (count, end) => {
    const [finding] = findingsOf(exportedWeb(wrongPorts(count)));
    expect(finding!.match(/spec\.ports\[\d+\]/g)).toHaveLength(10);
    expect(finding!.endsWith(`it is left out${end}`)).toBe(true);
  });

  test.each([
    [78, `"${"s".repeat(78)}"`],
    [79, `"${"s".repeat(76)}...`],
  ])("quotes a text of %i characters as %s", (length, quoted) => {
    expect(findingsOf(exportedWeb({ sessionAffinity: "s".repeat(length) }))).toEqual([
      `Service/shop/web/InvalidField: spec.sessionAffinity holds ${quoted}, which is not a text of up to 63 characters; it is left out`,
    ]);
  });

  test("about a cluster-scoped object has no namespace, and a name of at most 253 characters", () => {
    const { findings } = extractSnapshot([namespace("n".repeat(300))], { clusterId: "east" });
    const name = "n".repeat(253);
    expect(findings).toEqual({
      [`Namespace/${name}/InvalidName`]: {
        reason: "InvalidName",
        kind: "Namespace",
        name,
        message: "the name is not valid for a Kubernetes object",
      },
    });
  });

  test("about an object without a service needs its namespace, and ends with its cause", () => {
    const assembler = new SnapshotAssembler({ clusterId: "east" });
    assembler.upsert(slice("shop/stray", {}, []));
    expect(assembler.snapshot().findings).toEqual({});
    assembler.upsert(slice("shop/stray", ofService("web"), []));
    assembler.upsert(namespace("shop"));
    expect(assembler.snapshot().findings).toEqual({});
  });
});

describe("null counts as absent", () => {
  test("in the timeout of session affinity and its parents", () => {
    for (const config of [null, {}, { clientIP: null }, { clientIP: { timeoutSeconds: null } }])
      expect(findingsOf(exportedWeb({ sessionAffinityConfig: config }))).toEqual([]);
  });

  test("in the creation time", () => {
    const objects = [service("shop/web"), serviceExport("shop/web", {}, { creationTimestamp: null })];
    expect(findingsOf(objects)).toEqual([]);
    const { exports } = extractSnapshot([namespace("shop"), ...objects], { clusterId: "east" });
    expect(exports["shop/web"]!.exportedAt).toBe(UNDATED);
  });
});

describe("the cluster id (KEP-2149)", () => {
  test.each<[string, [string | undefined, unknown, unknown]]>([
    ['the cluster id given is "A"', ["A", "west", "uid-1"]],
    ['the ClusterProperty cluster.clusterset.k8s.io is ["west"]', [undefined, ["west"], "uid-1"]],
    ["the UID of the namespace kube-system is 7", [undefined, undefined, 7]],
    ["the cluster has no id", [undefined, undefined, undefined]],
  ])("explains that %s, and names the next step", (message, sources) => {
    expect(() => chooseClusterId(...sources)).toThrow(message);
    expect(() => chooseClusterId(...sources)).toThrow("--cluster-id");
  });
});

test("the topology has the first 1,000 zones by name", () => {
  const zones = Array.from({ length: 1001 }, (_, index) => `zone-${1000 + index}`);
  const nodes = zones
    .toReversed()
    .map((zone) => node(`node-of-${zone}`, { "topology.kubernetes.io/zone": zone }));
  expect(extractSnapshot(nodes, { clusterId: "east" }).topology).toEqual({ zones: zones.slice(0, 1000) });
});

describe("misspelt kinds", () => {
  const EXPORT = "kind ServiceExport of multicluster.x-k8s.io/v1beta1";
  const IMPORT = "kind ServiceImport of multicluster.x-k8s.io/v1beta1";

  test.each([
    // KEP-1645's own examples.
    ["multicluster.k8s.io/v1alpha1", "ServiceExport", EXPORT],
    ["multicluster.k8s.io/v1alpha1", "ServiceImport", IMPORT],
    ["multicluster.x-k8s.io/v1alpha1", "ServiceExprot", EXPORT],
    ["multicluster.x-k8s.io/v1beta1", "Serviceexport", EXPORT],
    ["multicluster.x-k8s.io/v1beta1", "ServiceImports", IMPORT],
    ["multicluster.x-k8s.io/v1beta1", "ServiceImort", IMPORT],
    ["net.gke.io/v1", "ServiceExports", EXPORT],
    ["v1", "ServiceExport", EXPORT],
    ["about.x-k8s.io/v1alpha1", "ClusterProperty", "kind ClusterProperty of about.k8s.io/v1"],
    ["about.k8s.io/v1", "ClusterProperties", "kind ClusterProperty of about.k8s.io/v1"],
    ["v1", "EndpointSlice", "kind EndpointSlice of discovery.k8s.io/v1"],
    ["discovery.k8s.io/v1", "EndPointSlices", "kind EndpointSlice of discovery.k8s.io/v1"],
    ["v1", "service", "kind Service of v1"],
    ["v1", "Servcie", "kind Service of v1"],
    ["v1", "Services", "kind Service of v1"],
    ["core/v1", "Service", "kind Service of v1"],
    ["v1", "NameSpace", "kind Namespace of v1"],
    ["v1", "Pods", "kind Pod of v1"],
  ])("%s %s yields a finding that suggests %s", (apiVersion, kind, meant) => {
    expect(suggestKind({ apiVersion, kind })).toBe(meant);
  });

  test.each([
    ["v1", "Service"],
    ["discovery.k8s.io/v1beta1", "EndpointSlice"],
    ["multicluster.x-k8s.io/v1alpha1", "ServiceExport"],
    ["net.gke.io/v1", "ServiceImport"],
    ["about.k8s.io/v1alpha1", "ClusterProperty"],
    ["serving.knative.dev/v1", "Service"],
    ["multicluster.x-k8s.io/v1alpha1", "ClusterProfile"],
    ["multicluster.x-k8s.io/v1alpha1", "Work"],
    ["networking.istio.io/v1", "ServiceEntry"],
    ["monitoring.coreos.com/v1", "ServiceMonitor"],
    ["metrics.k8s.io/v1beta1", "PodMetrics"],
    ["rbac.authorization.k8s.io/v1", "Role"],
    ["batch/v1", "Job"],
    ["v1", "Endpoints"],
    ["v1", "ServiceAccount"],
    ["v1", "ConfigMap"],
    ["v1", "Secret"],
    ["apps/v1", "Deployment"],
  ])("%s %s yields no finding", (apiVersion, kind) => {
    expect(suggestKind({ apiVersion, kind })).toBeUndefined();
  });
});
