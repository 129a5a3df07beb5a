import { beforeEach, describe, expect, it } from "vitest";
import { describeMissing, logServed, reconcileProperties } from "../../../src/worker/control/crds.ts";
import type { ManagedObject } from "../../../src/worker/control/objects.ts";
import { stateWith } from "./desired-lines.ts";
import { FakeCluster } from "./fake-cluster.ts";

const served = { serviceimports: "v1beta1", serviceexports: "v1beta1" };

describe("CRDs that the control plane needs", () => {
  it("are named if the API server does not serve them, with the command that applies the published file", () => {
    expect(describeMissing(served)).toBeUndefined();
    const none = describeMissing({ serviceimports: undefined, serviceexports: undefined })!;
    expect(none).toContain("serviceimports.multicluster.x-k8s.io and serviceexports.multicluster.x-k8s.io");
    for (const kind of ["serviceimports", "serviceexports"])
      expect(none).toContain(
        `kubectl apply --server-side --filename https://raw.githubusercontent.com/kubernetes-sigs/mcs-api/v0.5.2/config/crd/multicluster.x-k8s.io_${kind}.yaml`,
      );
    expect(describeMissing({ ...served, clusterproperties: undefined })).toContain(
      "/config/crd/about.k8s.io_clusterproperties.yaml",
    );
  });

  it("are logged with their versions", () => {
    const lines: string[] = [];
    const log = (level: string) => (_: object, message: string) => void lines.push(`${level} ${message}`);
    const logger = { info: log("info"), warn: log("warn"), error: log("error"), debug: log("debug") };
    const states = [
      { serviceimports: undefined, serviceexports: "v1beta1" },
      { serviceimports: "v1alpha1", serviceexports: "v1beta1" },
      served,
    ];
    for (const state of states) logServed(state, logger as never);
    expect(lines.map((line) => line.slice(0, 34))).toEqual([
      "warn the API server does not serve",
      "warn older CRDs may lack fields, w",
      "info uses these versions of its CR",
      "info uses these versions of its CR",
    ]);
  });
});

describe("ClusterProperties", () => {
  let cluster: FakeCluster;
  beforeEach(() => {
    cluster = new FakeCluster();
  });
  const reconcile = () => reconcileProperties(cluster.context(stateWith([]), "east"), "mine", "v1beta1");
  const value = (name: string) => cluster.get("ClusterProperty", name, "")?.spec;
  const property = (name: string, of: string, labels = {}): ManagedObject => ({
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { namespace: "", name, labels },
    spec: { value: of },
  });

  it("are written with the cluster's id and the name of the clusterset, once", async () => {
    await reconcile();
    expect(value("cluster.clusterset.k8s.io")).toEqual({ value: "east" });
    expect(value("clusterset.k8s.io")).toEqual({ value: "mine" });
    cluster.log.length = 0;
    await reconcile();
    expect(cluster.log).toEqual([]);
  });

  it("of somebody else stay as they are, with the same value and with another", async () => {
    cluster.put(property("cluster.clusterset.k8s.io", "west"));
    cluster.put(property("clusterset.k8s.io", "mine"));
    await reconcile();
    expect(cluster.log).toEqual(["foreign ClusterProperty /cluster.clusterset.k8s.io"]);
    expect(value("cluster.clusterset.k8s.io")).toEqual({ value: "west" });
  });

  it("that were handed over by the label are overwritten, and made again if somebody deletes them", async () => {
    const ours = { "app.kubernetes.io/managed-by": "clusterset-doh" };
    cluster.put(property("cluster.clusterset.k8s.io", "west", ours));
    await reconcile();
    expect(value("cluster.clusterset.k8s.io")).toEqual({ value: "east" });
    cluster.stored.clear();
    await reconcile();
    expect(value("cluster.clusterset.k8s.io")).toEqual({ value: "east" });
  });
});
