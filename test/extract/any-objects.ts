import fc from "fast-check";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import {
  namespace,
  node,
  ofImport,
  ofService,
  pod,
  service,
  serviceExport,
  serviceImport,
  slice,
} from "./objects.ts";

export const ports = [{ name: "http", protocol: "TCP", port: 8080 }, { port: 53 }];
export const endpoints = [
  { addresses: ["10.0.0.1"], hostname: "a-0", zone: "z", conditions: { ready: false } },
  { addresses: ["10.0.0.2"], conditions: {} },
];

const named = fc.constantFrom("a", "b", "c");
const place = fc.tuple(fc.constantFrom("x", "y"), named).map(([space, name]) => `${space}/${name}`);
const spec = fc.constantFrom(
  {},
  { type: "ExternalName", externalName: "a.example", name: "a.b" },
  { clusterIP: "None", clusterIPs: ["None"] },
  { ports: ports.map((port) => ({ ...port, appProtocol: "http" })), externalIPs: ["192.0.2.1"] },
);
const labels = fc.oneof(
  named.map(ofService),
  fc.tuple(named, named).map(([own, other]) => ({ ...ofService(own), ...ofImport(other, "west") })),
  fc.tuple(named, fc.constantFrom("west", "")).map(([name, cluster]) => ofImport(name, cluster)),
  fc.constantFrom({}, { "multicluster.kubernetes.io/service-name": "a" }),
);
/** An object that a snapshot uses; a few names, so that they meet. */
export const wellFormed: fc.Arbitrary<KubernetesObject> = fc.oneof(
  fc.constantFrom(namespace("x"), namespace("y"), node("n", { "topology.kubernetes.io/zone": "z" })),
  fc.tuple(place, spec).map(([where, what]) => service(where, what)),
  fc
    .tuple(
      place,
      fc.constantFrom("multicluster.x-k8s.io/v1beta1", "multicluster.x-k8s.io/v1alpha1", "net.gke.io/v1"),
    )
    .map(([where, version]) => serviceExport(where, { exportedLabels: { tier: where } }, {}, version)),
  place.map((where) => serviceImport(where)),
  fc
    .tuple(
      place,
      fc.constantFrom(
        { podIP: "10.0.0.1" },
        { podIPs: [{ ip: "10.0.0.1" }, { ip: "b/d" }] },
        { phase: "Failed" },
      ),
    )
    .map(([where, status]) => pod(where, status)),
  fc
    .tuple(place, labels, fc.constantFrom("IPv4", "IPv6", "FQDN"), fc.subarray(endpoints), fc.subarray(ports))
    .map(([where, what, addressType, some, open]) => slice(where, what, some, { addressType, ports: open })),
);

/** What happens to one object, and whether somebody looks at the state then. */
export const change = fc.record({
  object: wellFormed,
  verb: fc.constantFrom("upsert", "upsert", "delete" as const),
  look: fc.boolean(),
});
