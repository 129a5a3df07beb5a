import { describe, expect, test } from "vitest";
import { extractSnapshot, SnapshotAssembler } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import { chooseClusterId, suggestKind } from "../../src/extract/objects.ts";
import { OWNED_NAME_ANNOTATION } from "../../src/extract/services/local-service.ts";
import { UNDATED } from "../../src/snapshot/schema.ts";
import {
  namespace,
  object,
  ofImport,
  ofService,
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

/** An exported Service. */
const exported = (name: string, spec: Fields = {}, status: Fields = {}) => [
  service(`shop/${name}`, spec, status),
  serviceExport(`shop/${name}`),
];
/** A Service with an export of its own. */
const exportedAs = (
  name: string,
  ...more: [spec?: Fields, metadata?: Fields, version?: string, status?: Fields]
) => [service(`shop/${name}`), serviceExport(`shop/${name}`, ...more)];
const ADDRESS = "10.0.0.1";

test("findings of services name what is wrong where, what would be right, and what becomes of it", () => {
  const clusters = [{ cluster: "East" }, { cluster: "west" }];
  const large = { a: "1", b: "\u0001".repeat(50_000), c: "1" };
  const named = { annotations: { [OWNED_NAME_ANNOTATION]: "a b" } };
  const objects = [
    service("shop/a/b"),
    service(`shop/${"n".repeat(254)}`),
    serviceExport("shop/alone"),
    ...exportedAs("terminating", {}, { deletionTimestamp: "2026-01-02T03:04:06Z" }),
    ...exported("alias", { type: "ExternalName" }),
    ...exportedAs("undated", {}, { creationTimestamp: "now" }),
    ...exportedAs("clusters", {}, {}, undefined, { clusters }),
    ...exportedAs("labels", { exportedLabels: { "a b": "c" }, exportedAnnotations: { a: 1 } }),
    ...exportedAs("large", { exportedAnnotations: large }),
    ...exported("texts", {
      sessionAffinity: "s".repeat(64),
      trafficDistribution: [],
      externalIPs: [1],
      clusterIPs: undefined,
      clusterIP: 7,
      ipFamilies: ["IPv5"],
      publishNotReadyAddresses: "true",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 1.5 } },
    }),
    ...exported("lists", { ipFamilies: "IPv4", ports: { port: 80 } }, { loadBalancer: { ingress: "a" } }),
    ...exported("ports", { ports: [{ port: 80, appProtocol: 9 }, { port: 2 ** 31 }] }),
    ...exported("many-ports", { ports: Array.from({ length: 1001 }, (_, port) => ({ port })) }),
    ...exported("ingress", {}, { loadBalancer: { ingress: [{ hostname: "h".repeat(254) }] } }),
    ...exported("many-ingress", {}, { loadBalancer: { ingress: Array(101).fill({ ip: ADDRESS }) } }),
    serviceImport("shop/imported", { ips: [1] }),
    service("shop/mesh", { type: "Mesh" }),
    service("shop/named", { name: "a.b" }),
    object("v1", "Service", "shop/annotated", { spec: { type: "ExternalName" } }, named),
  ];
  expect(findingsOf(objects).sort()).toEqual([
    "Service/shop/a%2fb/InvalidName: the name is not valid for a Kubernetes object",
    'Service/shop/annotated/InvalidSpecName: the annotation clusterset-doh.dev/name is "a b", which is not a valid DNS name; the CNAME record keeps the name of the Service',
    'Service/shop/ingress/InvalidField: status.loadBalancer.ingress[0].hostname holds "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh..., which is not a text of up to 253 characters; it is left out',
    `Service/shop/lists/InvalidField: ${[
      'spec.ports holds {"port":80}, which is not a list; it is left out',
      'spec.ipFamilies holds "IPv4", which is not a list; it is left out',
      'status.loadBalancer.ingress holds "a", which is not a list; it is left out',
    ].join("; ")}`,
    "Service/shop/many-ingress/TooMany: status.loadBalancer.ingress has 101 elements; the first 100 are kept, the others left out",
    "Service/shop/many-ports/TooMany: spec.ports has 1001 elements; the first 1000 are kept, the others left out",
    'Service/shop/mesh/InvalidServiceType: the Service is of type "Mesh", which Kubernetes does not have; it is not served in the cluster\'s zone',
    'Service/shop/named/InvalidSpecName: spec.name is "a.b", which requires the Service to be of type ExternalName; it is left out',
    `Service/shop/${"n".repeat(253)}/InvalidName: the name is not valid for a Kubernetes object`,
    "Service/shop/ports/InvalidField: spec.ports[0].appProtocol holds 9, which is not a text of up to 317 characters; it is left out",
    'Service/shop/ports/InvalidPort: spec.ports[1] holds {"port":2147483648}; a port needs a number of 32 bits, and may have a name of up to 63 characters and a protocol; it is left out',
    `Service/shop/texts/InvalidField: ${[
      'spec.sessionAffinity holds "ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss", which is not a text of up to 63 characters; it is left out',
      "spec.sessionAffinityConfig.clientIP.timeoutSeconds holds 1.5, which is not a whole number; it is left out",
      "spec.trafficDistribution holds [], which is not a text of up to 317 characters; it is left out",
      'spec.ipFamilies holds "IPv5", neither IPv4 nor IPv6; it is left out',
      'spec.publishNotReadyAddresses is "true", neither true nor false; it is left out',
      "spec.clusterIP[0] holds 7, which is not a text of up to 64 characters; it is left out",
      "spec.externalIPs[0] holds 1, which is not a text of up to 64 characters; it is left out",
    ].join("; ")}`,
    'ServiceExport/shop/alias/InvalidServiceType: the Service is of type "ExternalName", which cannot be exported (KEP-1645, Service Types); create it in each cluster instead',
    'ServiceExport/shop/alone/NoService: no Service "shop/alone" exists; create it or delete the ServiceExport',
    'ServiceExport/shop/clusters/InvalidField: status.clusters holds {"cluster":"East"}, which names no cluster; it is left out',
    'ServiceExport/shop/labels/InvalidField: spec.exportedLabels holds {"a b":"c"}, which is not a label; it is left out; spec.exportedAnnotations holds {"a":1}, which is not a label; it is left out',
    'ServiceExport/shop/large/TooMany: spec.exportedAnnotations has more than 262144 bytes as JSON; "b" is left out, and so is every other one that does not fit',
    "ServiceExport/shop/terminating/Terminating: the ServiceExport is being deleted, so the service is no longer exported",
    'ServiceExport/shop/undated/InvalidTimestamp: metadata.creationTimestamp holds "now", which is not an RFC 3339 time; the object counts as the youngest',
    "ServiceImport/shop/imported/InvalidField: spec.ips[0] holds 1, which is not a text of up to 64 characters; it is left out",
  ]);
});

test("findings of slices name what is wrong where, and what becomes of it", () => {
  const IMPORT = "multicluster.kubernetes.io/service-name";
  const SOURCE = "multicluster.kubernetes.io/source-cluster";
  const wrong = (name: string, endpoints: unknown, fields: Fields = {}) =>
    slice(`shop/${name}`, ofService("web"), endpoints, fields);
  const objects = [
    ...exported("web"),
    serviceImport("shop/web"),
    slice("shop/without-labels", {}, []),
    slice("shop/without-import", { [SOURCE]: "west" }, []),
    slice("shop/without-source", { [IMPORT]: "web" }, []),
    slice("shop/of-no-source", ofImport("web", "a b"), []),
    wrong("address-type", [], { addressType: "FQDN" }),
    wrong("no-addresses", [{}, { addresses: [] }]),
    wrong("address", [{ addresses: ["a b"] }]),
    wrong("condition", [{ addresses: [ADDRESS], conditions: { serving: 1 } }]),
    wrong("hostname", [{ addresses: [ADDRESS], hostname: "a b" }]),
    wrong("zone", [{ addresses: [ADDRESS], zone: "z".repeat(318) }]),
    wrong("lists", { addresses: [ADDRESS] }, { ports: { port: 80 } }),
    wrong("many-ports", [], { ports: Array.from({ length: 1001 }, (_, port) => ({ port })) }),
  ];
  expect(findingsOf(objects).sort()).toEqual([
    'EndpointSlice/shop/address-type/UnsupportedAddressType: addressType is "FQDN", neither IPv4 nor IPv6; the slice is left out',
    'EndpointSlice/shop/address/InvalidEndpoint: endpoints[0].addresses holds "a b"; it is left out',
    "EndpointSlice/shop/condition/InvalidEndpoint: endpoints[0].conditions.serving is 1, neither true nor false; the endpoint is left out",
    'EndpointSlice/shop/hostname/InvalidEndpoint: endpoints[0].hostname holds "a b", which is not a host name; the endpoint is kept without it',
    'EndpointSlice/shop/lists/InvalidField: ports holds {"port":80}, which is not a list; it is left out; endpoints holds {"addresses":["10.0.0.1"]}, which is not a list; it is left out',
    "EndpointSlice/shop/many-ports/TooMany: ports has 1001 elements; the first 1000 are kept, the others left out",
    "EndpointSlice/shop/no-addresses/InvalidEndpoint: endpoints[0] has no addresses; it is left out; endpoints[1] has no addresses; it is left out",
    "EndpointSlice/shop/of-no-source/InvalidSourceCluster: the value of label multicluster.kubernetes.io/source-cluster is not a label value; the slice is left out",
    "EndpointSlice/shop/without-import/NoServiceName: has no label multicluster.kubernetes.io/service-name; the slice is left out",
    "EndpointSlice/shop/without-labels/NoServiceName: has no label kubernetes.io/service-name; the slice is left out",
    "EndpointSlice/shop/without-source/NoSourceCluster: has no label multicluster.kubernetes.io/source-cluster; the slice is left out",
    'EndpointSlice/shop/zone/InvalidField: endpoints[0].zone holds "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz..., which is not a text of up to 317 characters; it is left out',
  ]);
});

describe("a finding", () => {
  const findingOf = (spec: Fields) => findingsOf(exported("web", spec))[0]!;

  test("lists ten messages, and counts the others", () => {
    const odd = [
      { port: 80.5 },
      { port: 80, protocol: "p".repeat(17) },
      { port: 80, name: "n".repeat(64) },
      "http",
    ];
    const listed = (count: number) =>
      findingOf({ ports: [...odd, ...Array(count - odd.length).fill({})] }).split(/; (?=spec|and)/);
    expect(listed(10)).toHaveLength(10);
    expect(listed(13)).toEqual([...listed(10), "and 3 more"]);
    for (const [index, message] of listed(10).entries())
      expect(message).toContain(`spec.ports[${index}] holds`);
  });

  test("quotes a text of 78 characters whole, and of a longer one the first 76", () => {
    const quoteOf = (length: number) =>
      / holds (.*), which/.exec(findingOf({ sessionAffinity: "s".repeat(length) }))![1];
    expect(quoteOf(78)).toBe(`"${"s".repeat(78)}"`);
    expect(quoteOf(79)).toBe(`"${"s".repeat(76)}...`);
  });

  test("about a cluster-scoped object has no namespace, and a name of at most 253 characters", () => {
    const { findings } = extractSnapshot([namespace("n".repeat(300))], { clusterId: "east" });
    const about = { kind: "Namespace", name: "n".repeat(253) };
    const message = "the name is not valid for a Kubernetes object";
    expect(Object.values(findings)).toEqual([{ ...about, reason: "InvalidName", message }]);
    expect(Object.keys(findings)).toEqual([`Namespace/${about.name}/InvalidName`]);
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

test("null counts as absent in the timeout of session affinity, its parents, and the creation time", () => {
  for (const config of [null, {}, { clientIP: null }, { clientIP: { timeoutSeconds: null } }])
    expect(findingsOf(exported("web", { sessionAffinityConfig: config }))).toEqual([]);
  const objects = [service("shop/web"), serviceExport("shop/web", {}, { creationTimestamp: null })];
  expect(findingsOf(objects)).toEqual([]);
  const { exports } = extractSnapshot([namespace("shop"), ...objects], { clusterId: "east" });
  expect(exports["shop/web"]!.exportedAt).toBe(UNDATED);
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

describe("the kind of an object that is not read", () => {
  const suggestionFor = (object: string) => {
    const [apiVersion, kind] = object.split(" ");
    return suggestKind({ apiVersion, kind });
  };
  const EXPORT = "kind ServiceExport of multicluster.x-k8s.io/v1beta1";

  test.each([
    // KEP-1645's own examples have this group.
    [EXPORT, "multicluster.k8s.io/v1alpha1 ServiceExport"],
    [EXPORT, "multicluster.x-k8s.io/v1alpha1 ServiceExprot"],
    [EXPORT, "multicluster.x-k8s.io/v1beta1 Serviceexport"],
    [EXPORT, "net.gke.io/v1 ServiceExports"],
    [EXPORT, "v1 ServiceExport"],
    ["kind ServiceImport of multicluster.x-k8s.io/v1beta1", "multicluster.x-k8s.io/v1beta1 ServiceImort"],
    ["kind ClusterProperty of about.k8s.io/v1", "about.x-k8s.io/v1alpha1 ClusterProperty"],
    ["kind ClusterProperty of about.k8s.io/v1", "about.k8s.io/v1 ClusterProperties"],
    ["kind EndpointSlice of discovery.k8s.io/v1", "v1 EndpointSlice"],
    ["kind Service of v1", "v1 Servcie"],
    ["kind Service of v1", "core/v1 Service"],
    ["kind Pod of v1", "v1 Pods"],
  ])("is taken for a misspelt %s where it is like it: %s", (meant, object) => {
    expect(suggestionFor(object)).toBe(meant);
  });

  test.each([
    "v1 Service",
    "discovery.k8s.io/v1beta1 EndpointSlice",
    "net.gke.io/v1 ServiceImport",
    "serving.knative.dev/v1 Service",
    "multicluster.x-k8s.io/v1alpha1 ClusterProfile",
    "networking.istio.io/v1 ServiceEntry",
    "rbac.authorization.k8s.io/v1 Role",
    "v1 Endpoints",
    "v1 ServiceAccount",
  ])(
    "is nobody's mistake where it is read, of another project, or unlike those that are read: %s",
    (object) => {
      expect(suggestionFor(object)).toBeUndefined();
    },
  );
});
