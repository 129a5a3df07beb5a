import { beforeEach, describe, expect, test } from "vitest";
import { MANAGED_BY_LABEL } from "../../../src/extract/objects.ts";
import { ApiError } from "../../../src/worker/api-server.ts";
import { DesiredState } from "../../../src/worker/control/desired.ts";
import {
  DERIVED_SERVICE,
  derivedServiceName,
  endpointSliceName,
  type ManagedObject,
} from "../../../src/worker/control/objects.ts";
import { conditionsOf, reconcileService } from "../../../src/worker/control/reconcile.ts";
import { desiredImport, desiredSlice, linesOf, stateWith, take } from "./desired-lines.ts";
import { FakeCluster, nameOf } from "./fake-cluster.ts";

const DERIVED = derivedServiceName("db");
const SLICE = endpointSliceName("db", "a", "v4-0");
let cluster: FakeCluster;

beforeEach(() => {
  cluster = new FakeCluster();
});

const reconcile = (state: DesiredState, key = "shop/db") => reconcileService(cluster.context(state), key);
/** Expects that nothing is left to write. */
async function expectSettled(state: DesiredState): Promise<void> {
  cluster.log.length = 0;
  await reconcile(state);
  expect(cluster.log).toEqual([]);
}
const spec = (object: ManagedObject | undefined) => object?.spec as Record<string, unknown>;
const heldImport = () => cluster.get("ServiceImport", "db");
const NOT_READY = { conditions: [{ type: "Ready", status: "False", reason: "Pending" }] };
const CONFLICT = { type: "Conflict", status: "True", reason: "PortConflict", message: "ports" } as const;
const PG = { name: "pg", protocol: "TCP", port: 5432 };

describe("a ClusterSetIP service of another cluster", () => {
  test("becomes ServiceImport, derived Service and EndpointSlice, in as few writes as that takes", async () => {
    await reconcile(stateWith(linesOf()));
    expect(cluster.log).toEqual([
      `create Service shop/${DERIVED}`,
      "create ServiceImport shop/db",
      `create EndpointSlice shop/${SLICE}`,
      "apply ServiceImport shop/db/status",
    ]);
    const held = heldImport()!;
    expect(held.metadata.annotations).toMatchObject({ [DERIVED_SERVICE]: DERIVED });
    expect(spec(held)).toEqual({
      type: "ClusterSetIP",
      ports: [PG],
      ips: ["10.0.0.1"],
      ipFamilies: ["IPv4"],
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
    });
    expect(held.status).toMatchObject({
      clusters: [{ cluster: "a" }],
      conditions: [{ type: "Ready", status: "True", reason: "Ready" }],
      endpointSliceObjects: "Present",
    });
    expect(cluster.get("EndpointSlice", SLICE)).toMatchObject({
      metadata: {
        labels: {
          "multicluster.kubernetes.io/service-name": "db",
          "multicluster.kubernetes.io/source-cluster": "a",
          "kubernetes.io/service-name": DERIVED,
          "endpointslice.kubernetes.io/managed-by": "clusterset-doh",
          [MANAGED_BY_LABEL]: "clusterset-doh",
        },
        ownerReferences: [{ kind: "ServiceImport", name: "db", uid: held.metadata.uid }],
      },
      addressType: "IPv4",
      ports: [PG],
      endpoints: [
        { addresses: ["10.1.0.1"], conditions: { ready: true, serving: true, terminating: false } },
      ],
    });
  });

  test("writes nothing the second time, where the API server returns empty lists as null", async () => {
    cluster.prune = (object) =>
      object.kind === "EndpointSlice" ? { ...object, ports: null, endpoints: undefined } : object;
    const empty = desiredSlice("10.1.0.1", { ports: [], endpoints: [] });
    const state = stateWith(linesOf(desiredImport(), { "v4-0": empty }));
    await reconcile(state);
    await expectSettled(state);
  });

  test("stays, with the conditions of the own export, while the gateway does not know a cluster that exports it, until that cluster's lease expires", async () => {
    let now = 0;
    cluster.putExport();
    const both = desiredImport({ clusters: ["a", "b"] });
    const state = stateWith([...linesOf(both), { export: "shop/db", conditions: [CONFLICT] }], {
      clock: () => now,
    });
    await reconcile(state);
    const before = new Map(cluster.stored);
    const agreed = { type: "Conflict", status: "False", reason: "NoConflicts", message: "" } as const;
    const own = linesOf(desiredImport({ clusters: ["b"] }), {});
    take(state, [...own, { export: "shop/db", conditions: [agreed] }], { b: 600 });
    await reconcile(state);
    expect(cluster.stored).toEqual(before);
    now = 60_000;
    await reconcile(state);
    expect(cluster.namesOf("EndpointSlice")).toEqual([]);
    expect(cluster.get("ServiceExport", "db")!.status).toMatchObject({ conditions: [{ status: "False" }] });
    take(state, [], { b: 600 });
    await reconcile(state);
    expect([...cluster.stored.keys()]).toEqual(["ServiceExport shop/db"]);
  });

  test("leaves its slices to a worker that starts without a gateway, until no lease of another cluster can hold any more", async () => {
    const [anImport, own] = linesOf(desiredImport({ clusters: ["a", "b"] }), { "v4-0": desiredSlice() }, "b");
    await reconcile(stateWith([...linesOf(), anImport!, own!]));
    let now = 0;
    const state = new DesiredState(() => now, 60_000);
    expect(state.isUsable).toBe(false);
    await reconcile(state);
    expect(cluster.namesOf("EndpointSlice")).toHaveLength(2);
    now = 60_000;
    expect(state.isUsable).toBe(true);
    await reconcile(state);
    expect(cluster.namesOf("EndpointSlice")).toEqual([endpointSliceName("db", "b", "v4-0")]);
    expect(heldImport()).toBeDefined();
    expect(cluster.namesOf("Service")).toHaveLength(1);
  });

  test("stays as it is while one of its lines is unreadable, but for slices whose lease expired", async () => {
    let now = 0;
    const [anImport, slice] = linesOf();
    await reconcile(stateWith(linesOf()));
    const before = new Map(cluster.stored);
    const unreadable = { unreadable: ["shop/db", "import"] } as const;
    const state = stateWith([unreadable, slice!], { leases: { a: 60 }, clock: () => now });
    await reconcile(state);
    expect(cluster.stored).toEqual(before);
    now = 60_000;
    await reconcile(state);
    expect(cluster.namesOf("EndpointSlice")).toEqual([]);
    expect(heldImport()).toBeDefined();
    now = 0;
    state.begin();
    for (const line of [{ start: "changes", formatVersion: 1 }, anImport!, { position: "2" }] as const)
      state.take(line);
    await reconcile(state);
    expect(cluster.namesOf("EndpointSlice")).toHaveLength(1);
  });

  test("has no derived Service without a port that a Service takes, and is not ready", async () => {
    await reconcile(stateWith(linesOf(desiredImport({ ports: [] }))));
    expect(cluster.namesOf("Service")).toEqual([]);
    expect(heldImport()!.status).toMatchObject(NOT_READY);
  });

  test("is not ready where the cluster has Services of no family of the exporters (KEP-1645, Importing Services)", async () => {
    const reasonWith = async (...ipFamilies: ("IPv4" | "IPv6")[]) => {
      await reconcile(stateWith(linesOf(desiredImport({ ipFamilies }))));
      return conditionsOf(heldImport()!)[0]!.reason;
    };
    cluster.families = ["IPv4"];
    expect(await reasonWith("IPv6")).toBe("IPFamilyNotSupported");
    expect(await reasonWith("IPv6", "IPv4")).toBe("Ready");
    expect(await reasonWith()).toBe("Ready");
    expect(spec(heldImport()).ips, "where no exporter names a family").toEqual(["10.0.0.1"]);
  });

  test("waits for its namespace", async () => {
    const state = stateWith([{ import: "bank/db", desired: desiredImport() }]);
    await reconcile(state, "bank/db");
    expect(cluster.log).toEqual([]);
    cluster.objects.upsert({ apiVersion: "v1", kind: "Namespace", metadata: { name: "bank" } });
    expect(cluster.touched).toContain("bank/");
    await reconcile(state, "bank/db");
    expect(cluster.get("ServiceImport", "db", "bank")).toBeDefined();
  });
});

describe("objects of somebody else", () => {
  const foreign = (kind: string, apiVersion: string, name: string) =>
    cluster.put({ apiVersion, kind, metadata: { namespace: "shop", name }, spec: { theirs: true } });

  test("a ServiceImport of that name stays as it is, and nothing is made beside it", async () => {
    foreign("ServiceImport", "multicluster.x-k8s.io/v1beta1", "db");
    for (const lines of [linesOf(), []]) await reconcile(stateWith(lines));
    expect(cluster.log).toEqual(["foreign ServiceImport shop/db"]);
    expect(heldImport()).toBeDefined();
  });

  test("a ServiceImport of ours that is handed away stays, and no Service and slices of ours beside it", async () => {
    const state = stateWith(linesOf());
    await reconcile(state);
    const { labels: _, ...metadata } = heldImport()!.metadata;
    cluster.put({ ...heldImport()!, metadata });
    await reconcile(state);
    expect([...cluster.stored.keys()]).toEqual(["ServiceImport shop/db"]);
    expect(cluster.log.at(-1)).toBe("foreign ServiceImport shop/db");
  });

  test("a ServiceImport that somebody makes while ours is written is not touched, and no Service stays for ours", async () => {
    cluster.beforeWrite = (what) => {
      if (what === "create ServiceImport shop/db")
        cluster.stored.set("ServiceImport shop/db", {
          apiVersion: "multicluster.x-k8s.io/v1beta1",
          kind: "ServiceImport",
          metadata: { namespace: "shop", name: "db", uid: "theirs" },
        });
    };
    await reconcile(stateWith(linesOf()));
    expect([...cluster.stored.keys()]).toEqual(["ServiceImport shop/db"]);
    expect(heldImport()!.metadata.uid).toBe("theirs");
    expect(cluster.log.at(-2)).toBe("foreign ServiceImport shop/db");
  });

  test.each([
    ["Service", "v1", DERIVED],
    ["EndpointSlice", "discovery.k8s.io/v1", SLICE],
  ])(
    "a %s of that name, which no watch has reported yet, is not touched, and ours is made when it has gone",
    async (kind, apiVersion, name) => {
      const theirs = foreign(kind, apiVersion, name);
      cluster.objects.delete(theirs as never);
      await reconcile(stateWith(linesOf()));
      expect(cluster.get(kind, name)).toEqual(theirs);
      expect(cluster.log).toContain(`foreign ${kind} shop/${name}`);
      cluster.touched.clear();
      cluster.stored.delete(`${kind} shop/${name}`);
      cluster.objects.delete(theirs as never);
      expect([...cluster.touched]).toEqual(["shop/db"]);
      await reconcile(stateWith(linesOf()));
      expect(cluster.get(kind, name)!.metadata.labels).toMatchObject({
        [MANAGED_BY_LABEL]: "clusterset-doh",
      });
    },
  );

  test("a Service of that name that a watch has reported costs no request, until it is gone", async () => {
    const theirs = foreign("Service", "v1", DERIVED);
    const attempts: string[] = [];
    cluster.beforeWrite = (what) => attempts.push(what);
    await reconcile(stateWith(linesOf()));
    expect(cluster.log[0]).toBe(`foreign Service shop/${DERIVED}`);
    expect(attempts).toEqual(["create ServiceImport shop/db", "apply ServiceImport shop/db/status"]);
    cluster.stored.clear();
    cluster.objects.delete(theirs as never);
    await reconcile(stateWith(linesOf()));
    expect(attempts).toContain(`create Service shop/${DERIVED}`);
  });
});

describe("what the API server rejects", () => {
  const reject = (rejected: string) => {
    cluster.beforeWrite = (what) => {
      if (what.includes(rejected)) throw new ApiError(what, 403, "exceeded quota");
    };
  };

  test("of one slice holds up no other slice, no removal and no status, and is tried again", async () => {
    await reconcile(stateWith(linesOf(desiredImport(), { "v4-9": desiredSlice("10.1.0.9") })));
    reject("v4-0");
    const slices = { "v4-0": desiredSlice("10.1.0.1"), "v4-1": desiredSlice("10.1.0.2") };
    const state = stateWith(linesOf(desiredImport({ clusters: ["a", "b"] }), slices));
    await expect(reconcile(state)).rejects.toThrow("exceeded quota");
    expect(cluster.namesOf("EndpointSlice")).toEqual([endpointSliceName("db", "a", "v4-1")]);
    expect(heldImport()!.status).toMatchObject({
      clusters: [{ cluster: "a" }, { cluster: "b" }],
      ...NOT_READY,
    });
  });

  test("of the derived Service leaves an import that is not ready, and the conditions of the export", async () => {
    cluster.putExport();
    reject("create Service shop");
    const valid = { type: "Valid", status: "True", reason: "Valid", message: "" } as const;
    const state = stateWith([...linesOf(), { export: "shop/db", conditions: [valid] }]);
    await expect(reconcile(state)).rejects.toThrow("exceeded quota");
    expect(heldImport()!.status).toMatchObject(NOT_READY);
    expect(cluster.get("ServiceExport", "db")!.status).toMatchObject({ conditions: [valid] });
  });
});

describe("drift", () => {
  let state: DesiredState;
  beforeEach(async () => {
    state = stateWith(linesOf());
    await reconcile(state);
    cluster.log.length = 0;
  });

  test("what others add to lists by key, which apply leaves there, is taken out by a second write", async () => {
    cluster.addPort(DERIVED, { name: "added", protocol: "TCP", port: 99 });
    await reconcile(state);
    expect(spec(cluster.get("Service", DERIVED)).ports).toEqual([PG]);
    expect(cluster.log).toEqual([`apply Service shop/${DERIVED}`, `merge Service shop/${DERIVED}`]);
    await expectSettled(state);
  });

  test("what others add so that apply would make the whole invalid is taken out, too, and what is not wanted any more", async () => {
    const sticky = { sessionAffinity: "ClientIP" };
    take(state, linesOf(desiredImport({ ...sticky, sessionAffinityTimeoutSeconds: 10 })));
    await reconcile(state);
    const derived = () => spec(cluster.get("Service", DERIVED));
    expect(derived()).toHaveProperty("sessionAffinityConfig");
    cluster.addPort(DERIVED, { ...PG, port: 99 });
    cluster.beforeWrite = (what) => {
      const isInvalid = what === `apply Service shop/${DERIVED}` && (derived().ports as object[]).length > 1;
      if (isInvalid) throw new ApiError(what, 422, "Duplicate value: pg");
    };
    take(state, linesOf(desiredImport(sticky)));
    await reconcile(state);
    expect(derived()).toMatchObject({ ...sticky, ports: [PG] });
    expect(derived()).not.toHaveProperty("sessionAffinityConfig");
    await expectSettled(state);
  });

  test("what others add stays, and costs no write", async () => {
    const held = heldImport()!;
    cluster.put({ ...held, metadata: { ...held.metadata, labels: { ...held.metadata.labels, team: "x" } } });
    await expectSettled(state);
  });

  test("a ServiceImport that somebody deletes comes back with the addresses that it had", async () => {
    const held = heldImport()!;
    cluster.stored.delete("ServiceImport shop/db");
    cluster.objects.delete(held as never);
    await reconcile(state);
    expect(spec(heldImport()).ips).toEqual(spec(held).ips);
    expect(cluster.namesOf("Service")).toHaveLength(1);
  });
});

describe("conditions of the cluster's own ServiceExport", () => {
  const reported = () => stateWith([{ export: "shop/db", conditions: [CONFLICT] }]);
  const conditions = () => conditionsOf(cluster.get("ServiceExport", "db")!);

  test("are written with their times once where the export is there, and reported", async () => {
    await reconcile(reported());
    expect(cluster.log).toEqual([]);
    cluster.putExport();
    await reconcile(reported());
    await reconcile(reported());
    expect(cluster.log).toEqual([
      "apply ServiceExport shop/db/status",
      "Conflict PortConflict ServiceExport shop/db",
    ]);
    const times = { lastTransitionTime: "2030-01-01T00:00:00Z", observedGeneration: 1 };
    expect(conditions()).toEqual([{ ...CONFLICT, ...times }]);
  });

  test("are those of the newest generation, also of one that came while they were written", async () => {
    const held = cluster.putExport();
    cluster.beforeWrite = () => {
      cluster.beforeWrite = () => {};
      cluster.stored.set(nameOf(held), { ...held, metadata: { ...held.metadata, generation: 2 } });
    };
    cluster.touched.clear();
    await reconcile(reported());
    expect([...cluster.touched]).toEqual(["shop/db"]);
    await reconcile(reported());
    expect(conditions()).toMatchObject([{ observedGeneration: 2 }]);
  });

  test("are written in the version of the API in which the export was listed last, as the ServiceImport is removed", async () => {
    const made = cluster.putExport("multicluster.x-k8s.io/v1alpha1");
    const before = { ...cluster.context(stateWith(linesOf())), version: "v1alpha1" };
    await reconcileService(before, "shop/db");
    const writes: string[] = [];
    cluster.beforeWrite = (what, { apiVersion }) => writes.push(`${what} ${apiVersion.split("/")[1]}`);
    // The newer version is served instead: what is listed has changed in nothing else.
    for (const object of [made, heldImport()!])
      cluster.objects.upsert({ ...object, apiVersion: "multicluster.x-k8s.io/v1beta1" } as never);
    await reconcile(reported());
    const ofApi = writes.filter((write) => write.includes(" ServiceImport") || write.includes("Export"));
    expect(ofApi).toEqual([
      "delete ServiceImport shop/db v1beta1",
      "apply ServiceExport shop/db/status v1beta1",
    ]);
  });

  test("hold up no ServiceImport and no slice while they cannot be written", async () => {
    cluster.putExport();
    cluster.beforeWrite = (what) => {
      if (what.includes("ServiceExport")) throw new Error("404: the server could not find the resource");
    };
    const state = stateWith([...linesOf(), { export: "shop/db", conditions: [CONFLICT] }]);
    await expect(reconcile(state)).rejects.toThrow("404");
    expect(cluster.get("EndpointSlice", SLICE)).toBeDefined();
    expect(cluster.log.at(-1)).toBe("apply ServiceImport shop/db/status");
  });
});
