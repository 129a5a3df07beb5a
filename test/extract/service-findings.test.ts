import { expect, test } from "vitest";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import { OWNED_NAME_ANNOTATION } from "../../src/extract/services/local-service.ts";
import { exportedWeb, findingsOf } from "./findings-of.ts";
import { object, pod, service, serviceExport, serviceImport } from "./objects.ts";

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
    'Service/shop/web/InvalidField: status.loadBalancer.ingress[0].ip holds "11111111111111111111111111111111111111111111111111111111111111111", which is not a text of up to 64 characters; it is left out',
    exportedWeb({}, { loadBalancer: { ingress: [{ ip: "1".repeat(65) }] } }),
  ],
  [
    'Service/shop/web/InvalidField: status.loadBalancer.ingress[0].hostname holds "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh..., which is not a text of up to 253 characters; it is left out',
    exportedWeb({}, { loadBalancer: { ingress: [{ hostname: "h".repeat(254) }] } }),
  ],
  [
    "Service/shop/web/TooMany: status.loadBalancer.ingress has 101 elements; the first 100 are kept, the others left out",
    exportedWeb({}, { loadBalancer: { ingress: Array(101).fill({ ip: ADDRESS }) } }),
  ],
  [
    "Service/shop/web/InvalidField: spec.externalIPs[0] holds 1, which is not a text of up to 64 characters; it is left out",
    exportedWeb({ externalIPs: [1] }),
  ],
  [
    "Service/shop/web/InvalidField: spec.clusterIPs[0] holds true, which is not a text of up to 64 characters; it is left out",
    exportedWeb({ clusterIPs: [true] }),
  ],
  [
    "Service/shop/web/InvalidField: spec.clusterIP[0] holds 7, which is not a text of up to 64 characters; it is left out",
    exportedWeb({ clusterIPs: undefined, clusterIP: 7 }),
  ],
  [
    'Service/shop/web/InvalidPort: spec.ports[1] holds {"port":2147483648}; a port needs a number of 32 bits, and may have a name of up to 63 characters and a protocol; it is left out',
    exportedWeb({ ports: [{ port: 80 }, { port: 2 ** 31 }] }),
  ],
  [
    'Service/shop/web/InvalidField: spec.ports[0].appProtocol holds "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp..., which is not a text of up to 317 characters; it is left out',
    exportedWeb({ ports: [{ port: 80, appProtocol: "p".repeat(318) }] }),
  ],
  [
    "Service/shop/web/TooMany: spec.ports has 1001 elements; the first 1000 are kept, the others left out",
    exportedWeb({ ports: Array.from({ length: 1001 }, (_, port) => ({ port })) }),
  ],
  [
    'Service/shop/web/InvalidField: spec.sessionAffinity holds "ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss", which is not a text of up to 63 characters; it is left out',
    exportedWeb({ sessionAffinity: "s".repeat(64) }),
  ],
  [
    "Service/shop/web/InvalidField: spec.sessionAffinityConfig.clientIP.timeoutSeconds holds 1.5, which is not a whole number; it is left out",
    exportedWeb({ sessionAffinityConfig: { clientIP: { timeoutSeconds: 1.5 } } }),
  ],
  [
    "Service/shop/web/InvalidField: spec.internalTrafficPolicy holds 1, which is not a text of up to 63 characters; it is left out",
    exportedWeb({ internalTrafficPolicy: 1 }),
  ],
  [
    "Service/shop/web/InvalidField: spec.trafficDistribution holds [], which is not a text of up to 317 characters; it is left out",
    exportedWeb({ trafficDistribution: [] }),
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
  [
    'Service/shop/web/InvalidField: spec.sessionAffinity holds "ssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss..., which is not a text of up to 63 characters; it is left out',
    exportedWeb({ sessionAffinity: "s".repeat(81) }),
  ],
])("reports %s", (expected, objects) => {
  expect(findingsOf(objects)).toEqual([expected]);
});
