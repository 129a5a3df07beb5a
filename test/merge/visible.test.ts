import { describe, expect, it } from "vitest";
import { checkVisibility, EVERYTHING, type Visibility, visibilityKey } from "../../src/merge/visibility.ts";
import type { ClusterSnapshot, LocalService } from "../../src/snapshot/schema.ts";
import { endpoints, exported, exporting, imported, importing, snapshot } from "./fixtures.ts";
import { seeWorld } from "./seen-world.ts";

describe("the key of a scope", () => {
  it.each<[string, Visibility, Visibility]>([
    ["order", { namespaces: ["b", "a"] }, { namespaces: ["a", "b"] }],
    ["repetition", { clusters: ["a", "a"] }, { clusters: ["a"] }],
    ["a part that is not set", { clusters: ["a"], view: undefined }, { clusters: ["a"] }],
    ["the order of parts", { view: "a", clusters: ["a"] }, { clusters: ["a"], view: "a" }],
    [
      "how an address is written",
      { addressRanges: ["FD00:0::/8", "10.0.0.1"] },
      { addressRanges: ["10.0.0.1/32", "fd00::/8"] },
    ],
    ["how a domain is written", { targets: ["B.example.", "a"] }, { targets: ["a", "b.example"] }],
  ])("does not distinguish %s", (_, one, other) => {
    expect(visibilityKey(one)).toBe(visibilityKey(other));
  });

  it("distinguishes scopes in which something else exists", () => {
    const scopes: Visibility[] = [
      EVERYTHING,
      { view: "a" },
      { clusters: ["a"] },
      { clusters: [] },
      { namespaces: ["a"] },
      { namespaces: [] },
      { addressSources: ["Endpoint"] },
      { addressSources: [] },
      { addressRanges: ["10.0.0.0/8"] },
      { addressRanges: [] },
      { targets: [] },
      { targets: ["a"] },
      { addressRanges: ["10.0.0.0/8"], targets: ["a"] },
      { clusters: ["a,b"] },
      { clusters: ["a", "b"] },
    ];
    expect(new Set(scopes.map(visibilityKey)).size).toBe(scopes.length);
    expect(visibilityKey(EVERYTHING)).toBe("");
  });
});

it.each<[string, Visibility, Visibility]>([
  ["ranges", { addressRanges: ["10.0.0.0/8"] }, { addressRanges: ["11.0.0.0/8"] }],
  ["lengths of ranges", { addressRanges: ["10.0.0.0/8"] }, { addressRanges: ["10.0.0.0/9"] }],
  ["domains", { targets: ["a.example"] }, { targets: ["b.example"] }],
])("the key of a scope distinguishes %s", (_, one, other) => {
  expect(visibilityKey(one)).not.toBe(visibilityKey(other));
});

describe("rejects a scope", () => {
  it.each<[string, Visibility, RegExp]>([
    [
      "whose view is not among its clusters",
      { view: "a", clusters: ["b"] },
      /view "a" is not among its clusters/,
    ],
    ["with a range that is none", { addressRanges: ["10.0.0.1/8"] }, /"10.0.0.1\/8" is no range/],
  ])("%s", (_, scope, message) => {
    expect(() => checkVisibility(scope)).toThrow(RangeError);
    expect(() => checkVisibility(scope)).toThrow(message);
  });

  it("in no other case", () => {
    checkVisibility({ view: "a", clusters: ["a"], addressRanges: ["::/0", "10.0.0.1"], namespaces: [] });
  });
});

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

describe("clusters", () => {
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
    createdAt: "2026-01-01T00:00:00Z",
    serviceType: "ExternalName",
    headless: false,
    ports: [],
    endpoints: {},
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
