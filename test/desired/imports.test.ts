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
const asHeadless = (one: ReturnType<typeof exporting>) => ({
  ...one,
  exports: { "shop/web": { ...one.exports["shop/web"]!, headless: true } },
});

describe("a ServiceImport", () => {
  it("has type, affinity, policies, labels and annotations of the oldest export, and names the exporters", () => {
    const older = exporting("b", {
      exportedAt: day(1),
      headless: true,
      sessionAffinity: "ClientIP",
      sessionAffinityTimeoutSeconds: 10,
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
      exportedLabels: { team: "b" },
      exportedAnnotations: { note: "from b" },
      ipFamilies: ["IPv6", "IPv4"],
    });
    const younger = exporting("a", { exportedAt: day(2), exportedLabels: { team: "a", more: "x" } });
    expect(derive(younger, older).import).toEqual({
      type: "Headless",
      ports: [],
      ipFamilies: ["IPv6", "IPv4"],
      sessionAffinity: "ClientIP",
      sessionAffinityTimeoutSeconds: 10,
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
      labels: { team: "b" },
      annotations: { note: "from b" },
      clusters: ["b", "a"],
    });
  });

  it.each([
    [{ sessionAffinity: "ClientIP", sessionAffinityTimeoutSeconds: 86_400 }, true],
    [{ sessionAffinity: "ClientIP", sessionAffinityTimeoutSeconds: 1 }, true],
    [{ internalTrafficPolicy: "Local" }, true],
    [{ trafficDistribution: "PreferClose" }, true],
    [{ trafficDistribution: "PreferSameZone" }, true],
    [{ trafficDistribution: "PreferSameNode" }, true],
    [{ sessionAffinity: "Cookie" }, false],
    [{ internalTrafficPolicy: ".spec.ports: field not declared in schema" }, false],
    [{ trafficDistribution: ".spec.ports: field not declared in schema" }, false],
  ])("of an export with %j has it, as API servers take it: %s", (properties, isKept) => {
    expect(derive(exporting("a", properties)).import).toEqual({
      ...derive(exporting("a")).import,
      ...(isKept && properties),
    });
  });

  it.each([0, -1, 86_401])(
    "keeps clients at their backend for no %d seconds",
    (sessionAffinityTimeoutSeconds) => {
      const { import: desired } = derive(
        exporting("a", { sessionAffinity: "ClientIP", sessionAffinityTimeoutSeconds }),
      );
      expect(desired).toMatchObject({ sessionAffinity: "ClientIP" });
      expect(desired).not.toHaveProperty("sessionAffinityTimeoutSeconds");
    },
  );

  it("has the union of ports, written out, the oldest one's where a name differs", () => {
    const older = exporting("a", { ports: [port("tcp", 42), { ...port("dns", 53), protocol: "" }] });
    const younger = exporting("b", {
      exportedAt: day(9),
      ports: [port("tcp", 4242), port("udp", 42, "UDP"), port("web", 80, "TCP", "http")],
    });
    expect(derive(older, younger).import.ports).toEqual([
      { name: "tcp", protocol: "TCP", port: 42 },
      { name: "dns", protocol: "TCP", port: 53 },
      { name: "udp", protocol: "UDP", port: 42 },
      { name: "web", protocol: "TCP", port: 80, appProtocol: "http" },
    ]);
  });

  it("has the oldest export's ports, and no more ports, labels and annotations than its line takes", () => {
    const many = Array.from({ length: 1000 }, (_, index) => port(`p${index}`, 1000 + index));
    const pairs = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, index) => [`key-${index}`, "\u00fc"]),
    );
    const labels = Object.fromEntries(Object.keys(pairs).map((key) => [key, "value"]));
    const older = exporting("a", {
      ports: [port("http", 80)],
      exportedLabels: labels,
      exportedAnnotations: pairs,
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
    const older = exporting("a", { ports: [port("", 80)], endpoints: listening("10.0.0.1", "") });
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
    expect(derive(exporting("a", { ports: odd })).import.ports).toEqual([
      { name: "app", protocol: "TCP", port: 3 },
    ]);
  });

  it("has the families of the exporters' Services, else those of their endpoints", () => {
    const stating = exporting("a", { ipFamilies: ["IPv6"] });
    const silent = exporting("b", { exportedAt: day(9), endpoints: pods("10.0.0.1") });
    expect(derive(stating, silent).import.ipFamilies).toEqual(["IPv6", "IPv4"]);
    expect(derive(exporting("a")).import.ipFamilies).toEqual([]);
  });

  it("has neither labels nor annotations that are invalid or that controllers go by", () => {
    const pairs = {
      team: "a",
      "example.com/tier": "x",
      "app.kubernetes.io/name": "web",
      empty: "",
      "app.kubernetes.io/managed-by": "somebody",
      "kubernetes.io/service-name": "other",
      "multicluster.kubernetes.io/service-name": "other",
      "Not.Valid/x": "x",
      "trailing-": "x",
    };
    const { labels, annotations } = derive(
      exporting("a", {
        exportedLabels: { ...pairs, long: "x y" },
        exportedAnnotations: { ...pairs, long: "x y", "z-huge": "z".repeat(200_000) },
      }),
    ).import;
    const kept = { "app.kubernetes.io/name": "web", empty: "", "example.com/tier": "x", team: "a" };
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
      const slices = derive(a, b).slices;
      expect(slices.map(({ cluster, recipients, desired }) => [cluster, recipients, desired])).toEqual([
        [
          "a",
          "all",
          {
            addressType: "IPv4",
            ports: [{ name: "http", protocol: "TCP", port: 8080 }],
            endpoints: [
              { address: "10.0.0.1", hostname: "web-0", zone: "eu-1" },
              { address: "10.0.0.2", ready: false, terminating: true },
            ],
          },
        ],
        [
          "b",
          "all",
          {
            addressType: "IPv6",
            ports: [{ name: "http", protocol: "TCP", port: 8080 }],
            endpoints: [{ address: "fd00::1" }],
          },
        ],
      ]);
    }
  });

  it("have all endpoints ready where the Service publishes those that are not", () => {
    const members = { endpoints: endpoints({ address: "10.0.0.1", ready: false }) };
    const [slice] = derive(exporting("a", { publishNotReadyAddresses: true, ...members })).slices;
    expect(slice!.desired.endpoints).toEqual([{ address: "10.0.0.1" }]);
  });

  it("lack the ports that lost, of that cluster alone, by the name of the Service's port", () => {
    const exported = (cluster: string, tcp: number, address: string) =>
      exporting(cluster, {
        exportedAt: day(cluster === "a" ? 1 : 9),
        ports: [port("http", 80), port("tcp", tcp)],
        endpoints: listening(address, "http", "tcp"),
      });
    const [a, b] = [exported("a", 42, "10.0.0.1"), exported("b", 4242, "10.1.0.1")];
    expect(portsOf(derive(a, b))).toEqual({ a: ["http", "tcp"], b: ["http"] });
    expect(portsOf(derive(asHeadless(a), b))).toEqual({ a: ["http", "tcp"], b: ["http", "tcp"] });
  });

  it("have the name of the union's port with the same number, so that its traffic reaches each exporter", () => {
    const exports = [
      exporting("a", { ports: [port("web", 80, "TCP", "http")], endpoints: listening("10.0.0.1", "web") }),
      exporting("b", { exportedAt: day(2), ports: [port("", 80)], endpoints: listening("10.1.0.1", "") }),
      exporting("c", {
        exportedAt: day(3),
        ports: [port("http", 80)],
        endpoints: listening("10.2.0.1", "http"),
      }),
    ];
    const { slices } = derive(...exports);
    expect(slices.map(({ cluster, desired }) => [cluster, desired.ports])).toEqual(
      ["a", "b", "c"].map((cluster) => [
        cluster,
        [{ name: "web", protocol: "TCP", port: 8080, appProtocol: "http" }],
      ]),
    );
  });

  it("keep that name when a younger export has the same name with another number", () => {
    const export_ = (cluster: string, at: number, name: string, number: number, address: string) =>
      exporting(cluster, {
        exportedAt: day(at),
        ports: [port(name, number)],
        endpoints: listening(address, name),
      });
    const { slices } = derive(
      export_("a", 1, "http", 80, "10.0.0.1"),
      export_("b", 2, "web", 80, "10.1.0.1"),
      export_("c", 3, "web", 8080, "10.2.0.1"),
    );
    const names = slices.map(({ cluster, desired }) => [cluster, desired.ports.map(({ name }) => name)]);
    expect(Object.fromEntries(names)).toEqual({ a: ["http"], b: ["http"], c: ["web"] });
  });

  it("hold no address that an API server rejects, and no such host name", () => {
    const members = [
      "127.0.0.1",
      "169.254.169.254",
      "224.0.0.1",
      "fe80::1",
      "ff02::1",
      "::1",
      "none",
      "10.0.0.9",
    ];
    const [slice, ...others] = derive(
      exporting("a", {
        endpoints: endpoints(...members.map((address) => ({ address, hostname: "UPPER" }))),
      }),
    ).slices;
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
    const { slices } = deriveWorld([a], () => "loadBalancers").service()!;
    expect(
      slices.map(({ recipients, desired }) => [recipients, desired.ports[0]!.port, desired.endpoints]),
    ).toEqual([
      ["itself", 8080, [{ address: "10.0.0.1" }]],
      ["others", 80, [{ address: "192.0.2.1" }]],
      ["others", 80, [{ address: "2001:db8::1" }]],
    ]);
    const notReady = {
      ...a.exports["shop/web"]!,
      endpoints: endpoints({ address: "10.0.0.1", ready: false }),
    };
    const still = deriveWorld(
      [{ ...a, exports: { "shop/web": notReady } }],
      () => "loadBalancers",
    ).service()!;
    expect(still.slices.every(({ desired }) => desired.endpoints[0]!.ready === false)).toBe(true);
    const published = deriveWorld(
      [{ ...a, exports: { "shop/web": { ...notReady, publishNotReadyAddresses: true } } }],
      () => "loadBalancers",
    ).service()!;
    expect(published.slices.every(({ desired }) => desired.endpoints[0]!.ready !== false)).toBe(true);
  });

  it("are of the nodes for all but the exporter, on node ports, if that is how others reach it", () => {
    const nodes = {
      ports: [
        { name: "http", protocol: "TCP", port: 30080 },
        { name: "tcp", protocol: "TCP", port: 30042 },
      ],
      addresses: ["192.0.2.7", "2001:db8::7"],
    };
    const a = exporting("a", { ports: [port("tcp", 42)], endpoints: pods("10.0.0.1") });
    const both = [port("http", 80), port("tcp", 4242)];
    const b = exporting("b", { exportedAt: day(9), ports: both, endpoints: pods("10.1.0.1"), nodes });
    const { slices } = deriveWorld([a, b], (cluster) => (cluster === "b" ? "nodes" : "pods")).service()!;
    // "tcp" of b lost, also where it is a node port.
    expect(
      slices.map(({ cluster, recipients, desired }) => [
        cluster,
        recipients,
        desired.ports,
        desired.endpoints,
      ]),
    ).toEqual([
      ["a", "all", [{ name: "http", protocol: "TCP", port: 8080 }], [{ address: "10.0.0.1" }]],
      ["b", "itself", [{ name: "http", protocol: "TCP", port: 8080 }], [{ address: "10.1.0.1" }]],
      ["b", "others", [nodes.ports[0]], [{ address: "192.0.2.7" }]],
      ["b", "others", [nodes.ports[0]], [{ address: "2001:db8::7" }]],
    ]);
    for (const { name } of slices) expect(name).toMatch(/^[a-z0-9-]{1,40}$/);
    const { slices: own } = deriveWorld(
      [exporting("a", { endpoints: pods("10.0.0.1") })],
      () => "nodes",
    ).service()!;
    expect(own.map(({ recipients }) => recipients)).toEqual(["itself"]);
  });
});

describe("endpoints and their slices", () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
  const slicesOf = (addresses: readonly string[]) =>
    new Map(
      derive(exporting("a", { endpoints: pods(...addresses) })).slices.map(({ name, desired }) => [
        name,
        JSON.stringify(desired),
      ]),
    );

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
