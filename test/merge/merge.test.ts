import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Grants } from "../../src/merge/grants.ts";
import { createPinTable, type Pins } from "../../src/merge/grants.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { endpoints, exported, exporting, imported, importing, port, snapshot, web } from "./fixtures.ts";
import { mergeClusterset } from "./merged.ts";

describe("KEP-1645 Terminology: namespace sameness", () => {
  it("what lies in a namespace that the cluster has no more is gone, with a finding", () => {
    const gone = { ...exporting("a"), namespaces: {}, imports: { "shop/db": imported() } };
    const merged = mergeClusterset([gone, exporting("b")]);
    expect(merged.services.map(({ name, exporters }) => [name, exporters])).toEqual([["web", ["b"]]]);
    expect(merged.findings).toMatchObject([
      { clusterId: "a", reason: "NoNamespace", kind: "ServiceImport", namespace: "shop", name: "db" },
      { clusterId: "a", reason: "NoNamespace", kind: "ServiceExport", namespace: "shop", name: "web" },
    ]);
  });
});
describe("clusters and findings", () => {
  it("findings pass through with their cluster id", () => {
    const finding = {
      reason: "NoService",
      kind: "ServiceExport",
      namespace: "shop",
      name: "x",
      message: "m",
    };
    const world = [snapshot("b", { findings: { k: finding } }), snapshot("a", { findings: { k: finding } })];
    expect(mergeClusterset(world).findings).toEqual([
      { ...finding, clusterId: "a" },
      { ...finding, clusterId: "b" },
    ]);
  });

  it("findings of a whole cluster come before those of its namespaces", () => {
    const finding = { reason: "InvalidTopology", kind: "Node", name: "x", message: "m" };
    for (const namespace of ["0", "shop"]) {
      const both = [{ ...finding, namespace }, finding];
      for (const [first, second] of [both, both.toReversed()]) {
        const findings = { first: first!, second: second! };
        expect(mergeClusterset([snapshot("a", { findings })]).findings).toEqual([
          { ...finding, clusterId: "a" },
          { ...finding, namespace, clusterId: "a" },
        ]);
      }
    }
  });
});

const managed = (clusterId: string, ips: string[], parts = {}) =>
  importing(clusterId, { managed: true, ips, ...parts });
const withPods = (clusterId: string, address: string) =>
  exporting(clusterId, { endpoints: endpoints({ address }) });

describe("a ServiceImport that the cluster's worker made from the desired state", () => {
  it("gives its ips to that cluster's view alone", () => {
    const { outside, byCluster } = web(
      mergeClusterset([withPods("a", "10.0.0.1"), managed("b", ["10.96.0.7"]), snapshot("c")]),
    );
    expect(outside.addresses).toEqual(["10.0.0.1"]);
    expect(Object.fromEntries(byCluster)).toEqual({
      b: { source: "ClusterSetIP", addresses: ["10.96.0.7"], reportedBy: ["b"] },
    });
  });

  it("gives them to an exporter's own view, too, and not outside", () => {
    const both = { ...withPods("a", "10.0.0.1"), imports: managed("a", ["10.96.0.7"]).imports };
    const { outside, byCluster } = web(mergeClusterset([both, withPods("b", "10.1.0.1")]));
    expect(outside.addresses).toEqual(["10.0.0.1", "10.1.0.1"]);
    expect([...byCluster.keys()]).toEqual(["a"]);
  });

  it("makes no service exist, and is no finding without its namespace", () => {
    expect(mergeClusterset([managed("a", ["10.96.0.7"])]).services).toEqual([]);
    const gone = { ...managed("a", ["10.96.0.7"]), namespaces: {} };
    expect(mergeClusterset([gone, exporting("b")]).findings).toEqual([]);
  });

  it("declares nothing, reports no endpoints and has no part, whatever it pushes and whatever grant it has", () => {
    const odd = {
      type: "Headless",
      ports: [port("other", 99)],
      sessionAffinity: "ClientIP",
      endpoints: { far: endpoints({ address: "10.9.0.1" }), a: endpoints({ address: "10.9.0.2" }) },
    };
    const importer = importing("c", { ports: [port("http", 80)], ips: ["10.2.0.2"] });
    const world = (own: object) => [importer, managed("b", ["10.96.0.7"], own)];
    const options = { grants: new Map([["b", "*" as const]]) };
    const service = web(mergeClusterset(world(odd), options));
    expect(service).toEqual(web(mergeClusterset(world({}), options)));
    expect(service).toMatchObject({ type: "ClusterSetIP", ports: [port("http", 80)], reportedBy: ["c"] });
    expect([...service.since.keys()]).toEqual(["c"]);
    expect(service.outside.addresses).toEqual(["10.2.0.2"]);
  });

  it("changes nothing of a headless service", () => {
    const headless = exporting("a", { headless: true, endpoints: endpoints({ address: "10.0.0.1" }) });
    const alone = web(mergeClusterset([headless, snapshot("b")]));
    expect(web(mergeClusterset([headless, managed("b", ["10.96.0.7"])]))).toEqual(alone);
  });

  it("is a finding with an address that is none", () => {
    const { findings } = mergeClusterset([exporting("a"), managed("b", ["none"])]);
    expect(findings).toMatchObject([{ clusterId: "b", reason: "InvalidAddress", kind: "ServiceImport" }]);
  });

  it("is hidden with its addresses, and where the exporters are hidden", () => {
    const world = [withPods("a", "10.0.0.1"), withPods("c", "10.1.0.1"), managed("b", ["10.96.0.7"])];
    const seen = (visibility: object) => mergeClusterset(world, {}, { visibility }).services;
    expect(seen({ clusters: ["b"] })).toEqual([]);
    expect(seen({ clusters: ["a", "b"] })[0]!.byCluster.get("b")!.addresses).toEqual(["10.96.0.7"]);
    expect(seen({ addressSources: ["Endpoint"] })[0]!.byCluster.size).toBe(0);
    expect(seen({ addressRanges: ["10.0.0.0/16"] })[0]!.byCluster.size).toBe(0);
  });
});

describe("a pattern of services", () => {
  it.each([
    ["shop", "shop/web", true],
    ["shop", "shop2/web", false],
    ["shop", "sho/web", false],
    ["shop/web", "shop/web", true],
    ["shop/web", "shop/web2", false],
    ["*", "shop/web", true],
    ["team-*", "team-a/db", true],
    ["team-*", "team/db", false],
    ["*/db", "payroll/db", true],
    ["*/db", "payroll/adb", false],
    ["team-*/db-*", "team-a/db-1", true],
    ["a*b*c", "abc/x", true],
    ["a*b*c", "axxbyyc/x", true],
    ["a*b*c", "axxcyyb/x", false],
    ["a*a", "a/x", false],
    ["a*a", "aa/x", true],
    ["a*bc*c", "abc/x", false],
    ["*a*", "bab/x", true],
  ])("%s and %s: %s", (pattern, service, fits) => {
    const table = createPinTable({ exports: new Map([["east", [pattern]]]) });
    expect(table.mayExport("east", service)).toBe(fits);
    expect(table.mayExport("west", service)).toBe(true);
  });

  it.each(["", "/", "shop/", "/web", "Shop", "shop/web/x", "shop web"])("rejects %j", (pattern) => {
    const rejected = { name: "RangeError", message: `${JSON.stringify(pattern)} is no pattern of services` };
    expect(() => createPinTable({ exports: new Map([["east", [pattern]]]) })).toThrow(
      expect.objectContaining(rejected),
    );
    expect(() => createPinTable({ owners: [{ service: pattern, owner: "east" }] })).toThrow(
      expect.objectContaining(rejected),
    );
  });

  it("fits what the same regular expression fits", () => {
    const part = (letters: string) =>
      fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 6 }).map((all) => all.join(""));
    fc.assert(
      fc.property(part("ab*"), part("ab"), (pattern, text) => {
        const table = createPinTable({ exports: new Map([["east", [pattern]]]) });
        const expression = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
        expect(table.mayExport("east", `${text}/x`)).toBe(expression.test(text));
      }),
    );
  });
});

const withAge = (clusterId: string, exportedAt: string, port: number): ClusterSnapshot => {
  const snapshot = structuredClone(shopSnapshot(clusterId));
  const web = snapshot.exports["shop/web"]!;
  return {
    ...snapshot,
    exports: { "shop/web": { ...web, exportedAt, ports: [{ name: "http", protocol: "TCP", port }] } },
  };
};
const old = withAge("east", "2024-01-01T00:00:00Z", 81);
const young = withAge("west", "2025-01-01T00:00:00Z", 82);
const merged = (pins: Pins, ...snapshots: ClusterSnapshot[]) => mergeClusterset(snapshots, { pins });

describe("push.credentials[].exports", () => {
  it("leaves an export outside of it out, with a finding of that cluster, and nothing else", () => {
    const pins = { exports: new Map([["east", ["payroll"]]]) };
    const { services, findings, conflicts } = merged(pins, old, young);
    expect(services).toEqual(merged({}, { ...old, exports: {} }, young).services);
    expect(conflicts).toEqual([]);
    expect(findings).toMatchObject([
      {
        clusterId: "east",
        reason: "ExportNotAllowed",
        kind: "ServiceExport",
        namespace: "shop",
        name: "web",
      },
    ]);
    expect(merged({ exports: new Map([["east", ["payroll", "shop/w*"]]]) }, old, young)).toEqual(
      merged({}, old, young),
    );
  });
});

describe("services[].owner", () => {
  const pinned = { owners: [{ service: "shop/*", owner: "west" }] };

  it("is the first entry that fits", () => {
    const owners = [{ service: "shop/web", owner: "east" }, ...pinned.owners];
    expect(createPinTable({ owners }).ownerOf("shop/web")).toBe("east");
    expect(createPinTable({ owners }).ownerOf("shop/db")).toBe("west");
    expect(createPinTable({ owners }).ownerOf("payroll/db")).toBeUndefined();
  });
});

const NOBODY: Grants = new Map();
const at = (address: string) => endpoints({ address });

/** What a world is for clients outside, and what was found. */
function judged(world: ClusterSnapshot[], grants: Grants = NOBODY) {
  const merged = mergeClusterset(world, { grants });
  const service = web(merged);
  return {
    ...service,
    addresses: service.outside.addresses,
    reported: service.endpoints.map(({ clusterId, address }) => `${clusterId} ${address}`),
    findings: merged.findings.map(({ clusterId, reason, message }) => `${clusterId} ${reason} ${message}`),
  };
}

const headless = (sources: Record<string, string>) => ({
  type: "Headless",
  endpoints: Object.fromEntries(Object.entries(sources).map(([source, address]) => [source, at(address)])),
});

describe("endpoints of other source clusters (docs/reference/push-api.md, For whom a cluster speaks)", () => {
  const hub = importing(
    "hub",
    headless({ east: "10.1.0.1", West: "10.2.0.1", hub: "10.3.0.1", "": "10.4.0.1" }),
  );

  it("are named in the finding up to ten of them, and then counted; those without an endpoint are not missed", () => {
    const sources = (count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`c${index + 10}`, `10.0.0.${index + 1}`]),
      );
    const messageFor = (count: number) => judged([importing("hub", headless(sources(count)))]).findings[0];
    const ten = Array.from({ length: 10 }, (_, index) => `"c${index + 10}"`).join(", ");
    expect(messageFor(10)).toContain(`endpoints of ${ten} are left out: hub may not speak for them`);
    expect(messageFor(13)).toContain(`endpoints of ${ten} and 3 more are left out: hub may not speak`);
    const empty = { type: "Headless" as const, endpoints: { east: endpoints() } };
    expect(judged([importing("hub", empty)]).findings).toEqual([]);
  });

  it("are left out without a grant, with a finding; its own keep serving", () => {
    const { reported, findings } = judged([hub]);
    expect(reported).toEqual(["hub 10.3.0.1"]);
    expect(findings).toEqual([
      expect.stringMatching(
        /^hub SourceClusterNotGranted .*"east", "West".*push\.credentials\[\]\.speaksFor/,
      ),
    ]);
  });

  it.each<[string, Grants, string[], number]>([
    ["some", new Map([["hub", new Set(["west"])]]), ["West 10.2.0.1"], 1],
    ["all", new Map([["hub", "*"]]), [" 10.4.0.1", "West 10.2.0.1", "east 10.1.0.1", "hub 10.3.0.1"], 0],
    ["others", new Map([["other", "*"]]), ["hub 10.3.0.1"], 1],
  ])("count by a grant for %s", (_, grants, reported, findings) => {
    const merged = judged([hub], grants);
    for (const one of reported) expect(merged.reported).toContain(one);
    expect(merged.reported).not.toHaveLength(0);
    expect(merged.findings).toHaveLength(findings);
  });

  it("make no finding where the source cluster exports the service itself: every MCS implementation has them", () => {
    const world = [
      exporting("east", { headless: true, endpoints: at("10.1.0.1") }),
      importing("west", headless({ east: "10.9.9.9" })),
    ];
    expect(judged(world)).toMatchObject({ reported: ["east 10.1.0.1"], findings: [] });
  });

  it("do not bring back a cluster that died", () => {
    const world = [importing("west", headless({ east: "10.1.0.1" }))];
    expect(judged(world)).toMatchObject({ reported: [], findings: [expect.stringContaining('"east"')] });
  });
});

describe("what a cluster imports that neither exports the service nor has a grant", () => {
  const b = exporting("b", { headless: true, ports: [port("http", 80)], endpoints: at("10.2.0.1") });
  const hostile = importing("a", {
    type: "ClusterSetIP",
    ips: ["198.51.100.66"],
    ports: [port("http", 666)],
    endpoints: {
      a: at("198.51.100.1"),
      b: at("198.51.100.2"),
      c: at("198.51.100.3"),
      "": at("198.51.100.4"),
    },
  });

  it("changes nothing of a headless service that others export", () => {
    const { findings, byCluster: _, since: _s, ...service } = judged([b, hostile]);
    const { findings: _f, byCluster: _b, since: _t, ...alone } = judged([b]);
    expect(service).toEqual(alone);
    expect(findings.map((finding) => finding.split(" ", 2).join(" "))).toContain("a SourceClusterNotGranted");
  });

  it("is answered to that cluster alone where others export a ClusterSetIP service", () => {
    const ipOfB = snapshot("b", {
      exports: { "shop/web": exported({ endpoints: at("10.2.0.1") }) },
      imports: { "shop/web": imported({ ips: ["172.16.0.2"] }) },
    });
    const merged = judged([ipOfB, hostile, snapshot("c")]);
    expect(merged).toMatchObject({ addresses: ["172.16.0.2"], reportedBy: ["b"] });
    expect(merged.byCluster.get("a")?.addresses).toEqual(["198.51.100.66"]);
    expect(merged.byCluster.get("c")?.addresses).toEqual(["10.2.0.1"]);
  });

  it("says so where nobody else has a clusterset IP", () => {
    const { addresses, findings } = judged([exporting("b", { endpoints: at("10.2.0.1") }), hostile]);
    expect(addresses).toEqual(["10.2.0.1"]);
    expect(findings).toContainEqual(
      expect.stringMatching(/^a SourceClusterNotGranted spec\.ips .*to a alone/),
    );
  });

  it("is a finding of that ServiceImport", () => {
    const { findings } = mergeClusterset([exporting("b", { endpoints: at("10.2.0.1") }), hostile], {
      grants: NOBODY,
    });
    for (const finding of findings)
      expect(finding).toMatchObject({
        clusterId: "a",
        kind: "ServiceImport",
        namespace: "shop",
        name: "web",
      });
    expect(findings).not.toHaveLength(0);
  });

  it("has no finding for its spec.ips where those of another cluster count", () => {
    const hub = importing("hub", { ips: ["172.16.0.9"] });
    const { addresses, findings } = judged(
      [hub, importing("a", { ips: ["198.51.100.66"] })],
      new Map([["hub", "*"]]),
    );
    expect(addresses).toEqual(["172.16.0.9"]);
    expect(findings).toEqual([]);
  });

  it("comes after a cluster that speaks for others: type, ports, addresses and lease are the hub's", () => {
    const hub = importing("hub", { ...headless({ east: "10.1.0.1" }), ports: [port("http", 80)] });
    for (const grant of ["*", new Set(["east"])] as const) {
      const grants: Grants = new Map([["hub", grant]]);
      const { findings: _, byCluster: _b, since: _s, ...merged } = judged([hub, hostile], grants);
      const { findings: _f, byCluster: _c, since: _t, ...alone } = judged([hub], grants);
      expect(merged).toEqual(alone);
    }
  });
});

it("clusters that export a service count with what they import of it, too", () => {
  const both = (clusterId: string, ip: string) =>
    snapshot(clusterId, {
      exports: { "shop/web": exported() },
      imports: { "shop/web": imported({ ips: [ip] }) },
    });
  const merged = judged([both("a", "172.16.0.1"), both("b", "172.16.0.2")]);
  expect(merged).toMatchObject({ addresses: ["172.16.0.1", "172.16.0.2"], findings: [] });
});

describe("whose spec.ips count (docs/reference/push-api.md, For whom a cluster speaks)", () => {
  const withIp = (clusterId: string, ip: string, sources: Record<string, string>) =>
    importing(clusterId, { ...headless(sources), type: "ClusterSetIP", ips: [ip] });

  it("not those of a cluster with a grant for some exporters only", () => {
    const hub = withIp("hub", "172.16.0.9", {});
    const exporters = [
      exporting("east", { endpoints: at("10.1.0.1") }),
      exporting("west", { endpoints: at("10.2.0.1") }),
    ];
    const one = judged([...exporters, hub], new Map([["hub", new Set(["east"])]]));
    expect(one.addresses).toEqual(["10.1.0.1", "10.2.0.1"]);
    const both = judged([...exporters, hub], new Map([["hub", new Set(["east", "west"])]]));
    expect(both.addresses).toEqual(["172.16.0.9"]);
  });

  it("without exporters those of a grant for all, before those of a grant for every source", () => {
    const sources = { east: "10.1.0.1" };
    const grants: Grants = new Map<string, "*" | Set<string>>([
      ["hub", "*"],
      ["other", new Set(["east"])],
    ]);
    const world = [withIp("hub", "172.16.0.9", sources), withIp("other", "172.16.0.8", sources)];
    expect(judged(world, grants).addresses).toEqual(["172.16.0.9"]);
  });

  it("without exporters a cluster needs no grant for itself to cover every source", () => {
    const grants: Grants = new Map([
      ["hub", new Set(["east"])],
      ["other", new Set(["hub"])],
    ]);
    const world = [
      withIp("hub", "172.16.0.9", { east: "10.1.0.1" }),
      withIp("other", "172.16.0.8", { hub: "10.3.0.1" }),
    ];
    expect(judged(world, grants).addresses).toEqual(["172.16.0.9"]);
  });
});

it("endpoints of a source cluster are missed if any of its groups has one", () => {
  const groups = { "dns/UDP/53": { ports: [port("dns", 53, "UDP")], members: {} }, ...at("10.1.0.1") };
  const hub = importing("hub", { type: "Headless", endpoints: { east: groups } });
  expect(judged([hub]).findings).toEqual([expect.stringContaining('"east"')]);
});
