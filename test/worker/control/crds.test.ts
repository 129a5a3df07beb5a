import { beforeEach, describe, expect, it } from "vitest";
import type { DesiredLine } from "../../../src/snapshot/desired-line.ts";
import { ApiError } from "../../../src/worker/api-server.ts";
import { describeMissing, reconcileProperties } from "../../../src/worker/control/crds.ts";
import type { ManagedObject } from "../../../src/worker/control/objects.ts";
import { conditionsOf, reconcileService } from "../../../src/worker/control/reconcile.ts";
import { desiredImport, linesOf, stateWith } from "./desired-lines.ts";
import { FakeCluster } from "./fake-cluster.ts";

let cluster: FakeCluster;
beforeEach(() => {
  cluster = new FakeCluster();
});

/** Expects that nothing is left to write. */
async function expectSettled(reconcile: () => Promise<void>): Promise<void> {
  cluster.log.length = 0;
  await reconcile();
  expect(cluster.log).toEqual([]);
}

it("CRDs that the API server does not serve are named, with the command that applies the published file", () => {
  const served = { serviceimports: "v1beta1", serviceexports: "v1beta1" };
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

describe("ClusterProperties", () => {
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
    await expectSettled(reconcile);
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

type Fields = Record<string, unknown>;

/** An API server whose CRDs lack these fields, of the objects themselves or of elements of a list. */
const older =
  (kind: string, ...paths: string[]) =>
  (object: ManagedObject): ManagedObject => {
    if (object.kind !== kind) return object;
    const copy = structuredClone(object) as unknown as Fields;
    for (const path of paths) {
      const names = path.split(".");
      const parents = names
        .slice(0, -1)
        .reduce<Fields[]>(
          (all, name) => all.flatMap((parent) => (parent[name.replace("[]", "")] ?? []) as Fields[]),
          [copy],
        );
      for (const parent of parents) delete parent[names.at(-1)!];
    }
    return copy as unknown as ManagedObject;
  };

const lines: readonly DesiredLine[] = [
  ...linesOf(desiredImport({ trafficDistribution: "PreferClose", internalTrafficPolicy: "Local" })),
  { export: "shop/db", conditions: [{ type: "Valid", status: "True", reason: "Valid", message: "ok" }] },
];
const reconcile = () => reconcileService(cluster.context(stateWith(lines)), "shop/db");
const pruned = () => cluster.log.filter((line) => line.startsWith("pruned"));

describe("fields that the API server drops", () => {
  it.each([
    ["ServiceImport", "spec.trafficDistribution"],
    ["ServiceImport", "status.conditions"],
    ["ServiceImport", "status.endpointSliceObjects"],
    ["ServiceImport", "status.conditions[].observedGeneration"],
    ["ServiceImport", "status"],
    ["ServiceExport", "status.conditions"],
    ["ServiceExport", "status.conditions[].observedGeneration"],
    ["Service", "spec.internalTrafficPolicy"],
  ])("of each %s are reported once and not written again: %s", async (kind, path) => {
    cluster.prune = older(kind, path);
    cluster.putExport();
    await reconcile();
    expect(pruned()).toEqual([`pruned ${kind} ${path}`]);
    expect(cluster.namesOf("EndpointSlice")).toHaveLength(1);
    await expectSettled(reconcile);
  });

  it.each([
    ["ServiceImport", ".spec.trafficDistribution", "spec.trafficDistribution"],
    [
      "ServiceExport",
      '.status.conditions[type="Valid"].observedGeneration',
      "status.conditions[].observedGeneration",
    ],
  ])("of a %s are left out, where the API server rejects what has them: %s", async (kind, named, path) => {
    const lacks = older(kind, path);
    cluster.beforeWrite = (what, object) => {
      if (JSON.stringify(lacks(object)) === JSON.stringify(object)) return;
      const message = `failed to create typed patch object (shop/db; ${kind}): ${named}: field not declared in schema`;
      throw new ApiError(`PATCH ${what}`, 500, JSON.stringify({ message }));
    };
    cluster.putExport();
    await reconcile();
    expect(pruned()).toEqual([`pruned ${kind} ${path}`]);
    expect(conditionsOf(cluster.get("ServiceExport", "db")!)).toHaveLength(1);
    expect(conditionsOf(cluster.get("ServiceImport", "db")!)).toHaveLength(1);
    await expectSettled(reconcile);
  });

  it("are all left out where the API server names several at once", async () => {
    const fields = ["spec.trafficDistribution", "spec.internalTrafficPolicy"];
    const lacking = fields.map((field) => `\n  .${field}: field not declared in schema`).join("");
    cluster.beforeWrite = (what, { kind, spec }) => {
      if (kind !== "ServiceImport" || !Object.hasOwn(Object(spec), "trafficDistribution")) return;
      const message = `failed to create typed patch object (shop/db; Kind=ServiceImport): errors:${lacking}`;
      throw new ApiError(`PATCH ${what}`, 400, JSON.stringify({ message }));
    };
    await reconcile();
    expect(pruned()).toEqual(fields.map((field) => `pruned ServiceImport ${field}`));
  });

  const schemaError = "failed to create typed patch object (shop/db; /v1, Kind=Service): ";
  it.each([
    [500, ".spec.ports: field not declared in schema"],
    [422, `${schemaError}.spec.ports: field not declared in schema`],
    [422, 'spec.trafficDistribution: Unsupported value: ".spec.ports: field not declared in schema"'],
    [400, `${schemaError}.spec.x: expected list, got ".spec.ports: field not declared in schema"`],
    [400, `${schemaError}errors:\n  .spec.x: invalid "\\n .spec.ports: field not declared in schema"`],
  ])("are not guessed from other errors, which are the caller's: %d %s", async (status, message) => {
    cluster.beforeWrite = (what) => {
      throw new ApiError(what, status, JSON.stringify({ message }));
    };
    await expect(reconcile()).rejects.toThrow(message);
    expect(pruned()).toEqual([]);
  });

  it("leave the repair of others alone", async () => {
    cluster.prune = older("ServiceImport", "spec.trafficDistribution");
    await reconcile();
    const held = cluster.get("ServiceImport", "db")!;
    cluster.put({ ...held, spec: { ...(held.spec as object), internalTrafficPolicy: "Cluster" } });
    await reconcile();
    expect(cluster.get("ServiceImport", "db")!.spec).toMatchObject({ internalTrafficPolicy: "Local" });
  });

  it("are not those that other elements of a list lack", async () => {
    cluster.putExport();
    const theirs = { type: "Theirs", status: "True", reason: "R", message: "" };
    cluster.prune = (object) =>
      object.kind === "ServiceExport"
        ? { ...object, status: { conditions: [theirs, ...conditionsOf(object)] } }
        : object;
    await reconcile();
    expect(pruned()).toEqual([]);
  });
});
