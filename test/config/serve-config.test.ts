import { describe, expect, it } from "vitest";
import { createOutOfZone } from "../../src/assembly/out-of-zone.ts";
import { federationOptions, stubZoneNames } from "../../src/config/federations.ts";
import { upstreamName } from "../../src/config/forward.ts";
import { namesInCertificate, ownNames } from "../../src/config/own-names.ts";
import { formatListenAddress, parseListenAddress } from "../../src/config/values.ts";
import { readServeConfig } from "../../src/hosts/node/config.ts";
import { designatedResolver } from "../../src/hosts/node/gateway/addresses.ts";
import { configFiles } from "./config-files.ts";

const { at, file, read } = configFiles();

describe("settings", () => {
  it("of threads come from the flag before the file; by default one answers", () => {
    const config = file("threads: 4");
    expect(readServeConfig({}).threads).toBe(1);
    expect(readServeConfig({ config, threads: "auto" }).threads).toBe("auto");
    expect(readServeConfig({ config }).threads).toBe(4);
    expect(readServeConfig({ config, threads: "1" }).threads).toBe(1);
    expect(readServeConfig({ threads: "0" }).threads).toBe(0);
  });

  it("of federations come from the file and from flags", () => {
    const config = file(`
federations:
  - name: first
  - { name: second, zone: fed.example, domain: FED.example.com. }
  - { name: third, zone: false, domain: fed.example.com }
stub: { zones: [other.example], upstreams: [{ origin: "https://dns.example:8443", caFile: ca.crt, tokenFile: a.token }] }
tls: { clientCaFile: clients.crt }
`);
    const given = readServeConfig({ config, federation: ["fourth"] });
    expect(given.federations.map(({ name, zone }) => `${name} ${zone}`)).toEqual([
      "first federation",
      "second fed.example",
      "third false",
      "fourth federation",
    ]);
    expect(federationOptions(given.federations)[2]).toEqual({ name: "third", domain: "fed.example.com" });
    const stubZones = ["other.example", "federation", "fed.example", "fed.example.com"];
    expect(stubZoneNames(given.stub, given.federations)).toEqual(stubZones);
    const files = { caFile: at("ca.crt"), tokenFile: at("a.token") };
    expect(given.stub.upstreams).toEqual([{ origin: "https://dns.example:8443", ...files }]);
    expect(given.tls).toEqual({ clientCaFile: at("clients.crt") });
    const { tls } = readServeConfig({ config, clientCaFile: "b", tlsCert: "c", tlsKey: "d" });
    expect(tls).toEqual({ certificateFile: "c", keyFile: "d", clientCaFile: "b" });
  });

  it("come from YAML, with paths counted from the file; flags overrule them, and zones and tokens add up", () => {
    const config = file(`
listen: ":443"
access: { public: true }
stateDirectory: state
zones: [clusterset.example.org, clusterset.LOCAL.]
tls: { certificateFile: tls.crt, keyFile: /etc/tls.key }
push: { credentials: [{ clusterId: a, tokenFile: a.token }] }
`);
    const given = { clusterId: "a", tokenFile: at("a.token") };
    expect(readServeConfig({ config })).toMatchObject({
      listen: ":443",
      stateDirectory: at("state"),
      zones: ["clusterset.example.org", "clusterset.local"],
      tls: { certificateFile: at("tls.crt"), keyFile: "/etc/tls.key" },
      push: { credentials: [given] },
    });
    const more = { zone: ["B.example."], clusterToken: ["b=/tmp/b=1"] };
    expect(readServeConfig({ config, listen: ":2", stateDir: "y", tls: false, ...more })).toMatchObject({
      listen: ":2",
      stateDirectory: "y",
      zones: ["clusterset.example.org", "clusterset.local", "b.example"],
      tls: false,
      push: { credentials: [given, { clusterId: "b", tokenFile: "/tmp/b=1" }] },
    });
  });

  it.each<[object, object?]>([
    [
      { store: { url: "redis://valkey:6380/2" } },
      { store: { prefix: "clusterset-doh", leaseHoldSeconds: 3600 } },
    ],
    [{ store: { url: "rediss://user:secret@[::1]:6379" } }],
    [{ store: { sentinel: { name: "valkey", nodes: ["sentinel-0", "[::1]:26379"], database: 2 } } }],
    [{ store: { cluster: { nodes: ["node-0:6379", "10.0.0.1"], tls: true } } }],
    [
      {
        cors: { origins: ["https://app.example.org", "http://localhost:3000", "chrome-extension://abcdef"] },
      },
    ],
  ])("take %j as it is", (given, defaults = {}) => {
    const config = read(JSON.stringify(given));
    expect(config).toMatchObject(given);
    expect(config).toMatchObject(defaults);
  });
});

it.each([
  ["localhost:8443", "localhost", 8443],
  ["127.0.0.1:0", "127.0.0.1", 0],
  ["[::1]:443", "::1", 443],
  ["[::]:65535", "::", 65535],
  [":8443", undefined, 8443],
])("the address to listen on %s is read", (text, host, port) => {
  expect(parseListenAddress(text)).toEqual({ host, port });
  if (host !== undefined) expect(formatListenAddress(host, port)).toBe(text);
});

describe("the settings of listeners", () => {
  it("come from the file, with or without a view, and from flags", () => {
    const config = file(`
access: { public: true }
dns:
  listen: ["127.0.0.1:5353", { address: ":53", view: cluster-a }]
  rateLimit: { answersPerSecond: 0 }
dot: { listen: ["[::1]:853"], idleSeconds: 5 }
`);
    const { dns, dot } = readServeConfig({ config, dns: ["localhost:5354"], dot: [":8853"] });
    expect(dns.listen).toEqual([
      { address: "127.0.0.1:5353" },
      { address: ":53", view: "cluster-a" },
      { address: "localhost:5354" },
    ]);
    expect(dot.listen).toEqual([{ address: "[::1]:853" }, { address: ":8853" }]);
    expect([dns.rateLimit.answersPerSecond, dot.idleSeconds]).toEqual([0, 5]);
  });

  it("have the names that a self-signed certificate needs", () => {
    const config = file(`
publicUrl: https://Public.example.org:8443
access: { public: true, hostNames: [DOH.example.org.] }
dns: { listen: ["192.0.2.1:53", "localhost:53", ":54", "0.0.0.0:55"] }
dot: { listen: ["[2001:db8::1]:853", "192.0.2.1:853"] }
ddr: { name: DNS.Example.org., addresses: [192.0.2.9] }
`);
    const addresses = ["192.0.2.9", "192.0.2.1", "2001:db8::1"];
    const tokens = ["doh.example.org", "*.doh.example.org"];
    const names = ["public.example.org", "dns.example.org", ...addresses, ...tokens];
    expect(namesInCertificate(readServeConfig({ config }))).toEqual(names);
    const bare = readServeConfig({ publicUrl: "https://[2001:db8::2]", public: true });
    expect(namesInCertificate(bare)).toEqual(["2001:db8::2"]);
  });
});

it("the designated resolver is where the gateway listens, unless the config has other ports", () => {
  const places = [
    { kind: "dns", address: ":53", port: 53, view: undefined },
    { kind: "dot", address: ":8854", port: 8854, view: "cluster-a" },
    { kind: "dot", address: ":8853", port: 8853, view: undefined },
  ] as const;
  const ddr = { name: "DNS.example.org.", addresses: ["192.0.2.1"] };
  const dot = (port: number, view?: string) => ({ protocol: "dot", port, view });
  expect(designatedResolver(ddr, places, 8443)).toEqual({
    name: "dns.example.org",
    addresses: [Uint8Array.of(192, 0, 2, 1)],
    endpoints: [{ protocol: "https", port: 8443 }, dot(8853), dot(8854, "cluster-a")],
  });
  const stated = designatedResolver({ ...ddr, httpsPort: 443, dotPort: 853 }, [], 8443);
  expect(stated?.endpoints).toEqual([{ protocol: "https", port: 443 }, dot(853)]);
});

describe("the gateway's own names", () => {
  const ownNamesOf = (text: string) => ownNames(readServeConfig({ config: file(text) }));

  it("have the name server at the public addresses of plain DNS on port 53", () => {
    const text = `
access: { public: true, rules: [{ name: some, addresses: [192.0.2.0/24] }] }
dns:
  listen:
    ["192.0.2.1:53", "[2001:db8::1]:53", "192.0.2.1:53", "192.0.2.2:5353", ":53", "0.0.0.0:53", "10.0.0.1:53",
    "127.0.0.1:53", "[fd00::1]:53", { address: "192.0.2.3:53", view: a }, { address: "192.0.2.4:53", rule: some }]
`;
    expect(ownNamesOf(text).nameServerAddresses).toEqual(["192.0.2.1", "2001:db8::1"]);
    const stated = `${text}nameServerAddresses: [10.0.0.53]\n`;
    expect(ownNamesOf(stated).nameServerAddresses).toEqual(["10.0.0.53"]);
    expect(ownNamesOf(`${text}nameServerAddresses: []\n`).nameServerAddresses).toEqual([]);
  });

  it("have the designated resolver", () => {
    const text = "zones: [cs.example]\nddr: { name: dns.cs.example, addresses: [192.0.2.1] }\n";
    expect(ownNamesOf(text).hosts).toEqual([{ name: "dns.cs.example", addresses: ["192.0.2.1"] }]);
    expect(ownNamesOf("zones: [cs.example]\n").hosts).toEqual([]);
    // A name elsewhere needs no addresses.
    const elsewhere = ownNamesOf("zones: [cs.example]\nddr: { name: xcs.example }\n");
    expect(elsewhere.hosts).toEqual([{ name: "xcs.example", addresses: [] }]);
  });

  it.each([
    ["dns.CS.example.", "[]", "ddr.name: dns.cs.example is in the zone cs.example, which this gateway"],
    ["dns.federation", "[]", "ddr.name: dns.federation is in the zone federation"],
    ["dns.fed.example", "[]", "ddr.name: dns.fed.example is in the zone fed.example"],
    ["web.shop.svc.cs.example", "[192.0.2.1]", "ddr.name: web.shop.svc.cs.example is below svc.cs.example"],
  ])("cannot be %s with the addresses %s", (name, addresses, expected) => {
    const config = file(
      `zones: [cs.example]\nfederations: [{ name: fed, domain: fed.example }]\nddr: { name: ${name}, addresses: ${addresses} }\n`,
    );
    expect(() => readServeConfig({ config })).toThrow(expected);
  });
});

const parts = { upstreams: [], log: () => {} };

describe("settings of forwarding", () => {
  it("name upstreams in short and in full, with paths of files counted from the config file", () => {
    const { upstreams } = read(`
outsideZones: forward
forward:
  upstreams:
    - 192.0.2.53
    - "[2001:db8::53]:5353"
    - https://dns.example.net/secret-profile/dns-query
    - { server: "https://dns.example.org/dns-query{?dns}", name: second, addresses: [192.0.2.1], caFile: ca.crt, tokenFile: /etc/dns.token }
`).forward;
    const files = { caFile: at("ca.crt"), tokenFile: "/etc/dns.token" };
    expect(upstreams).toMatchObject([
      { server: "192.0.2.53" },
      { server: "[2001:db8::53]:5353" },
      { server: "https://dns.example.net/secret-profile/dns-query", addresses: [] },
      { name: "second", addresses: ["192.0.2.1"], ...files },
    ]);
    // What anybody may see has no path in it.
    const names = ["192.0.2.53", "[2001:db8::53]:5353", "dns.example.net", "second"];
    expect(upstreams.map(upstreamName)).toEqual(names);
  });

  it("have a policy for names out of zone by path", () => {
    const config = read(`
outsideZones: nxdomain
paths:
  - { path: /everything, outsideZones: forward }
  - { path: /dns-query, outsideZones: refuse }
forward: { upstreams: [192.0.2.53] }
`);
    const { outside, policies } = createOutOfZone(config, parts);
    expect(outside?.forwarder).toBeDefined();
    const byPath = new Map(Object.entries({ "/everything": "forward", "/dns-query": "refuse" }));
    expect(policies).toEqual({ default: "nxdomain", byPath });
  });

  it("make forwarding possible where only another listener forwards", () => {
    const listening = (outsideZones: string) =>
      read(`forward: { upstreams: [192.0.2.53] }
dns: { listen: [{ address: "127.0.0.1:53", outsideZones: ${outsideZones} }] }`);
    expect(createOutOfZone(listening("refuse"), parts).outside).toBeUndefined();
    expect(createOutOfZone(listening("nxdomain"), parts).outside?.forwarder).toBeUndefined();
    expect(createOutOfZone(listening("forward"), parts).outside?.forwarder).toBeDefined();
  });
});
