import { describe, expect, test } from "vitest";
import { extractSnapshot } from "../../src/extract/extract.ts";
import type { KubernetesObject } from "../../src/extract/objects.ts";
import { namespace, ofImport, ofService, service, serviceExport, serviceImport, slice } from "./objects.ts";

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

  test("counts less than the ServiceImport of another implementation", () => {
    const { imports } = extract(
      own(serviceImport("shop/web")),
      serviceImport("shop/web", { ips: ["10.42.0.9"] }, "net.gke.io/v1"),
    );
    expect(imports["shop/web"]).toMatchObject({ ips: ["10.42.0.9"] });
    expect(imports["shop/web"]).not.toHaveProperty("managed");
  });

  test("is pushed of a derived Service in the cluster's own zone, without endpoints", () => {
    const { services, exports } = extract(
      own(service("shop/derived")),
      own(slice("shop/derived-1", { ...ofService("derived"), ...ofImport("web", "west") }, ends)),
    );
    expect(services["shop/derived"]).toMatchObject({ clusterIPs: ["10.96.0.10"], endpoints: {} });
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
