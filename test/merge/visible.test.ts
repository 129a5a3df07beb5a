import { describe, expect, it } from "vitest";
import type { Visibility } from "../../src/merge/visibility/visibility.ts";
import { createEntryFilter } from "../../src/merge/visibility/visible.ts";
import { drain } from "../../src/snapshot/drain.ts";
import type { ClusterSnapshot, LocalService } from "../../src/snapshot/schema.ts";
import { endpoints, exported, exporting, imported, importing, snapshot } from "./fixtures.ts";
import { createIndexed } from "./indexed.ts";
import { seeWorld } from "./seen-world.ts";

const see = (scope: Visibility, ...world: ClusterSnapshot[]) => seeWorld(scope, world);
const at = (address: string) => endpoints({ address });

const local: LocalService = {
  createdAt: "2026-01-01T00:00:00Z",
  serviceType: "ClusterIP",
  headless: false,
  ports: [],
  clusterIPs: ["10.96.0.1", "fd96::1"],
  endpoints: at("10.1.0.1"),
};

/** A cluster with something of every kind, in the namespaces `shop` and `secret`. */
const west = snapshot("west", {
  topology: { region: "eu" },
  namespaces: { shop: {}, secret: {} },
  exports: {
    "shop/web": exported({
      clusterIPs: ["10.96.0.1"],
      loadBalancer: [
        { ip: "192.0.2.1" },
        { ip: "10.2.0.1", hostname: "both.example" },
        { hostname: "lb.example" },
      ],
      externalIPs: ["192.0.2.2", "odd"],
      endpoints: at("10.1.0.1"),
    }),
    "secret/db": exported(),
  },
  imports: { "shop/web": imported({ ips: ["10.3.0.1", "192.0.2.3"] }), "secret/db": imported() },
  services: { "shop/web": local, "secret/db": local },
  pods: { "shop/10.1.0.1": {}, "shop/fd01::1": {}, "secret/10.1.0.2": {} },
  clusterZone: { name: "cluster.local", pods: "insecure" },
  findings: {
    one: { reason: "NoService", kind: "ServiceExport", namespace: "shop", name: "x", message: "no Service" },
    two: {
      reason: "NoService",
      kind: "ServiceExport",
      namespace: "secret",
      name: "x",
      message: "no Service",
    },
    three: { reason: "Odd", kind: "Node", name: "node-1", message: "about the cluster" },
  },
});

describe("a scope without namespaces, clusters and addresses", () => {
  it.each<[string, Visibility]>([
    ["that hides nothing", {}],
    ["with a view", { view: "west" }],
  ])("%s leaves all as it is", (_, scope) => {
    expect(createEntryFilter(scope)).toBeUndefined();
  });
});

describe("namespaces", () => {
  it("that are hidden are gone with all that is in them, and so are findings about none", () => {
    const [seen] = see({ namespaces: ["shop", "other"] }, west);
    expect(seen!.namespaces).toEqual({ shop: {} });
    for (const table of ["exports", "imports", "services"] as const)
      expect(Object.keys(seen![table])).toEqual(["shop/web"]);
    expect(Object.keys(seen!.pods)).toEqual(["shop/10.1.0.1", "shop/fd01::1"]);
    expect(Object.keys(seen!.findings)).toEqual(["one"]);
    expect(seen!.exports["shop/web"]).toBe(west.exports["shop/web"]);
    expect(seen!.topology).toBe(west.topology);
    expect(seen!.clusterZone).toBe(west.clusterZone);
  });

  it("none at all leave a cluster without any", () => {
    expect(see({ namespaces: [] }, west)).toEqual([
      { ...west, namespaces: {}, exports: {}, imports: {}, services: {}, pods: {}, findings: {} },
    ]);
  });
});

describe("clusters", () => {
  const ids = (scope: Visibility, ...world: ClusterSnapshot[]) =>
    see(scope, ...world).map(({ clusterId }) => clusterId);

  it("that are hidden are gone", () => {
    expect(ids({ clusters: ["east"] }, exporting("east"), west)).toEqual(["east"]);
    expect(ids({ clusters: [] }, exporting("east"), west)).toEqual([]);
  });

  it("that are hidden have no endpoints in what others import; ids have no case, and an empty one is nobody's", () => {
    const reported = {
      west: at("10.0.0.1"),
      West: at("10.0.0.2"),
      north: at("10.0.0.3"),
      "": at("10.0.0.4"),
    };
    const [seen] = see({ clusters: ["hub", "west"] }, importing("hub", { endpoints: reported }));
    expect(seen!.imports["shop/web"]!.endpoints).toEqual({ west: reported.west, West: reported.West });
  });

  const IPS = { ips: ["10.3.0.1"] };
  it.each<[string, ClusterSnapshot[], boolean]>([
    [
      "the importer exports",
      [snapshot("hub", { exports: { "shop/web": exported() }, imports: { "shop/web": imported(IPS) } })],
      true,
    ],
    ["another visible cluster exports", [importing("hub", IPS), exporting("west")], true],
    [
      "a visible source reports endpoints of",
      [importing("hub", { ...IPS, endpoints: { west: at("10.0.0.1") } })],
      true,
    ],
    [
      "a visible source has no endpoint for just now",
      [importing("hub", { ...IPS, endpoints: { west: {} } })],
      true,
    ],
    ["only a hidden cluster exports", [importing("hub", IPS), exporting("north")], false],
    [
      "only a hidden source reports endpoints of",
      [importing("hub", { ...IPS, endpoints: { north: at("10.0.0.1") } })],
      false,
    ],
    ["nobody exports", [importing("hub", IPS)], false],
    [
      "a visible cluster exports in a namespace that it does not have",
      [importing("hub", IPS), { ...exporting("west"), namespaces: {} }],
      false,
    ],
  ])("an import that %s", (_, world, stays) => {
    const [hub] = see({ clusters: ["hub", "west"] }, ...world);
    expect(Object.keys(hub!.imports)).toEqual(stays ? ["shop/web"] : []);
  });

  it("in a scope, or addresses, leave no findings of clusters: texts may reveal what is hidden", () => {
    expect(see({ clusters: ["west"] }, west)[0]!.findings).toEqual({});
    expect(see({ addressRanges: ["10.0.0.0/8"] }, west)[0]!.findings).toEqual({});
  });
});

/** All addresses of `west`, and host names of load balancers. */
function addressesOf([seen]: readonly ClusterSnapshot[]) {
  const web = seen!.exports["shop/web"]!;
  const membersOf = (groups: ReturnType<typeof endpoints>) =>
    Object.values(groups).flatMap(({ members }) => Object.values(members).map(({ address }) => address));
  const service = seen!.services["shop/web"]!;
  return {
    clusterSetIP: seen!.imports["shop/web"]!.ips,
    clusterIP: [...(web.clusterIPs ?? []), ...(service.clusterIPs ?? [])],
    balancers: [...web.loadBalancer!.map(({ ip, hostname }) => ip ?? hostname), ...web.externalIPs!],
    endpoints: [...membersOf(web.endpoints), ...membersOf(service.endpoints)],
    pods: Object.keys(seen!.pods),
    zone: seen!.clusterZone!.pods,
  };
}

const ALL = addressesOf([west]);
const NONE = { clusterSetIP: [], clusterIP: [], balancers: [], endpoints: [], pods: [], zone: "disabled" };

describe("address sources", () => {
  it.each<[NonNullable<Visibility["addressSources"]>, Partial<typeof ALL>]>([
    [["ClusterSetIP"], { clusterSetIP: ALL.clusterSetIP }],
    [["ClusterIP"], { clusterIP: ALL.clusterIP }],
    [["LoadBalancer"], { balancers: ALL.balancers }],
    [["Endpoint"], { endpoints: ALL.endpoints, pods: ALL.pods }],
    [["Endpoint", "ClusterIP"], { endpoints: ALL.endpoints, pods: ALL.pods, clusterIP: ALL.clusterIP }],
    [[], {}],
  ])("%j are the only ones", (addressSources, kept) => {
    expect(addressesOf(see({ addressSources }, west))).toEqual({ ...NONE, ...kept });
  });
});

describe("address ranges", () => {
  it("are about every address; a load balancer goes with its address, and what is no address is in no range", () => {
    expect(addressesOf(see({ addressRanges: ["10.0.0.0/8"] }, west))).toEqual({
      clusterSetIP: ["10.3.0.1"],
      clusterIP: ["10.96.0.1", "10.96.0.1"],
      balancers: ["10.2.0.1"],
      endpoints: ALL.endpoints,
      pods: ["shop/10.1.0.1", "secret/10.1.0.2"],
      zone: "disabled",
    });
    expect(addressesOf(see({ addressRanges: ["fd00::/8"] }, west))).toEqual({
      ...NONE,
      clusterIP: ["fd96::1"],
      pods: ["shop/fd01::1"],
    });
  });

  it("keep source clusters in what is imported, whatever addresses they report", () => {
    const scope = { clusters: ["hub", "west"], addressRanges: ["10.0.0.0/8"] };
    const [hub] = see(scope, importing("hub", { endpoints: { west: at("192.0.2.1") } }));
    const groups = hub!.imports["shop/web"]!.endpoints.west!;
    expect(Object.values(groups).map(({ members }) => members)).toEqual([{}]);
  });
});

describe("CNAME targets", () => {
  const alias = (externalName?: string): LocalService => ({
    ...{
      createdAt: "2026-01-01T00:00:00Z",
      serviceType: "ExternalName",
      headless: false,
      ports: [],
      endpoints: {},
    },
    ...(externalName !== undefined && { externalName }),
  });
  const world = snapshot("west", {
    exports: {
      "shop/web": exported({
        loadBalancer: [
          { hostname: "LB.eu.example." },
          { hostname: "lb.notexample" },
          { hostname: "10.0.0.1" },
        ],
      }),
    },
    services: { "shop/in": alias("db.example"), "shop/out": alias("db.internal"), "shop/none": alias() },
    clusterZone: { name: "cluster.local", pods: "insecure" },
  });
  const targetsOf = (scope: Visibility) => {
    const [seen] = see(scope, world);
    return [
      seen!.exports["shop/web"]!.loadBalancer!.map(({ hostname }) => hostname),
      Object.keys(seen!.services),
    ];
  };

  it.each<[string, Visibility]>([
    ["address ranges alone", { addressRanges: ["0.0.0.0/0", "::/0"] }],
    ["no domain", { targets: [] }],
  ])("do not exist with %s", (_, scope) => {
    expect(targetsOf(scope)).toEqual([[], []]);
  });

  it.each<[string, Visibility]>([
    ["and address ranges", { addressRanges: ["10.0.0.0/8"], targets: ["Example."] }],
    ["alone", { targets: ["example"] }],
  ])("exist in the listed domains %s, whole labels only", (_, scope) => {
    expect(targetsOf(scope)).toEqual([["LB.eu.example."], ["shop/in"]]);
  });

  it("exist where only the sources of addresses are restricted, unless load balancers are hidden", () => {
    expect(targetsOf({ addressSources: ["ClusterSetIP"] })).toEqual([
      [],
      ["shop/in", "shop/out", "shop/none"],
    ]);
  });

  it("that are hidden leave addresses of pods as they are", () => {
    expect(see({ targets: [] }, world)[0]!.clusterZone).toEqual({ name: "cluster.local", pods: "insecure" });
  });
});

describe("what exists", () => {
  const scope = { namespaces: ["shop"], clusters: ["west"], addressRanges: ["10.0.0.0/8"] };
  const change = (parts: Partial<ClusterSnapshot>) => ({ ...west, ...parts });
  const open = () => {
    const indexed = createIndexed({ visibility: scope });
    indexed.merge([west]);
    return indexed;
  };

  it.each<[string, ClusterSnapshot[]]>([
    ["the same snapshots", [west]],
    ["a hidden cluster", [exporting("north"), west]],
    [
      "a hidden namespace",
      [change({ exports: { ...west.exports, "secret/db": exported({ headless: true }) } })],
    ],
  ])("does not change with %s", (_, next) => {
    const { follow, services } = open();
    follow(next);
    expect(services.hasChanged).toBe(false);
  });

  it("is the same after a change of a hidden pod, and of findings", () => {
    const { follow, services, settled } = open();
    const before = settled();
    follow([change({ pods: { ...west.pods, "shop/192.0.2.9": {} }, findings: {} })]);
    expect([...drain(services.settle()).services]).toEqual([]);
    expect(settled()).toEqual(before);
  });

  it("is named service by service where it changes; the others stay the same objects", () => {
    const { follow, services, settled } = open();
    const before = services.service("shop/web");
    const api = exported({ endpoints: at("192.0.2.1") });
    follow([change({ exports: { ...west.exports, "shop/api": api } })]);
    expect([...drain(services.settle()).services]).toEqual(["shop/api"]);
    expect([...services.keys()]).toEqual(["shop/web", "shop/api"]);
    expect(services.service("shop/web")).toBe(before);
    follow([change({ topology: { region: "us" } })]);
    expect(settled().clusters).toMatchObject([{ region: "us" }]);
    follow([]);
    expect(settled()).toMatchObject({ clusters: [], services: [], localZones: [] });
  });

  it("of an entry is the same object each time", () => {
    const filter = createEntryFilter(scope)!;
    const service = west.exports["shop/web"]!;
    const seen = filter.exported("shop/web", service);
    expect(seen).not.toBe(service);
    expect(filter.exported("shop/web", service)).toBe(seen);
  });
});
