import type { RecordType } from "dns-packet";
import { exported, slices, unexported } from "../../commands/exported.ts";
import { applyPod } from "../../coredns/cluster-local/pods.ts";
import { answered } from "../../harness/answers.ts";
import type { GatewayClient } from "../../harness/gateway-client.ts";
import type { ApiClient } from "../../servers/kubernetes/api-client.ts";
import {
  type KubeObject,
  namespace,
  serviceExport,
  serviceImport,
} from "../../servers/kubernetes/objects.ts";

/** What only one resource reports: its objects, their answers, and a change of that resource alone that changes the answers. */
export interface ResourceCase {
  readonly prepare: (admin: ApiClient) => Promise<unknown>;
  readonly ask: (gateway: GatewayClient) => Promise<unknown>;
  readonly before: unknown;
  readonly change: (admin: ApiClient) => Promise<unknown>;
  readonly after: unknown;
}

/** The federation that the gateway has to serve, for the facts of nodes. */
export const federation = "places";

const shop = "shop";
const node = (region: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "node-1", labels: { "topology.kubernetes.io/region": region } },
});
const service = (name: string, address: string) => exported(shop, name, { endpoints: [address] });
const asked =
  (name: string, type: RecordType = "A", view?: string) =>
  (gateway: GatewayClient) =>
    answered(gateway, name, type, view === undefined ? {} : { view });
const ipsOf = (name: string, ip: string) =>
  serviceImport(shop, name, { type: "ClusterSetIP", ips: [ip], ports: [{ port: 80, protocol: "TCP" }] });
const ofGke = (object: KubeObject): KubeObject => ({ ...object, apiVersion: "net.gke.io/v1" });
const pod = (address: string) => ({
  namespace: shop,
  name: "pod",
  addresses: [address],
  phase: "Running" as const,
});

/** By the name of the resource. Those of `about.k8s.io` have no records, only the cluster's id. */
export const resourceCases: Record<string, ResourceCase> = {
  namespaces: {
    prepare: (admin) =>
      admin.apply(namespace("closing"), ...exported("closing", "web", { endpoints: ["10.1.0.1"] })),
    ask: asked("web.closing"),
    before: ["10.1.0.1"],
    change: (admin) => admin.deleteNamespace("closing"),
    after: "NXDOMAIN",
  },
  nodes: {
    prepare: (admin) => admin.apply(node("eu"), ...service("placed", "10.1.0.2")),
    ask: (gateway) =>
      Promise.all(
        ["eu", "us"].map(
          async (region) =>
            (
              await gateway.lookup(`placed.${shop}.${federation}.svc.${region}.federation`, "A", {
                view: "east",
              })
            ).rcode,
        ),
      ),
    before: ["NOERROR", "NXDOMAIN"],
    change: (admin) => admin.apply(node("us")),
    after: ["NXDOMAIN", "NOERROR"],
  },
  services: {
    prepare: (admin) => admin.apply(...service("ported", "10.1.0.3")),
    ask: asked(`_web._tcp.ported.${shop}`, "SRV"),
    before: "NXDOMAIN",
    change: (admin) =>
      admin.patch(service("ported", "10.1.0.3")[0]!, {
        spec: { ports: [{ name: "web", port: 80, targetPort: 8080, protocol: "TCP" }] },
      }),
    after: [`0 100 80 ported.${shop}.svc.clusterset.local`],
  },
  "endpointslices.discovery.k8s.io": {
    prepare: (admin) => admin.apply(...service("moving", "10.1.0.4")),
    ask: asked(`moving.${shop}`),
    before: ["10.1.0.4"],
    change: (admin) => admin.apply(...slices(shop, "moving", { endpoints: ["10.1.0.5"] })),
    after: ["10.1.0.5"],
  },
  "serviceexports.multicluster.x-k8s.io": {
    prepare: (admin) => admin.apply(...service("leaving", "10.1.0.6")),
    ask: asked(`leaving.${shop}`),
    before: ["10.1.0.6"],
    change: (admin) => admin.remove(serviceExport(shop, "leaving")),
    after: "NXDOMAIN",
  },
  "serviceimports.multicluster.x-k8s.io": {
    prepare: (admin) => admin.apply(...service("imported", "10.1.0.7"), ipsOf("imported", "10.42.0.1")),
    ask: asked(`imported.${shop}`, "A", "east"),
    before: ["10.42.0.1"],
    change: (admin) => admin.apply(ipsOf("imported", "10.42.0.2")),
    after: ["10.42.0.2"],
  },
  pods: {
    prepare: (admin) => applyPod(admin, pod("10.50.0.1")),
    ask: async (gateway) =>
      (await gateway.lookup(`10-50-0-2.${shop}.pod.cluster.local`, "A", { view: "east" })).rcode,
    before: "NXDOMAIN",
    change: (admin) => applyPod(admin, pod("10.50.0.2")),
    after: "NOERROR",
  },
  "serviceexports.net.gke.io": {
    prepare: (admin) =>
      admin.apply(
        ...unexported(shop, "leaving-gke", { endpoints: ["10.1.0.8"] }),
        ofGke(serviceExport(shop, "leaving-gke")),
      ),
    ask: asked(`leaving-gke.${shop}`),
    before: ["10.1.0.8"],
    change: (admin) => admin.remove(ofGke(serviceExport(shop, "leaving-gke"))),
    after: "NXDOMAIN",
  },
  "serviceimports.net.gke.io": {
    prepare: (admin) =>
      admin.apply(...service("imported-gke", "10.1.0.9"), ofGke(ipsOf("imported-gke", "10.42.0.8"))),
    ask: asked(`imported-gke.${shop}`, "A", "east"),
    before: ["10.42.0.8"],
    change: (admin) => admin.apply(ofGke(ipsOf("imported-gke", "10.42.0.9"))),
    after: ["10.42.0.9"],
  },
};
