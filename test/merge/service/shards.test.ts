import { describe, expect, it } from "vitest";
import type { ClustersetService } from "../../../src/merge/clusterset.ts";
import type { Contribution } from "../../../src/merge/service/declaration.ts";
import { listShards } from "../../../src/merge/service/shards.ts";
import { sizeOfService } from "../../../src/merge/service/size.ts";
import type { ExportedService } from "../../../src/snapshot/schema.ts";
import { exported, imported } from "../fixtures.ts";

const contributing = (clusterId: string, parts: Partial<ExportedService>): Contribution => ({
  clusterId,
  exported: exported(parts),
  imported: undefined,
});

describe("a shard (federated service discovery, DNS Record Creation)", () => {
  it.each<[string, Partial<ExportedService>, Partial<ReturnType<typeof listShards>[number]>]>([
    ["nothing of a Service without addresses", {}, {}],
    ["cluster IPs", { clusterIPs: ["10.96.0.1", "fd00::1"] }, { clusterIPs: ["10.96.0.1", "fd00::1"] }],
    ["no cluster IP of a headless Service", { headless: true, clusterIPs: ["10.96.0.1"] }, {}],
    [
      "load balancers, then external IPs",
      { externalIPs: ["192.0.2.9"], loadBalancer: [{ ip: "192.0.2.1" }, { ip: "2001:db8::1" }] },
      { externalAddresses: ["192.0.2.1", "2001:db8::1", "192.0.2.9"] },
    ],
    [
      "the host name of a load balancer that has no address",
      { loadBalancer: [{ hostname: "lb.example" }, { ip: "", hostname: "other.example" }] },
      { externalNames: ["lb.example", "other.example"] },
    ],
    [
      "the address of a load balancer that has both",
      { loadBalancer: [{ ip: "192.0.2.1", hostname: "lb.example" }] },
      { externalAddresses: ["192.0.2.1"] },
    ],
    ["nothing of a load balancer that has neither", { loadBalancer: [{}, { ip: "", hostname: "" }] }, {}],
  ])("has %s", (_, parts, shard) => {
    expect(listShards(["east"], [contributing("east", parts)])).toEqual([
      { clusterId: "east", clusterIPs: [], externalAddresses: [], externalNames: [], ...shard },
    ]);
  });

  it("is there for each exporter, in the order of exporters, and for no other cluster", () => {
    const importer: Contribution = { clusterId: "north", exported: undefined, imported: imported() };
    const world = [
      contributing("east", { clusterIPs: ["10.96.0.1"] }),
      importer,
      contributing("west", { clusterIPs: ["10.97.0.1"] }),
    ];
    const shards = listShards(["west", "north", "missing", "east"], world);
    expect(shards.map(({ clusterId, clusterIPs }) => [clusterId, clusterIPs])).toEqual([
      ["west", ["10.97.0.1"]],
      ["east", ["10.96.0.1"]],
    ]);
  });
});

it("the size of a service is the sum of its ports, endpoints and addresses in all views and shards", () => {
  const some = (count: number) => Array.from({ length: count }, (_, index) => `${index}`) as never[];
  const service = {
    ports: some(1),
    endpoints: some(2),
    outside: { addresses: some(4) },
    byCluster: new Map([
      ["east", { addresses: some(8) }],
      ["west", { addresses: some(16) }],
    ]),
    shards: [
      { clusterIPs: some(32), externalAddresses: some(64), externalNames: some(128) },
      { clusterIPs: some(256), externalAddresses: some(512), externalNames: some(1024) },
    ],
  } as unknown as ClustersetService;
  expect(sizeOfService(service)).toBe(2047);
});
