import { describe, expect, it } from "vitest";
import { DesiredImport, DesiredSlice } from "../../src/snapshot/desired-line.ts";
import type { Endpoint } from "../../src/snapshot/schema.ts";
import { day, endpoints, exporting, importing, port } from "../merge/fixtures.ts";
import { deriveWorld } from "./derived.ts";

const derive = (...world: Parameters<typeof deriveWorld>[0]) => deriveWorld(world).service()!;
const pods = (...addresses: string[]) => endpoints(...addresses.map((address) => ({ address })));
/** One endpoint with ports of these names. */
const listening = (address: string, ...names: string[]) => ({
  any: {
    ports: names.map((name) => ({ name, protocol: "TCP", port: 8080 })),
    members: { [address]: { address } },
  },
});
/** The names of ports in the slices of each cluster. */
const portsOf = ({ slices }: ReturnType<typeof derive>) =>
  Object.fromEntries(slices.map(({ cluster, desired }) => [cluster, desired.ports.map(({ name }) => name)]));
/** Each slice: of which cluster, for whom, its ports and its endpoints. */
const shown = ({ slices }: ReturnType<typeof derive>) =>
  slices.map(({ cluster, recipients, desired }) => [cluster, recipients, desired.ports, desired.endpoints]);
const HTTP = port("http", 8080);
/** The export of a cluster on a day, of which one endpoint listens on all ports. */
const exportOn = (dayNumber: number, cluster: string, ...ports: ReturnType<typeof port>[]) =>
  exporting(cluster, {
    exportedAt: day(dayNumber),
    ports,
    endpoints: listening(`10.${dayNumber}.0.1`, ...ports.map(({ name }) => name)),
  });
const asHeadless = (one: ReturnType<typeof exporting>) => ({
  ...one,
  exports: { "shop/web": { ...one.exports["shop/web"]!, headless: true } },
});

describe("a ServiceImport", () => {
  it("has type, affinity, policies, labels and annotations of the oldest export, and names the exporters", () => {
    const same = {
      ipFamilies: ["IPv6" as const, "IPv4" as const],
      sessionAffinity: "ClientIP",
      sessionAffinityTimeoutSeconds: 10,
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
    };
    const [labels, annotations] = [{ team: "b" }, { note: "from b" }];
    const exported = { exportedLabels: labels, exportedAnnotations: annotations };
    const older = exporting("b", { exportedAt: day(1), headless: true, ...same, ...exported });
    const younger = exporting("a", { exportedAt: day(2), exportedLabels: { team: "a", more: "x" } });
    const desired = { ...same, labels, annotations, type: "Headless", ports: [], clusters: ["b", "a"] };
    expect(derive(younger, older).import).toEqual(desired);
  });

  it("has properties as API servers take them, and no others", () => {
    const imported = (properties: Parameters<typeof exporting>[1]) =>
      derive(exporting("a", properties)).import;
    const plain = imported({});
    const affinity = (sessionAffinityTimeoutSeconds: number) => ({
      sessionAffinity: "ClientIP",
      sessionAffinityTimeoutSeconds,
    });
    const local = { internalTrafficPolicy: "Local" };
    const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    const kept = distributions.map((trafficDistribution) => ({ trafficDistribution }));
    for (const properties of [affinity(1), affinity(86_400), local, ...kept])
      expect(imported(properties)).toEqual({ ...plain, ...properties });
    for (const seconds of [0, -1, 86_401])
      expect(imported(affinity(seconds))).toEqual({ ...plain, sessionAffinity: "ClientIP" });
    const odd = ".spec.ports: field not declared in schema";
    for (const name of ["sessionAffinity", "internalTrafficPolicy", "trafficDistribution"])
      expect(imported({ [name]: odd })).toEqual(plain);
  });

  it("has the union of ports, written out, the oldest one's where a name differs", () => {
    const older = exporting("a", { ports: [port("tcp", 42), { ...port("dns", 53), protocol: "" }] });
    const younger = exporting("b", {
      exportedAt: day(9),
      ports: [port("tcp", 4242), port("udp", 42, "UDP"), port("web", 80, "TCP", "http")],
    });
    const [udp, web] = younger.exports["shop/web"]!.ports.slice(1);
    expect(derive(older, younger).import.ports).toEqual([port("tcp", 42), port("dns", 53), udp, web]);
  });

  it("has the oldest export's ports, and no more ports, labels and annotations than its line takes", () => {
    const many = Array.from({ length: 1000 }, (_, index) => port(`p${index}`, 1000 + index));
    const pairs = (value: string) =>
      Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key-${index}`, value]));
    const older = exporting("a", {
      ports: [port("http", 80)],
      exportedLabels: pairs("value"),
      exportedAnnotations: pairs("\u00fc"),
    });
    const desired = derive(older, exporting("b", { exportedAt: day(9), ports: many })).import;
    expect(desired.ports[0]).toEqual({ name: "http", protocol: "TCP", port: 80 });
    expect(desired.ports).toHaveLength(1000);
    expect(DesiredImport.parse(desired)).toEqual(desired);
    for (const kept of [desired.labels, desired.annotations]) {
      expect(Object.keys(kept).length).toBeGreaterThan(1000);
      expect(JSON.stringify(kept).length).toBeLessThan(256 * 1024);
    }
  });

  it("has an unnamed port beside others, and its slices have the name of the derived Service for it, too", () => {
    const namesOf = (desired: ReturnType<typeof derive>) => [
      desired.import.ports.map(({ name }) => name),
      portsOf(desired),
    ];
    const older = exportOn(1, "a", port("", 80));
    expect(namesOf(derive(older))).toEqual([[""], { a: [""] }]);
    const younger = exporting("b", {
      exportedAt: day(9),
      ports: [port("https", 443), port("tcp-80", 81), port("tcp-80-1", 82)],
      endpoints: listening("10.1.0.1", "https"),
    });
    expect(namesOf(derive(older, younger))).toEqual([
      ["", "https", "tcp-80", "tcp-80-1"],
      { a: ["", "tcp-80-2"], b: ["https"] },
    ]);
    expect(portsOf(derive(asHeadless(older), younger))).toEqual({ a: [""], b: ["https"] });
  });

  it("has no port that an API server rejects", () => {
    const odd = [port("a_b", 1), port("zero", 0), port("quic", 2, "QUIC"), port("app", 3, "TCP", "b\u00fc")];
    expect(derive(exporting("a", { ports: odd })).import.ports).toEqual([port("app", 3)]);
  });

  it("has the families of the exporters' Services, else those of their endpoints", () => {
    const stating = exporting("a", { ipFamilies: ["IPv6"] });
    const silent = exporting("b", { exportedAt: day(9), endpoints: pods("10.0.0.1") });
    expect(derive(stating, silent).import.ipFamilies).toEqual(["IPv6", "IPv4"]);
    expect(derive(exporting("a")).import.ipFamilies).toEqual([]);
  });

  it("has neither labels nor annotations that are invalid or that controllers go by", () => {
    const ofControllers = ["app.kubernetes.io/managed-by", "kubernetes.io/service-name"];
    const wrong = [...ofControllers, "multicluster.kubernetes.io/service-name", "Not.Valid/x", "trailing-"];
    const kept = { "app.kubernetes.io/name": "web", empty: "", "example.com/tier": "x", team: "a" };
    const pairs = { ...kept, ...Object.fromEntries(wrong.map((key) => [key, "x"])), long: "x y" };
    const { labels, annotations } = derive(
      exporting("a", {
        exportedLabels: pairs,
        exportedAnnotations: { ...pairs, "z-huge": "z".repeat(200_000) },
      }),
    ).import;
    expect(labels).toEqual(kept);
    expect(annotations).toEqual({ ...kept, long: "x y" });
  });

  it("is not desired of a service that clusters only import, and not under a name that is none", () => {
    expect(deriveWorld([importing("a", { ips: ["10.0.0.1"] })]).service()).toBeUndefined();
    const odd = { ...exporting("a"), exports: { "shop/UPPER": exporting("a").exports["shop/web"]! } };
    expect(deriveWorld([odd]).service("shop/UPPER")).toBeUndefined();
  });
});

describe("the slices of a service", () => {
  it("have the endpoints of every exporter as they were exported, those that are not ready, too", () => {
    const members: Endpoint[] = [
      { address: "10.0.0.1", hostname: "web-0", zone: "eu-1" },
      { address: "10.0.0.2", ready: false, serving: true, terminating: true },
    ];
    for (const headless of [true, false]) {
      const a = exporting("a", { headless, endpoints: endpoints(...members) });
      const b = exporting("b", { headless, exportedAt: day(9), endpoints: pods("fd00:0::1") });
      const desired = derive(a, b);
      expect(shown(desired)).toEqual([
        ["a", "all", [HTTP], [members[0], { address: "10.0.0.2", ready: false, terminating: true }]],
        ["b", "all", [HTTP], [{ address: "fd00::1" }]],
      ]);
      expect(desired.slices.map(({ desired }) => desired.addressType)).toEqual(["IPv4", "IPv6"]);
    }
  });

  it("have all endpoints ready where the Service publishes those that are not", () => {
    const members = { endpoints: endpoints({ address: "10.0.0.1", ready: false }) };
    const [slice] = derive(exporting("a", { publishNotReadyAddresses: true, ...members })).slices;
    expect(slice!.desired.endpoints).toEqual([{ address: "10.0.0.1" }]);
  });

  it("lack the ports that lost, of that cluster alone, by the name of the Service's port", () => {
    const a = exportOn(1, "a", port("http", 80), port("tcp", 42));
    const b = exportOn(9, "b", port("http", 80), port("tcp", 4242));
    expect(portsOf(derive(a, b))).toEqual({ a: ["http", "tcp"], b: ["http"] });
    expect(portsOf(derive(asHeadless(a), b))).toEqual({ a: ["http", "tcp"], b: ["http", "tcp"] });
  });

  it("have the name of the union's port with the same number, so that its traffic reaches each exporter", () => {
    const older = exportOn(1, "a", port("web", 80, "TCP", "http"));
    const { slices } = derive(older, exportOn(2, "b", port("", 80)), exportOn(3, "c", port("http", 80)));
    const ports = [{ name: "web", protocol: "TCP", port: 8080, appProtocol: "http" }];
    expect(slices.map(({ desired }) => desired.ports)).toEqual([ports, ports, ports]);
  });

  it("keep that name when a younger export has the same name with another number", () => {
    const younger = [exportOn(2, "b", port("web", 80)), exportOn(3, "c", port("web", 8080))];
    const desired = derive(exportOn(1, "a", port("http", 80)), ...younger);
    expect(portsOf(desired)).toEqual({ a: ["http"], b: ["http"], c: ["web"] });
  });

  it("hold no address that an API server rejects, and no such host name", () => {
    const wrong = ["127.0.0.1", "169.254.169.254", "224.0.0.1", "fe80::1", "ff02::1", "::1", "none"];
    const members = [...wrong, "10.0.0.9"].map((address) => ({ address, hostname: "UPPER" }));
    const [slice, ...others] = derive(exporting("a", { endpoints: endpoints(...members) })).slices;
    expect(others).toEqual([]);
    expect(slice!.desired.endpoints).toEqual([{ address: "10.0.0.9" }]);
  });

  it("are of the load balancers for all but the exporter, if that is how others reach it", () => {
    const a = exporting("a", {
      ports: [port("http", 80)],
      endpoints: pods("10.0.0.1"),
      loadBalancer: [{ ip: "192.0.2.1" }, { hostname: "lb.example.com" }],
      externalIPs: ["2001:db8::1"],
    });
    expect(shown(deriveWorld([a], () => "loadBalancers").service()!)).toEqual([
      ["a", "itself", [HTTP], [{ address: "10.0.0.1" }]],
      ["a", "others", [port("http", 80)], [{ address: "192.0.2.1" }]],
      ["a", "others", [port("http", 80)], [{ address: "2001:db8::1" }]],
    ]);
    const readiness = (publishNotReadyAddresses: boolean) => {
      const notReady = endpoints({ address: "10.0.0.1", ready: false });
      const web = { ...a.exports["shop/web"]!, publishNotReadyAddresses, endpoints: notReady };
      const world = [{ ...a, exports: { "shop/web": web } }];
      return deriveWorld(world, () => "loadBalancers")
        .service()!
        .slices.map(({ desired }) => desired.endpoints[0]!.ready !== false);
    };
    expect([readiness(false), readiness(true)]).toEqual([Array(3).fill(false), Array(3).fill(true)]);
  });

  it("are of the nodes for all but the exporter, on node ports, if that is how others reach it", () => {
    const addresses = ["192.0.2.7", "2001:db8::7"];
    const nodes = { ports: [port("http", 30080), port("tcp", 30042)], addresses };
    const a = exporting("a", { ports: [port("tcp", 42)], endpoints: pods("10.0.0.1") });
    const both = [port("http", 80), port("tcp", 4242)];
    const b = exporting("b", { exportedAt: day(9), ports: both, endpoints: pods("10.1.0.1"), nodes });
    const desired = deriveWorld([a, b], (cluster) => (cluster === "b" ? "nodes" : "pods")).service()!;
    // "tcp" of b lost, also where it is a node port.
    expect(shown(desired)).toEqual([
      ["a", "all", [HTTP], [{ address: "10.0.0.1" }]],
      ["b", "itself", [HTTP], [{ address: "10.1.0.1" }]],
      ...addresses.map((address) => ["b", "others", [nodes.ports[0]], [{ address }]]),
    ]);
    for (const { name } of desired.slices) expect(name).toMatch(/^[a-z0-9-]{1,40}$/);
    const alone = deriveWorld([a], () => "nodes").service()!;
    expect(alone.slices.map(({ recipients }) => recipients)).toEqual(["itself"]);
  });
});

describe("endpoints and their slices", () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
  const slicesOf = (addresses: readonly string[]) => {
    const { slices } = derive(exporting("a", { endpoints: pods(...addresses) }));
    return new Map(slices.map(({ name, desired }) => [name, JSON.stringify(desired)]));
  };

  it("are at most 100 in one, in names that the line's schema takes", () => {
    const { slices, import: desired } = derive(exporting("a", { endpoints: pods(...many(5000)) }));
    expect(slices.flatMap((slice) => slice.desired.endpoints)).toHaveLength(5000);
    expect(slices.length).toBeLessThan(100);
    for (const slice of slices) {
      expect(slice.desired.endpoints.length).toBeLessThanOrEqual(100);
      expect(slice.name).toMatch(/^[a-z0-9-]{1,40}$/);
      expect(DesiredSlice.parse(slice.desired)).toEqual(slice.desired);
    }
    expect(DesiredImport.parse(desired)).toEqual(desired);
  });

  it("change one slice when one endpoint changes, and do not depend on the order", () => {
    const before = slicesOf(many(5000));
    expect(slicesOf(many(5000).reverse())).toEqual(before);
    let changed = 0;
    for (const index of [0, 77, 2500, 4999]) {
      const after = slicesOf(many(5000).toSpliced(index, 1));
      changed += [...before].filter(([name, text]) => after.get(name) !== text).length;
    }
    expect(changed).toBe(4);
  });
});
