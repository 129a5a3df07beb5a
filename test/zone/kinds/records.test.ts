import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import type { ClusterSnapshot, LocalService } from "../../../src/snapshot/schema.ts";
import { compileGeneration } from "../../../src/zone/compile.ts";
import { alias, local } from "../../conformance/cases/cluster-local.ts";
import { endpoints, port, snapshot } from "../../merge/fixtures.ts";
import { recordsOf } from "./records-of.ts";

const https = [port("https", 443)];
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
    const cluster = own(
      {
        "shop/none": local(),
        "shop/headless": local({ headless: true }),
        "shop/no-target": local({ serviceType: "ExternalName" }),
        "shop/inside": alias("x.example", { ownedName: "a_b" }),
      },
      { pods: { "shop/nothing": {}, "shop/fd00:8::1": {}, "shop/fd00:8:0::1": {} } },
    );
    const { findings } = compileGeneration(mergeClusterset([cluster]));
    expect(findings.map(({ kind, name, reason, message }) => [kind, name, reason, message]).sort()).toEqual([
      ["Pod", "nothing", "InvalidAddress", '"nothing" is not a usable address: it is left out'],
      [
        "Service",
        "inside",
        "InvalidName",
        '"a_b" cannot be labels of a DNS name: the CNAME record is not served',
      ],
      [
        ...["Service", "no-target", "InvalidExternalName"],
        "the external name is not a DNS name (the name is empty; write the root as a dot): the CNAME record is not served",
      ],
    ]);
  });

  it("its addresses contest nothing: two clusters may have the same ones (multicluster specification 2.3.3, Limitations)", () => {
    const clusters = ["east", "west"].map((clusterId) =>
      snapshot(clusterId, {
        clusterZone: { name: "cluster.local", pods: "disabled" },
        services: {
          [`shop/${clusterId}`]: local({ clusterIPs: ["10.96.0.1"] }),
          "shop/db": local({ headless: true, endpoints: endpoints({ address: "10.1.0.1" }) }),
        },
      }),
    );
    const { findings, reverse } = compileGeneration(mergeClusterset(clusters));
    expect([findings, [...reverse.orders]]).toEqual([[], []]);
    for (const view of ["east", "west"])
      expect(recordsOf(clusters, "cluster.local", view)).toContain(
        `1.0.96.10.in-addr.arpa. PTR ${view}.shop.svc`,
      );
  });
});
