import { describe, expect, it } from "vitest";
import { surveyOf } from "../../../src/gateway/survey.ts";
import type { ClusterSnapshot, LocalService } from "../../../src/snapshot/schema.ts";
import type { ZoneOptions } from "../../../src/zone/zone-plan.ts";
import { alias, local } from "../../conformance/cases/cluster-local.ts";
import { endpoints, exported, importing, port, snapshot } from "../../merge/fixtures.ts";
import { worldOf } from "../../names/world-of.ts";

const findingsOf = (world: readonly ClusterSnapshot[], options: Partial<ZoneOptions> = {}) =>
  surveyOf(worldOf(world, options)).findings;

const headless = (address: string, hostname?: string) => ({
  headless: true,
  endpoints: endpoints({ address, ...(hostname === undefined ? {} : { hostname }) }),
});

describe("a finding of a clusterset service names the object and says what is left out", () => {
  const noRecord = (port: string, why: string) => `port ${port} ${why}: it gets no SRV record`;

  it.each([
    ["InvalidPortNumber", { ports: [port("zero", 0)] }, noRecord('"zero" (TCP 0)', "is outside 1 to 65535")],
    [
      "InvalidPortNumber",
      { ports: [port("", 65_536, "")] },
      noRecord('"" (TCP 65536)', "is outside 1 to 65535"),
    ],
    [
      "InvalidPortName",
      { ports: [port("sp ace", 80, "UDP")] },
      noRecord('"sp ace" (UDP 80)', "has a name that cannot be a DNS label"),
    ],
    [
      "InvalidProtocol",
      { ports: [port("quic", 80, "QUIC")] },
      noRecord('"quic" (QUIC 80)', "has a protocol that is not TCP, UDP or SCTP"),
    ],
    ["InvalidAddress", headless("10.0.0.999"), '"10.0.0.999" is not a usable address: it is left out'],
    [
      "InvalidHostname",
      headless("10.0.0.1", "a.b"),
      'the hostname "a.b" cannot be a DNS label: the name uses the address instead',
    ],
    ["InvalidName", {}, "shop/Odd cannot be labels of a DNS name: the service is not served", "Odd"],
  ])("%s", (reason, parts, message, name = "odd") => {
    const world = snapshot("east", { exports: { [`shop/${name}`]: exported(parts) } });
    expect(findingsOf([world])).toEqual([
      { clusterId: "east", reason, kind: "Service", namespace: "shop", name, message },
    ]);
  });

  it.each(["a.b.c", "a..b", "-a"])("InvalidSourceCluster: %j", (source) => {
    const world = importing("hub", {
      type: "Headless",
      endpoints: { [source]: endpoints({ address: "10.0.0.1" }) },
    });
    expect(findingsOf([world])).toMatchObject([
      {
        clusterId: "hub",
        reason: "InvalidSourceCluster",
        message: expect.stringContaining(`${JSON.stringify(source)} is not a cluster id`),
      },
    ]);
  });

  it("one finding, however many endpoints have the same error; ports in bounds and unnamed ones have none", () => {
    const members = ["10.0.0.1", "10.0.0.2"].map((address) => ({ address, hostname: "a.b" }));
    const many = exported({ headless: true, endpoints: endpoints(...members) });
    const ports = [port("first", 1), port("last", 65_535), port("p".repeat(62), 80), port("", 80, "QUIC")];
    const world = snapshot("east", { exports: { "shop/many": many, "shop/fine": exported({ ports }) } });
    expect(findingsOf([world]).map(({ name, reason }) => [name, reason])).toEqual([
      ["many", "InvalidHostname"],
    ]);
  });
});

describe("a finding in federation zones", () => {
  const federations = [{ name: "fed", zone: "federation" }];
  const balanced = (names: readonly string[], ips: readonly string[] = []) =>
    exported({
      serviceType: "LoadBalancer",
      loadBalancer: [...names.map((hostname) => ({ hostname })), ...ips.map((ip) => ({ ip }))],
    });
  const shown = (world: ClusterSnapshot) =>
    findingsOf([world], { federations }).map(({ reason, name, message }) => [reason, name, message]);

  it("HostNameLeftOut: a CNAME record next to other records (RFC 1034 section 3.6.2)", () => {
    const message = (target: string) =>
      `the load balancer's host name ${target} cannot be a CNAME record next to other records (RFC 1034 section 3.6.2): only the names of its shard have it`;
    // The clusterset's zone has a finding of its own.
    const inClusterset = (target: string, beside: string) =>
      `the load balancer's host name "${target}" cannot be a CNAME record beside ${beside} (RFC 1034 section 3.6.2): no client is led to it until it has an address`;
    const two = snapshot("east", { exports: { "shop/two": balanced(["a.example", "b.example"]) } });
    expect(shown(two)).toEqual([
      ["HostNameLeftOut", "two", inClusterset("b.example", "the one to a.example")],
      ["HostNameLeftOut", "two", message("b.example")],
    ]);
    const mixed = snapshot("east", { exports: { "shop/mixed": balanced(["a.example"], ["192.0.2.1"]) } });
    expect(shown(mixed)).toEqual([
      ["HostNameLeftOut", "mixed", inClusterset("a.example", "the addresses of another load balancer")],
      ["HostNameLeftOut", "mixed", message("a.example")],
    ]);
    const one = snapshot("east", { exports: { "shop/one": balanced(["a.example"]) } });
    expect(shown(one)).toEqual([]);
  });

  it("InvalidTopology: a region or zone that cannot be a label", () => {
    const world = snapshot("east", {
      topology: { region: "eu west", zones: ["a"] },
      exports: { "shop/web": balanced([], ["192.0.2.1"]) },
    } as Partial<ClusterSnapshot>);
    const message = (place: string) =>
      `${place} cannot be labels of a DNS name: the service has no names in that region or zone`;
    expect(shown(world)).toEqual([
      ["InvalidTopology", "web", message("a.eu west")],
      ["InvalidTopology", "web", message("eu west")],
    ]);
  });
});

describe("a finding in a cluster's own zone", () => {
  const cluster = (services: Record<string, LocalService>, name = "cluster.local") =>
    snapshot("east", { clusterZone: { name, pods: "disabled" }, services });
  const shown = (services: Record<string, LocalService>) =>
    findingsOf([cluster(services)]).map(({ clusterId, kind, namespace, name, reason, message }) => [
      `${clusterId} ${kind} ${namespace}/${name}`,
      reason,
      message,
    ]);

  const noHost = (target: string) =>
    `the external name ${JSON.stringify(target)} is not a host name: the CNAME record is not served`;
  const itself = "the external name is that of the Service itself: the CNAME record is not served";

  it.each<[string, LocalService, string, string]>([
    [
      "gone/web",
      local(),
      "NoNamespace",
      "namespace gone does not exist in the cluster: the service is not served",
    ],
    [
      "shop/Web",
      local(),
      "InvalidName",
      "shop/Web cannot be labels of a DNS name: the service is not served",
    ],
    [
      "shop/web",
      alias("x.example", { ownedName: "a_b" }),
      "InvalidName",
      '"a_b" cannot be labels of a DNS name: the CNAME record is not served',
    ],
    [
      "shop/web",
      local({ clusterIPs: ["10.0.0.300"] }),
      "InvalidAddress",
      '"10.0.0.300" is not a usable address: it is left out',
    ],
    [
      "shop/web",
      local({ serviceType: "ExternalName" }),
      "InvalidExternalName",
      "the external name is not a DNS name (the name is empty; write the root as a dot): the CNAME record is not served",
    ],
    ...["https://example.com", "*.example.com", "a\\032b.example", "-a.example", "."].map(
      (target): [string, LocalService, string, string] => [
        "shop/web",
        alias(target),
        "InvalidExternalName",
        noHost(target),
      ],
    ),
    ["shop/web", alias("Web.shop.svc.cluster.local."), "InvalidExternalName", itself],
    ["shop/web", alias("a.b.shop.svc.cluster.local", { ownedName: "a.B" }), "InvalidExternalName", itself],
    [
      "shop/again",
      alias("young.example", { createdAt: "2026-02-01T00:00:00Z", ownedName: "A.old" }),
      "NameClash",
      "a.old.shop.svc (below the zone) belongs to an older object: this object is not served there",
    ],
  ])("%s %j", (key, service, reason, message) => {
    const old = alias("old.example", { ownedName: "a.old" });
    expect(shown({ "shop/old": old, [key]: service })).toEqual([[`east Service ${key}`, reason, message]]);
  });

  it("none for underscores (RFC 8552), nor for an external name that is only below the Service's name", () => {
    expect(
      shown({
        "shop/web": alias("under_score.example"),
        "shop/sip": alias("x.example", { ownedName: "_sip._tcp.a" }),
        "shop/up": alias("web.up.shop.svc.cluster.local"),
      }),
    ).toEqual([]);
  });

  it.each([
    ["clusterset.local", "clusterset.local. is a zone of the gateway: the cluster's own zone is not served"],
    [".", "a cluster's zone cannot be the root: the cluster's own zone is not served"],
    ["a..b", expect.stringMatching(/.: the cluster's own zone is not served$/)],
  ])("InvalidZone: %s", (name, message) => {
    expect(findingsOf([cluster({}, name)])).toEqual([
      { clusterId: "east", reason: "InvalidZone", kind: "ClusterZone", name, message },
    ]);
  });
});
