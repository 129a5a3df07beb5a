import { describe, expect, it } from "vitest";
import { surveyOf } from "../../../src/gateway/survey.ts";
import type { ClusterSnapshot, LocalService } from "../../../src/snapshot/schema.ts";
import { alias, local } from "../../conformance/cases/cluster-local.ts";
import { day, exported, exporting, imported, importing, port, snapshot } from "../../merge/fixtures.ts";
import { worldOf } from "../../names/world-of.ts";
import { recordsOf } from "./records-of.ts";

const https = [port("https", 443)];
/** What a service with an address has for its port (multicluster specification 2.3.2). */
const PORT = [
  "_https._tcp.web.shop.svc SRV 0 100 443 web.shop.svc",
  "web.shop.svc SRV 0 100 443 web.shop.svc",
];

describe("all records of a service with ClusterSetIP (multicluster specification 2.3)", () => {
  /** A cluster whose own addresses only its own clients get: those that its control plane assigned. */
  const assigned = (clusterId: string, ip: string) =>
    snapshot(clusterId, {
      exports: { "shop/web": exported({ ports: https }) },
      imports: { "shop/web": imported({ managed: true, ips: [ip] }) },
    });
  const both = [assigned("east", "10.200.0.1"), assigned("west", "10.201.0.1"), snapshot("north")];
  const reported = [
    exporting("east", { ports: https }),
    importing("west", { ips: ["10.201.0.1"], ports: https }),
    snapshot("north"),
  ];

  it.each<[string, ClusterSnapshot[], string | undefined, string[]]>([
    [
      "RFC 2782: SRV in the views that have an address",
      both,
      "east",
      ["1.0.200.10.in-addr.arpa. PTR web.shop.svc", ...PORT, "web.shop.svc A 10.200.0.1"],
    ],
    [
      "2.3.3: the PTR record of its own address, in each view",
      both,
      "west",
      ["1.0.201.10.in-addr.arpa. PTR web.shop.svc", ...PORT, "web.shop.svc A 10.201.0.1"],
    ],
    ["RFC 2782: no SRV in a view without address", both, "north", []],
    ["RFC 2782: no SRV outside without address", both, undefined, []],
    [
      "RFC 2782: no SRV in a view without address of a name that has one outside",
      reported,
      "north",
      ["1.0.201.10.in-addr.arpa. PTR web.shop.svc"],
    ],
    [
      "2.3.3: no PTR for the address of a load balancer, which has a reverse name of its own",
      [
        exporting("east", {
          serviceType: "LoadBalancer",
          ports: [port("HTTPS", 443, "tcp")],
          loadBalancer: [{ ip: "192.0.2.1" }],
        }),
      ],
      undefined,
      [...PORT, "web.shop.svc A 192.0.2.1"],
    ],
  ])("%s", (_, snapshots, view, records) => {
    expect(recordsOf(snapshots, "clusterset.local", view)).toEqual(records.toSorted());
  });
});

describe("all records of a cluster's own zone (DNS-based service discovery 1.0.1)", () => {
  const own = (services: Record<string, LocalService>, parts: Partial<ClusterSnapshot> = {}) =>
    snapshot("east", { clusterZone: { name: "cluster.local", pods: "verified" }, services, ...parts });

  it.each<[string, ClusterSnapshot, string[]]>([
    ["RFC 2782: a Service without address has no records", own({ "shop/none": local({ ports: https }) }), []],
    [
      "2.5: an ExternalName Service without the name of its target has none",
      own({ "shop/none": local({ serviceType: "ExternalName" }) }),
      [],
    ],
    [
      "2.5: an ExternalName Service is one, whatever its cluster IP",
      own({ "shop/web": alias("x.example", { headless: true, clusterIPs: ["10.96.0.1"] }) }),
      ["web.shop.svc CNAME x.example."],
    ],
    [
      "2.1: an underscore begins a label of an owned name, or the label is invalid",
      own({
        "shop/inside": alias("x.example", { ownedName: "a_b" }),
        "shop/first": alias("y.example", { ownedName: "_a.b" }),
      }),
      ["_a.b.shop.svc CNAME y.example."],
    ],
    [
      "2.6: pods of the cluster's namespaces, each address once",
      own(
        {},
        {
          namespaces: { shop: {}, Shop: {}, "a.b": {} },
          pods: {
            "shop/fd00:8::1": {},
            "shop/fd00:8:0::1": {},
            "Shop/10.8.0.1": {},
            "a.b/10.8.0.2": {},
            "gone/10.8.0.3": {},
            "shop/10.8.0.4": {},
            "shop/nothing": {},
          },
        },
      ),
      ["10-8-0-4.shop.pod A 10.8.0.4", "fd00-8--1.shop.pod AAAA fd00:8::1"],
    ],
  ])("%s", (_, cluster, records) => {
    expect(recordsOf([cluster], "cluster.local", "east")).toEqual(records);
  });

  it.each([["shop/a"], ["shop/b"]])(
    "if two aliases of the same age own a name, the first by name keeps it: %s",
    (first) => {
      const second = first === "shop/a" ? "shop/b" : "shop/a";
      const aliases = { [first]: alias(first.replace("/", ".")), [second]: alias(second.replace("/", ".")) };
      for (const service of Object.values(aliases)) Object.assign(service, { ownedName: "x.y" });
      expect(recordsOf([own(aliases)], "cluster.local", "east")).toEqual(["x.y.shop.svc CNAME shop.a."]);
    },
  );

  it("findings are those of the objects that have them, and only those", () => {
    const services = { "shop/none": local(), "shop/headless": local({ headless: true }) };
    const pods = { "shop/nothing": {}, "shop/fd00:8::1": {}, "shop/fd00:8:0::1": {} };
    const message = '"nothing" is not a usable address: it is left out';
    expect(surveyOf(worldOf([own(services, { pods })])).findings).toMatchObject([
      { kind: "Pod", name: "nothing", reason: "InvalidAddress", message },
    ]);
  });
});

const withIP = (key: string, since: number, ...ips: string[]) => ({
  exports: { [key]: exported({ exportedAt: day(since) }) },
  imports: { [key]: imported({ ips }) },
});

const pointers = (world: readonly ClusterSnapshot[], zone = "clusterset.local", view?: string) =>
  recordsOf(world, zone, view).filter((line) => line.includes(" PTR "));
const losses = (world: readonly ClusterSnapshot[]) =>
  surveyOf(worldOf(world)).findings.map(
    ({ clusterId, namespace, name, message }) => `${clusterId} ${namespace}/${name}: ${message}`,
  );
const lost = (claim: string, address: string, winner: string) => {
  const [cluster, service] = winner.split(" ");
  return `${claim}: other clusters had the reverse names first: ${address} is of ${service} in "${cluster}"`;
};

describe("of two services with one address the older one has the reverse name (multicluster specification 2.3.3, 2.4.3)", () => {
  it("each address of a service since the oldest cluster that reports it, for all clusters that do", () => {
    const world = [
      snapshot("c", withIP("shop/b", 1, "10.200.0.1")),
      snapshot("a", withIP("shop/b", 3, "10.200.0.1", "10.200.0.2")),
      snapshot("west", withIP("shop/a", 2, "10.200.0.1", "10.200.0.2")),
    ];
    expect(pointers(world)).toEqual([
      "1.0.200.10.in-addr.arpa. PTR b.shop.svc",
      "2.0.200.10.in-addr.arpa. PTR a.shop.svc",
    ]);
    expect(losses(world)).toEqual([
      lost("a shop/b", "10.200.0.2", "west shop/a"),
      lost("west shop/a", "10.200.0.1", "c shop/b"),
    ]);
  });

  it("addresses of a cluster's own view are contested by no other cluster", () => {
    const assigned = (key: string, ip: string) => ({
      exports: { [key]: exported() },
      imports: { [key]: imported({ managed: true, ips: [ip] }) },
    });
    const world = [
      snapshot("east", assigned("shop/b", "10.200.0.1")),
      snapshot("west", assigned("shop/a", "10.200.0.1")),
    ];
    expect(losses(world)).toEqual([]);
    expect(["east", "west"].map((view) => pointers(world, undefined, view))).toEqual([
      ["1.0.200.10.in-addr.arpa. PTR b.shop.svc"],
      ["1.0.200.10.in-addr.arpa. PTR a.shop.svc"],
    ]);
  });
});
