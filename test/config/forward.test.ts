import { describe, expect, it } from "vitest";
import { createOutOfZone, fetchUpstreams } from "../../src/assembly/out-of-zone.ts";
import { readEdgeConfig } from "../../src/config/edge-config.ts";
import { upstreamName } from "../../src/config/forward.ts";
import { configFiles } from "./config-files.ts";

const { at, read, complaint } = configFiles();
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
    expect(upstreams).toMatchObject([
      { server: "192.0.2.53" },
      { server: "[2001:db8::53]:5353" },
      { server: "https://dns.example.net/secret-profile/dns-query", addresses: [] },
      {
        name: "second",
        addresses: ["192.0.2.1"],
        caFile: at("ca.crt"),
        tokenFile: "/etc/dns.token",
      },
    ]);
    // What anybody may see has no path in it.
    expect(upstreams.map(upstreamName)).toEqual([
      "192.0.2.53",
      "[2001:db8::53]:5353",
      "dns.example.net",
      "second",
    ]);
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
    expect([policies.default, ...policies.byPath]).toEqual([
      "nxdomain",
      ["/everything", "forward"],
      ["/dns-query", "refuse"],
    ]);
  });

  it("make forwarding possible where only another listener forwards", () => {
    const listening = (outsideZones: string) =>
      read(`forward: { upstreams: [192.0.2.53] }
dns: { listen: [{ address: "127.0.0.1:53", outsideZones: ${outsideZones} }] }`);
    expect(createOutOfZone(listening("refuse"), parts).outside).toBeUndefined();
    expect(createOutOfZone(listening("nxdomain"), parts).outside?.forwarder).toBeUndefined();
    expect(createOutOfZone(listening("forward"), parts).outside?.forwarder).toBeDefined();
  });

  it.each<readonly [string, string]>([
    [
      "outsideZones: forward\n",
      "gateway.yaml:1: outsideZones: forward needs upstreams: set forward.upstreams",
    ],
    [
      "paths:\n  - path: /a\n    outsideZones: forward\n",
      "gateway.yaml:3: paths[0].outsideZones: forward needs",
    ],
    [
      "dns:\n  listen:\n    - address: :53\n      outsideZones: forward\n",
      "gateway.yaml:4: dns.listen[0].outsideZones: forward needs",
    ],
    [
      "dot: {listen: [{address: ':853', outsideZones: forward}]}\n",
      "dot.listen[0].outsideZones: forward needs",
    ],
    ["paths: [{path: /a/:b, outsideZones: refuse}]\n", "paths[0].path: must be a path of letters"],
    ["paths: [{path: /api/x, outsideZones: refuse}]\n", "paths[0].path: is in use for something else"],
    [
      "paths: [{path: /clusters/a/dns-query, outsideZones: refuse}]\n",
      "paths[0].path: must be /clusters or /resolve itself",
    ],
    [
      "paths: [{path: /a, outsideZones: refuse}, {path: /a, outsideZones: nxdomain}]\n",
      "paths: must not have a path twice",
    ],
    [
      "forward:\n  upstreams:\n    - dns.example\n",
      "gateway.yaml:3: forward.upstreams[0].server: must be an IP address",
    ],
    [
      "forward: {upstreams: [https://a.example/1, https://a.example/2]}\n",
      "forward: must have upstreams with different names",
    ],
    ["forward: {serverMilliseconds: 9000}\n", "forward: must have serverMilliseconds <= total"],
    [
      "forward: {cache: {minimumTtlSeconds: 600, maximumTtlSeconds: 60}}\n",
      "forward.cache: must have minimumTtlSeconds <=",
    ],
  ])("%j is a mistake", (text, expected) => {
    expect(complaint(text)).toContain(expected);
  });
});

describe("settings of forwarding on the edge", () => {
  it("have upstreams by DNS over HTTPS alone", () => {
    const config = readEdgeConfig({
      outsideZones: "forward",
      forward: {
        upstreams: [
          "https://dns.example.net/dns-query",
          { server: "https://dns.example.org/", name: "second" },
        ],
      },
    });
    expect(fetchUpstreams(config.forward).map(({ nameserver }) => nameserver)).toEqual([
      "dns.example.net",
      "second",
    ]);
  });

  it.each([
    [{ outsideZones: "forward" }, "CONFIG.outsideZones: forward needs upstreams"],
    [
      { forward: { upstreams: ["192.0.2.53"] } },
      "CONFIG.forward.upstreams[0].server: must be an https:// URL",
    ],
    [
      { forward: { upstreams: [{ server: "https://a.example/", caFile: "x" }] } },
      "CONFIG.forward.upstreams[0].caFile: this key does not exist",
    ],
  ])("%j is a mistake", (config, expected) => {
    expect(() => readEdgeConfig(config)).toThrow(expected);
  });
});
