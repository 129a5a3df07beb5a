import { describe, expect, it } from "vitest";
import { surveyOf } from "../../../src/gateway/survey.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { day, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { worldOf } from "../../names/world-of.ts";
import { recordsOf } from "./records-of.ts";

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
  // The names are such that the younger one would come first by name.

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
