import { describe, expect, it } from "vitest";
import { surveyOf } from "../../../src/names/services.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { local } from "../../conformance/cases/cluster-local.ts";
import { day, endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { worldOf } from "../../names/world-of.ts";
import { recordsOf } from "./records-of.ts";

const withIP = (key: string, since: number, ...ips: string[]) => ({
  exports: { [key]: exported({ exportedAt: day(since) }) },
  imports: { [key]: imported({ ips }) },
});
const headless = (key: string, since: number, address: string) => ({
  exports: { [key]: exported({ exportedAt: day(since), headless: true, endpoints: endpoints({ address }) }) },
});
const own = (services: ClusterSnapshot["services"]) =>
  snapshot("east", { clusterZone: { name: "cluster.local", pods: "disabled" }, services });

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
  // The names are such that the younger one would come first by name.
  it.each([
    [1, 2, "b"],
    [2, 1, "a"],
  ])("clusterset IPs, b since day %d and a since day %d: %s", (b, a, owner) => {
    const world = [
      snapshot("east", withIP("shop/b", b, "10.200.0.1")),
      snapshot("west", withIP("shop/a", a, "10.200.0.1")),
    ];
    expect(pointers(world)).toEqual([`1.0.200.10.in-addr.arpa. PTR ${owner}.shop.svc`]);
    const claims = ["east shop/b", "west shop/a"];
    const [winner, loser] = owner === "b" ? claims : claims.toReversed();
    expect(losses(world)).toEqual([lost(loser!, "10.200.0.1", winner!)]);
  });

  it.each([
    [1, 2, "10-1-0-1.east.b"],
    [2, 1, "10-1-0-1.west.a"],
  ])("endpoints, b since day %d and a since day %d: %s", (b, a, owner) => {
    const world = [
      snapshot("east", headless("shop/b", b, "10.1.0.1")),
      snapshot("west", headless("shop/a", a, "10.1.0.1")),
    ];
    expect(pointers(world)).toEqual([`1.0.1.10.in-addr.arpa. PTR ${owner}.shop.svc`]);
    const claims = ["east shop/b", "west shop/a"];
    const [winner, loser] = owner.endsWith("b") ? claims : claims.toReversed();
    expect(losses(world)).toEqual([lost(loser!, "10.1.0.1", winner!)]);
  });

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

  it.each([
    [1, 2, "b"],
    [2, 1, "a"],
  ])("in a cluster's own zone, b since day %d and a since day %d: %s", (b, a, owner) => {
    const created = { b: day(b), a: day(a) };
    const services = (parts: Parameters<typeof local>[0]) => ({
      "shop/b": local({ ...parts, createdAt: created.b }),
      "shop/a": local({ ...parts, createdAt: created.a }),
    });
    const pods = endpoints({ address: "10.1.0.1" });
    expect(pointers([own(services({ clusterIPs: ["10.96.0.1"] }))], "cluster.local", "east")).toEqual([
      `1.0.96.10.in-addr.arpa. PTR ${owner}.shop.svc`,
    ]);
    expect(pointers([own(services({ headless: true, endpoints: pods }))], "cluster.local", "east")).toEqual([
      `1.0.1.10.in-addr.arpa. PTR 10-1-0-1.${owner}.shop.svc`,
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
