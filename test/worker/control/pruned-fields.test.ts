import { beforeEach, describe, expect, it } from "vitest";
import type { DesiredLine } from "../../../src/snapshot/desired-line.ts";
import { ApiError } from "../../../src/worker/api-server.ts";
import type { ManagedObject } from "../../../src/worker/control/objects.ts";
import { reconcileService } from "../../../src/worker/control/reconcile.ts";
import { desiredImport, linesOf, stateWith } from "./desired-lines.ts";
import { FakeCluster } from "./fake-cluster.ts";

let cluster: FakeCluster;
beforeEach(() => {
  cluster = new FakeCluster();
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
      const last = names.pop()!;
      let parents: Fields[] = [copy];
      for (const name of names)
        parents = parents.flatMap((parent) => (parent[name.replace("[]", "")] ?? []) as Fields[]);
      for (const parent of parents) delete parent[last];
    }
    return copy as unknown as ManagedObject;
  };

const lines: readonly DesiredLine[] = [
  ...linesOf(desiredImport({ trafficDistribution: "PreferClose", internalTrafficPolicy: "Local" })),
  { export: "shop/db", conditions: [{ type: "Valid", status: "True", reason: "Valid", message: "ok" }] },
];
const serviceExport: ManagedObject = {
  apiVersion: "multicluster.x-k8s.io/v1beta1",
  kind: "ServiceExport",
  metadata: { namespace: "shop", name: "db" },
};
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
    cluster.put(serviceExport);
    await reconcile();
    expect(pruned()).toEqual([`pruned ${kind} ${path}`]);
    expect(cluster.get("EndpointSlice", cluster.all("EndpointSlice")[0]!.metadata.name)).toBeDefined();
    cluster.log.length = 0;
    await reconcile();
    expect(cluster.log).toEqual([]);
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
    cluster.put(serviceExport);
    await reconcile();
    expect(pruned()).toEqual([`pruned ${kind} ${path}`]);
    expect(conditionsOf(cluster.get("ServiceExport", "db")!)).toHaveLength(1);
    expect(conditionsOf(cluster.get("ServiceImport", "db")!)).toHaveLength(1);
    cluster.log.length = 0;
    await reconcile();
    expect(cluster.log).toEqual([]);
  });

  it("are all left out where the API server names several at once", async () => {
    cluster.beforeWrite = (what, { kind, spec }) => {
      if (kind !== "ServiceImport" || !Object.hasOwn(Object(spec), "trafficDistribution")) return;
      const message =
        "failed to create typed patch object (shop/db; multicluster.x-k8s.io/v1beta1, Kind=ServiceImport): errors:\n  .spec.trafficDistribution: field not declared in schema\n  .spec.internalTrafficPolicy: field not declared in schema";
      throw new ApiError(`PATCH ${what}`, 400, JSON.stringify({ message }));
    };
    await reconcile();
    expect(pruned()).toEqual([
      "pruned ServiceImport spec.trafficDistribution",
      "pruned ServiceImport spec.internalTrafficPolicy",
    ]);
  });

  const schemaError = "failed to create typed patch object (shop/db; /v1, Kind=Service): ";
  it.each([
    [500, ".spec: broken"],
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
    cluster.put(serviceExport);
    const theirs = { type: "Theirs", status: "True", reason: "R", message: "" };
    cluster.prune = (object) =>
      object.kind === "ServiceExport"
        ? { ...object, status: { conditions: [theirs, ...conditionsOf(object)] } }
        : object;
    await reconcile();
    expect(pruned()).toEqual([]);
  });
});

const conditionsOf = (object: ManagedObject) =>
  (object.status as { conditions?: readonly object[] } | undefined)?.conditions ?? [];
