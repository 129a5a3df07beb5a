import { describe, expect, it, test } from "vitest";
import { extractSnapshot, SnapshotAssembler } from "../../src/extract/extract.ts";
import type { NodeAddressType } from "../../src/extract/services/local-service.ts";
import { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { namespace, object, ofService, service, serviceExport, slice } from "./objects.ts";

const machine = (name: string, address: string, status: object = {}, metadata: object = {}) => {
  const addresses = [
    { type: "Hostname", address: name },
    { type: "InternalIP", address },
    { type: "ExternalIP", address: address.replace(/^10\./, "192.") },
  ];
  const conditions = [{ type: "Ready", status: "True" }];
  return object("v1", "Node", name, { status: { conditions, addresses, ...status } }, { ...metadata });
};
const web = (spec: object = {}) => {
  const ports = [
    { name: "http", protocol: "TCP", port: 80, nodePort: 30080 },
    { name: "dns", protocol: "UDP", port: 53, nodePort: 30053 },
  ];
  return service("shop/web", { type: "NodePort", ports, ...spec });
};
const objects = [namespace("shop"), serviceExport("shop/web")];

const nodesOf = (given: readonly object[], nodeAddresses?: NodeAddressType) => {
  const snapshot = extractSnapshot([...objects, ...given], {
    clusterId: "east",
    ...(nodeAddresses && { nodeAddresses }),
  });
  expect(ClusterSnapshot.parse(snapshot)).toEqual(snapshot);
  return snapshot.exports["shop/web"]!.nodes;
};

describe("nodes of an export", () => {
  const two = [machine("n2", "10.0.0.2"), machine("n1", "10.0.0.1")];

  it("have the node ports by name and protocol, and the addresses of one type, by the name of the node", () => {
    expect(nodesOf([web(), ...two], "InternalIP")).toEqual({
      ports: [
        { name: "dns", protocol: "UDP", port: 30053 },
        { name: "http", protocol: "TCP", port: 30080 },
      ],
      addresses: ["10.0.0.1", "10.0.0.2"],
    });
    expect(nodesOf([web(), ...two], "ExternalIP")!.addresses).toEqual(["192.0.0.1", "192.0.0.2"]);
  });

  it("are reported only if the operator wants them, and of Services that have node ports and are not headless", () => {
    expect(nodesOf([web(), ...two])).toBeUndefined();
    for (const one of [
      service("shop/web"),
      web({ clusterIP: "None", clusterIPs: ["None"] }),
      web({ ports: [{ name: "http", port: 80, nodePort: 0 }] }),
    ])
      expect(nodesOf([one, ...two], "InternalIP")).toBeUndefined();
  });

  it("lack those that are not ready, go, are excluded from load balancers, or have no such address", () => {
    const excluded = { labels: { "node.kubernetes.io/exclude-from-external-load-balancers": "" } };
    for (const [status, metadata] of [
      [{ conditions: [{ type: "Ready", status: "Unknown" }] }],
      [{ conditions: undefined }],
      [{}, { deletionTimestamp: "2026-01-01T00:00:00Z" }],
      [{}, excluded],
      [{ addresses: [null, { type: "InternalIP" }] }],
    ] as const) {
      const nodes = nodesOf([web(), ...two, machine("n3", "10.0.0.3", status, metadata)], "InternalIP")!;
      expect(nodes.addresses).toEqual(["10.0.0.1", "10.0.0.2"]);
    }
  });

  it("are those with a ready endpoint, if external traffic is local", () => {
    const endpoints = [
      { addresses: ["10.1.0.1"], nodeName: "n1", conditions: { ready: false } },
      { addresses: ["10.1.0.2"], nodeName: "n2", conditions: { ready: true } },
      { addresses: ["10.1.0.3"] },
      null,
    ];
    const pods = slice("shop/web-1", ofService("web"), endpoints);
    const addresses = (externalTrafficPolicy: string, ...pods: object[]) =>
      nodesOf([web({ externalTrafficPolicy }), ...pods, ...two], "InternalIP")!.addresses;
    expect(addresses("Local", pods)).toEqual(["10.0.0.2"]);
    expect(addresses("Local")).toEqual([]);
    expect(addresses("Cluster", pods)).toHaveLength(2);
  });

  it("are at most 16, the first by name", () => {
    const many = Array.from({ length: 20 }, (_, index) =>
      machine(`n${String(index).padStart(2, "0")}`, `10.0.0.${index + 1}`),
    );
    const { addresses } = nodesOf([web(), ...many.toReversed()], "InternalIP")!;
    expect(addresses).toEqual(Array.from({ length: 16 }, (_, index) => `10.0.0.${index + 1}`));
  });
});

test("nodes change the exports with node ports as they come, fail and go, and not while their addresses and readiness stay", () => {
  const assembler = new SnapshotAssembler({ clusterId: "east", nodeAddresses: "InternalIP" });
  const exported = () => assembler.snapshot().exports["shop/web"]!;
  for (const one of [...objects, web()]) assembler.upsert(one);
  expect(exported().nodes!.addresses).toEqual([]);
  assembler.upsert(machine("n1", "10.0.0.1"));
  expect(exported().nodes!.addresses).toEqual(["10.0.0.1"]);
  const before = exported();
  assembler.upsert(machine("n1", "10.0.0.1", { images: ["a"] }, { resourceVersion: "9" }));
  expect(exported()).toBe(before);
  assembler.upsert(machine("n2", "10.0.0.2"));
  assembler.upsert(machine("n1", "10.0.0.1", { conditions: [] }));
  expect(exported().nodes!.addresses).toEqual(["10.0.0.2"]);
  assembler.delete({ apiVersion: "v1", kind: "Node", metadata: { name: "n2" } });
  expect(exported().nodes!.addresses).toEqual([]);
});
