import { describe, expect, it } from "vitest";
import { MergedServices, type MergeOptions } from "../../../src/merge/index/merged-services.ts";
import { ServiceIndex } from "../../../src/merge/index/service-index.ts";
import { EVERYTHING, type Visibility } from "../../../src/merge/visibility/visibility.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import { packDelta, type SnapshotDelta } from "../../../src/snapshot/entry-changes.ts";
import { HeldTables } from "../../../src/snapshot/held/held-tables.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { endpoints, exported, imported, port, snapshot } from "../fixtures.ts";

/** The merged services of a world, settled. */
function settled(
  world: readonly ClusterSnapshot[],
  {
    visibility = EVERYTHING,
    mostKept,
    ...options
  }: MergeOptions & {
    readonly visibility?: Visibility;
    readonly mostKept?: number;
  } = {},
) {
  const index = new ServiceIndex();
  const services = new MergedServices(index, visibility, options, mostKept);
  const held = new Map(world.map((one) => [one.clusterId, HeldTables.of(one)]));
  for (const [clusterId, tables] of held) drain(index.join(clusterId, tables));
  drain(services.settle());
  const change = (clusterId: string, { entries = [], singles = {} }: Partial<SnapshotDelta>) => {
    const delta = drain(packDelta({ entries, singles }));
    drain(held.get(clusterId)!.apply(delta));
    drain(index.change(clusterId, delta));
  };
  return { index, services, change };
}

const parts = {
  namespaces: { shop: {}, bank: {} },
  exports: { "shop/web": exported({ ports: [port("http", 80)] }), "bank/web": exported() },
};
const [west, east] = [snapshot("west", parts), snapshot("east", { exports: { "lost/web": exported() } })];

describe("merged services", () => {
  it("are those with a part that counts, each with its size", () => {
    const { services } = settled([west, east]);
    expect([...services.keys()].sort()).toEqual(["bank/web", "shop/web"]);
    expect(services.size).toBe(2);
    expect(["shop/web", "bank/web", "lost/web"].map((key) => services.sizeOf(key))).toEqual([
      1,
      0,
      undefined,
    ]);
    expect(services.service("lost/web")).toBeUndefined();
  });

  it("are merged when they are asked for, and kept up to a bound", () => {
    const kept = settled([west]).services;
    expect(kept.service("shop/web")).toBe(kept.service("shop/web"));
    const { services } = settled([west], { mostKept: 0 });
    expect(services.service("shop/web")).not.toBe(services.service("shop/web"));
    expect(services.service("shop/web")).toEqual(kept.service("shop/web"));
  });

  it("are kept in less memory once they are compiled", () => {
    const members = Array.from({ length: 5000 }, (_, number) => ({
      address: `10.0.${number >> 8}.${number & 255}`,
    }));
    const wide = exported({ headless: true, endpoints: endpoints(...members) });
    const { services } = settled([snapshot("west", { exports: { "shop/a": wide, "shop/b": wide } })]);
    const before = ["shop/a", "shop/b"].map((key) => services.service(key));
    expect(["shop/a", "shop/b"].map((key) => services.service(key) === before.shift())).toEqual([true, true]);
    const [first, second] = ["shop/a", "shop/b"].map((key) => services.service(key));
    services.compiled();
    expect(services.service("shop/b")).toBe(second);
    expect(services.service("shop/a")).not.toBe(first);
    expect(services.service("shop/a")).toEqual(first);
  });
});

describe("a part in a service", () => {
  it("is that of a cluster which has the namespace", () => {
    const { services } = settled([west, east]);
    expect(services.contributionOf("west", "shop/web")).toMatchObject({ clusterId: "west" });
    expect(services.contributionOf("west", "shop/other")).toBeUndefined();
    expect(services.contributionOf("east", "shop/web")).toBeUndefined();
    expect(services.contributionOf("east", "lost/web")).toBeUndefined();
  });

  it("is in the account of the service, counted or not", () => {
    const pins = { exports: new Map([["east", ["bank"]]]) };
    const both = [west, snapshot("east", { exports: { "shop/web": exported(), "shop/own": exported() } })];
    const { services } = settled(both, { pins });
    const account = services.accountOf("shop/web");
    expect(account.parts.map(({ clusterId }) => clusterId)).toEqual(["east", "west"]);
    expect(account.declared?.contributions.map(({ clusterId }) => clusterId)).toEqual(["west"]);
    expect(account.service).toBe(services.service("shop/web"));
    expect(account.service).toMatchObject({ exporters: ["west"] });
    const unserved = services.accountOf("shop/own");
    expect(unserved.parts).toHaveLength(1);
    expect(unserved).toMatchObject({ declared: undefined, service: undefined });
  });

  it.each<[string, Visibility, readonly string[]]>([
    ["everything exists", {}, ["bank/web", "shop/web"]],
    ["only another cluster exists", { clusters: ["east"] }, []],
    ["one namespace exists", { namespaces: ["shop"] }, ["shop/web"]],
    ["no address exists", { addressSources: [] }, ["bank/web", "shop/web"]],
  ])("is among the exports of its cluster where %s", (_, visibility, keys) => {
    const { services } = settled([west], { visibility });
    expect([...services.exportsOf("west")].sort()).toEqual(keys);
    expect(services.countsOf("west")).toEqual({ exports: keys.length, imports: 0 });
    expect([...services.exportsOf("unknown")]).toEqual([]);
    expect(services.countsOf("unknown")).toEqual({ exports: 0, imports: 0 });
  });

  it("counts while its cluster reports it in a scope", () => {
    const { services, change, index } = settled(
      [west, snapshot("east", { imports: { "shop/web": imported() } })],
      { visibility: { namespaces: ["shop"] } },
    );
    const counts = () => {
      drain(services.settle());
      return ["west", "east"].map((clusterId) => Object.values(services.countsOf(clusterId)));
    };
    expect(counts()).toEqual([
      [1, 0],
      [0, 1],
    ]);
    change("west", { entries: [{ collection: "exports", key: "shop/web", entry: undefined }] });
    change("east", { entries: [{ collection: "exports", key: "shop/web", entry: exported() }] });
    expect(counts()).toEqual([
      [0, 0],
      [1, 1],
    ]);
    drain(index.leave("east"));
    expect(counts()).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});

describe("what changed", () => {
  const finding = { reason: "NoService", kind: "ServiceExport", namespace: "shop", name: "x", message: "m" };
  const service = { serviceType: "ClusterIP", headless: false, ports: [], endpoints: {} };
  const entry = (collection: string, key: string, value: object) =>
    ({ entries: [{ collection, key, entry: value }] }) as unknown as Partial<SnapshotDelta>;

  it.each<[string, Partial<SnapshotDelta>, object]>([
    ["an export", entry("exports", "shop/web", exported()), { services: new Set(["shop/web"]) }],
    ["a namespace", entry("namespaces", "new", {}), { clusters: true }],
    ["the topology", { singles: { topology: { region: "eu" } } }, { clusters: true }],
    [
      "a Service of its own zone",
      entry("services", "shop/own", service),
      { local: new Map([["west", { services: new Set(["shop/own"]), pods: new Set() }]]) },
    ],
    [
      "a pod of its own zone",
      entry("pods", "shop/10.0.0.1", {}),
      { local: new Map([["west", { services: new Set(), pods: new Set(["shop/10.0.0.1"]) }]]) },
    ],
    ["a finding", entry("findings", "k", finding), {}],
  ])("is %s of a cluster, once", (_, delta, expected) => {
    const nothing = { clusters: false, findings: false, services: new Set(), local: new Map() };
    for (const visibility of [EVERYTHING, { clusters: ["west"] }]) {
      const { services, change } = settled([west, east], { visibility });
      expect(services.hasChanged).toBe(false);
      change("west", delta);
      expect(services.hasChanged).toBe(true);
      const isFinding = Object.keys(expected).length === 0;
      expect(drain(services.settle())).toEqual({ ...nothing, ...expected, findings: isFinding });
      expect(services.hasChanged).toBe(false);
      expect(drain(services.settle())).toEqual(nothing);
    }
    for (const visibility of [{ clusters: ["east"] }]) {
      const { services, change } = settled([west, east], { visibility });
      change("west", delta);
      expect(services.hasChanged).toBe(false);
    }
  });

  it.each(["exports", "services", "pods"] as const)("in the %s of a hidden namespace is nothing", (name) => {
    const { services, change } = settled([west], { visibility: { namespaces: ["shop"] } });
    change("west", entry(name, "bank/own", name === "exports" ? exported() : service));
    expect(services.hasChanged).toBe(false);
  });

  it("has changed the next time, too, where it was not merged for an error", () => {
    const { services, change } = settled([west]);
    for (const key of ["shop/a", "shop/b"]) change("west", entry("exports", key, exported()));
    const settling = services.settle();
    settling.next();
    expect(services.hasChanged).toBe(false);
    settling.return({ clusters: false, services: new Set(), local: new Map() });
    expect([...drain(services.settle()).services].sort()).toEqual(["shop/a", "shop/b"]);
  });

  it("is every service where a view of absent clusters comes or goes", () => {
    const { services } = settled([west]);
    const before = services.service("shop/web");
    services.withAbsent = false;
    expect(services.hasChanged).toBe(false);
    expect(services.service("shop/web")).toBe(before);
    services.withAbsent = true;
    expect(services.withAbsent).toBe(true);
    const { clusters, services: changed } = drain(services.settle());
    expect([clusters, [...changed].sort()]).toEqual([true, ["bank/web", "shop/web"]]);
  });

  it("is in the lists of conflicts and findings once it is settled, and no sooner", () => {
    const { services, change } = settled([west]);
    const before = services.list();
    expect(services.list()).toBe(before);
    change("west", entry("findings", "k", finding));
    expect(services.list()).toBe(before);
    drain(services.settle());
    expect(services.list().findings).toEqual([{ ...finding, clusterId: "west" }]);
  });
});
