import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPinTable, type Grants } from "../../src/merge/grants.ts";
import type { ClusterSnapshot, ImportedService } from "../../src/snapshot/schema.ts";
import { endpoints, exporting, imported, importing, port, snapshot, web } from "./fixtures.ts";
import { mergeClusterset } from "./merged.ts";

it("what lies in a namespace that the cluster has no more is gone, with a finding (KEP-1645, namespace sameness)", () => {
  const gone = { ...exporting("a"), namespaces: {}, imports: { "shop/db": imported() } };
  const merged = mergeClusterset([gone, exporting("b")]);
  expect(merged.services.map(({ name, exporters }) => [name, exporters])).toEqual([["web", ["b"]]]);
  expect(merged.findings).toMatchObject([
    { clusterId: "a", reason: "NoNamespace", kind: "ServiceImport", namespace: "shop", name: "db" },
    { clusterId: "a", reason: "NoNamespace", kind: "ServiceExport", namespace: "shop", name: "web" },
  ]);
});

it("findings of a whole cluster come before those of its namespaces", () => {
  const finding = { reason: "InvalidTopology", kind: "Node", name: "x", message: "m" };
  for (const namespace of ["0", "shop"]) {
    const findings = { first: { ...finding, namespace }, second: finding };
    expect(mergeClusterset([snapshot("a", { findings })]).findings).toEqual([
      { ...finding, clusterId: "a" },
      { ...finding, namespace, clusterId: "a" },
    ]);
  }
});

const managed = (clusterId: string, ips: string[], parts = {}) =>
  importing(clusterId, { managed: true, ips, ...parts });
const withPods = (clusterId: string, address: string) =>
  exporting(clusterId, { endpoints: endpoints({ address }) });

describe("a ServiceImport that the cluster's worker made from the desired state", () => {
  it("gives its ips to that cluster's view alone, be it an exporter's", () => {
    const both = { ...withPods("a", "10.0.0.1"), imports: managed("a", ["10.96.0.6"]).imports };
    const { outside, byCluster } = web(mergeClusterset([both, managed("b", ["10.96.0.7"]), snapshot("c")]));
    expect(outside.addresses).toEqual(["10.0.0.1"]);
    expect(Object.fromEntries(byCluster)).toEqual({
      a: { source: "ClusterSetIP", addresses: ["10.96.0.6"], reportedBy: ["a"] },
      b: { source: "ClusterSetIP", addresses: ["10.96.0.7"], reportedBy: ["b"] },
    });
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
});

describe("a pattern of services", () => {
  const tableOf = (pattern: string) => createPinTable({ exports: new Map([["east", [pattern]]]) });

  it.each([
    ["shop", "shop/web", true],
    ["shop", "shop2/web", false],
    ["shop/web", "shop/web", true],
    ["shop/web", "shop/web2", false],
    ["*/db", "payroll/db", true],
    ["team-*/db-*", "team-a/db-1", true],
    ["a*bc*c", "abc/x", false],
  ])("%s and %s: %s", (pattern, service, fits) => {
    expect(tableOf(pattern).mayExport("east", service)).toBe(fits);
    expect(tableOf(pattern).mayExport("west", service)).toBe(true);
  });

  it("fits what the same regular expression fits", () => {
    const part = (letters: string) =>
      fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 6 }).map((all) => all.join(""));
    fc.assert(
      fc.property(part("ab*"), part("ab"), (pattern, text) => {
        const expression = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
        expect(tableOf(pattern).mayExport("east", `${text}/x`)).toBe(expression.test(text));
      }),
    );
  });

  it.each(["", "/", "shop/", "/web", "Shop", "shop/web/x", "shop web"])("rejects %j", (pattern) => {
    const error = new RangeError(`${JSON.stringify(pattern)} is no pattern of services`);
    expect(() => tableOf(pattern)).toThrow(error);
    expect(() => createPinTable({ owners: [{ service: pattern, owner: "east" }] })).toThrow(error);
  });

  it("gives a service the owner of the first one that fits", () => {
    const { ownerOf } = createPinTable({
      owners: [
        { service: "shop/web", owner: "east" },
        { service: "shop/*", owner: "west" },
      ],
    });
    expect(["shop/web", "shop/db", "payroll/db"].map(ownerOf)).toEqual(["east", "west", undefined]);
  });
});

const NOBODY: Grants = new Map();
const EAST_ONLY: Grants = new Map([["hub", new Set(["east"])]]);
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

const headless = (sources: Record<string, string>): Partial<ImportedService> => ({
  type: "Headless",
  endpoints: Object.fromEntries(Object.entries(sources).map(([source, address]) => [source, at(address)])),
});

describe("endpoints of other source clusters (docs/reference/push-api.md, For whom a cluster speaks)", () => {
  const hub = importing(
    "hub",
    headless({ east: "10.1.0.1", West: "10.2.0.1", hub: "10.3.0.1", "": "10.4.0.1" }),
  );

  it("are named in the finding up to ten of them, and then counted", () => {
    const messageFor = (count: number) => {
      const sources = Array.from({ length: count }, (_, index) => [`c${index + 10}`, `10.0.0.${index + 1}`]);
      return judged([importing("hub", headless(Object.fromEntries(sources)))]).findings[0];
    };
    const ten = Array.from({ length: 10 }, (_, index) => `"c${index + 10}"`).join(", ");
    expect(messageFor(10)).toContain(`endpoints of ${ten} are left out: hub may not speak for them`);
    expect(messageFor(13)).toContain(`endpoints of ${ten} and 3 more are left out: hub may not speak`);
  });

  it("are missed if any of its groups has an endpoint, and only then", () => {
    const none = { "dns/UDP/53": { ports: [port("dns", 53, "UDP")], members: {} } };
    const findingsOf = (east: ReturnType<typeof endpoints>) =>
      judged([importing("hub", { type: "Headless", endpoints: { east } })]).findings;
    expect(findingsOf({ ...none, ...at("10.1.0.1") })).toEqual([expect.stringContaining('"east"')]);
    expect(findingsOf({ ...none, ...endpoints() })).toEqual([]);
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
});

describe("what a cluster imports that neither exports the service nor has a grant", () => {
  const hostile = importing("a", {
    ...headless({ a: "198.51.100.1", b: "198.51.100.2", c: "198.51.100.3", "": "198.51.100.4" }),
    type: "ClusterSetIP",
    ips: ["198.51.100.66"],
    ports: [port("http", 666)],
  });

  it("is answered to that cluster alone where others export a ClusterSetIP service", () => {
    const ipOfB = {
      ...exporting("b", { endpoints: at("10.2.0.1") }),
      imports: { "shop/web": imported({ ips: ["172.16.0.2"] }) },
    };
    const merged = judged([ipOfB, hostile, snapshot("c")]);
    expect(merged).toMatchObject({ addresses: ["172.16.0.2"], reportedBy: ["b"] });
    expect(merged.byCluster.get("a")?.addresses).toEqual(["198.51.100.66"]);
    expect(merged.byCluster.get("c")?.addresses).toEqual(["10.2.0.1"]);
  });

  it("says so where nobody else has a clusterset IP, with a finding of that ServiceImport", () => {
    const world = [exporting("b", { endpoints: at("10.2.0.1") }), hostile];
    const { addresses, findings } = judged(world);
    expect(addresses).toEqual(["10.2.0.1"]);
    expect(findings).toContainEqual(
      expect.stringMatching(/^a SourceClusterNotGranted spec\.ips .*to a alone/),
    );
    const of = { clusterId: "a", kind: "ServiceImport", namespace: "shop", name: "web" };
    for (const finding of mergeClusterset(world, { grants: NOBODY }).findings)
      expect(finding).toMatchObject(of);
  });

  it("has no finding for its spec.ips where those of another cluster count", () => {
    const hub = importing("hub", { ips: ["172.16.0.9"] });
    const world = [hub, importing("a", { ips: ["198.51.100.66"] })];
    const { addresses, findings } = judged(world, new Map([["hub", "*"]]));
    expect(addresses).toEqual(["172.16.0.9"]);
    expect(findings).toEqual([]);
  });
});

describe("whose spec.ips count (docs/reference/push-api.md, For whom a cluster speaks)", () => {
  const withIp = (clusterId: string, ip: string, sources: Record<string, string> = {}) =>
    importing(clusterId, { ...headless(sources), type: "ClusterSetIP", ips: [ip] });
  const both = (clusterId: string, ip: string) => ({
    ...exporting(clusterId),
    imports: withIp(clusterId, ip).imports,
  });
  const exporters = [
    exporting("east", { endpoints: at("10.1.0.1") }),
    exporting("west", { endpoints: at("10.2.0.1") }),
  ];
  const hub = withIp("hub", "172.16.0.9");
  const ofEast = withIp("hub", "172.16.0.9", { east: "10.1.0.1" });

  it.each<[string, ClusterSnapshot[], Grants, string[]]>([
    [
      "those of clusters that export the service",
      [both("a", "172.16.0.1"), both("b", "172.16.0.2")],
      NOBODY,
      ["172.16.0.1", "172.16.0.2"],
    ],
    [
      "not those of a cluster with a grant for some exporters only",
      [...exporters, hub],
      EAST_ONLY,
      ["10.1.0.1", "10.2.0.1"],
    ],
    [
      "those of a cluster with a grant for each exporter",
      [...exporters, hub],
      new Map([["hub", new Set(["east", "west"])]]),
      ["172.16.0.9"],
    ],
    [
      "without exporters those of a grant for all, before those of a grant for every source",
      [ofEast, withIp("other", "172.16.0.8", { east: "10.1.0.1" })],
      new Map<string, "*" | Set<string>>([
        ["hub", "*"],
        ["other", new Set(["east"])],
      ]),
      ["172.16.0.9"],
    ],
    [
      "without exporters a cluster needs no grant for itself to cover every source",
      [ofEast, withIp("other", "172.16.0.8", { hub: "10.3.0.1" })],
      new Map([...EAST_ONLY, ["other", new Set(["hub"])]]),
      ["172.16.0.9"],
    ],
  ])("%s", (_, world, grants, addresses) => {
    expect(judged(world, grants).addresses).toEqual(addresses);
  });
});
