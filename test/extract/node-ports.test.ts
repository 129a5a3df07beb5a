import { beforeEach, describe, expect, it } from "vitest";
import { extractSnapshot, SnapshotAssembler } from "../../src/extract/extract.ts";
import type { NodeAddressType } from "../../src/extract/services/local-service.ts";
import { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { namespace, object, ofService, service, serviceExport, slice } from "./objects.ts";

const READY = [{ type: "Ready", status: "True" }];
const machine = (name: string, address: string, status: object = {}, metadata: object = {}) =>
  object(
    "v1",
    "Node",
    name,
    {
      status: {
        conditions: READY,
        addresses: [
          { type: "Hostname", address: name },
          { type: "InternalIP", address },
          { type: "ExternalIP", address: address.replace(/^10\./, "192.") },
        ],
        ...status,
      },
    },
    { ...metadata },
  );
const web = (spec: object = {}) =>
  service("shop/web", {
    type: "NodePort",
    ports: [
      { name: "http", protocol: "TCP", port: 80, nodePort: 30080 },
      { name: "dns", protocol: "UDP", port: 53, nodePort: 30053 },
    ],
    ...spec,
  });
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
    const clusterIP = service("shop/web");
    expect(nodesOf([clusterIP, ...two], "InternalIP")).toBeUndefined();
    const headless = web({ clusterIP: "None", clusterIPs: ["None"] });
    expect(nodesOf([headless, ...two], "InternalIP")).toBeUndefined();
    const without = web({ ports: [{ name: "http", port: 80, nodePort: 0 }] });
    expect(nodesOf([without, ...two], "InternalIP")).toBeUndefined();
  });

  it.each([
    ["is not ready", machine("n3", "10.0.0.3", { conditions: [{ type: "Ready", status: "Unknown" }] })],
    ["has no conditions", machine("n3", "10.0.0.3", { conditions: undefined })],
    ["is being deleted", machine("n3", "10.0.0.3", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" })],
    [
      "is excluded from load balancers",
      machine(
        "n3",
        "10.0.0.3",
        {},
        {
          labels: { "node.kubernetes.io/exclude-from-external-load-balancers": "" },
        },
      ),
    ],
    ["has no such address", machine("n3", "10.0.0.3", { addresses: [null, { type: "InternalIP" }] })],
  ])("lack a node that %s", (_, node) => {
    expect(nodesOf([web(), ...two, node], "InternalIP")!.addresses).toEqual(["10.0.0.1", "10.0.0.2"]);
  });

  it("are those with a ready endpoint, if external traffic is local", () => {
    const endpoints = [
      { addresses: ["10.1.0.1"], nodeName: "n1", conditions: { ready: false } },
      { addresses: ["10.1.0.2"], nodeName: "n2", conditions: { ready: true } },
      { addresses: ["10.1.0.3"] },
      null,
    ];
    const pods = slice("shop/web-1", ofService("web"), endpoints);
    const local = web({ externalTrafficPolicy: "Local" });
    expect(nodesOf([local, pods, ...two], "InternalIP")!.addresses).toEqual(["10.0.0.2"]);
    expect(nodesOf([local, ...two], "InternalIP")!.addresses).toEqual([]);
    const cluster = web({ externalTrafficPolicy: "Cluster" });
    expect(nodesOf([cluster, pods, ...two], "InternalIP")!.addresses).toHaveLength(2);
  });

  it("are at most 16, the first by name", () => {
    const many = Array.from({ length: 20 }, (_, index) =>
      machine(`n${String(index).padStart(2, "0")}`, `10.0.0.${index + 1}`),
    );
    const { addresses } = nodesOf([web(), ...many.reverse()], "InternalIP")!;
    expect(addresses).toHaveLength(16);
    expect(addresses.at(0)).toBe("10.0.0.1");
    expect(addresses.at(-1)).toBe("10.0.0.16");
  });
});

describe("nodes that change", () => {
  let assembler: SnapshotAssembler;
  const nodes = () => assembler.snapshot().exports["shop/web"]!.nodes!.addresses;
  beforeEach(() => {
    assembler = new SnapshotAssembler({ clusterId: "east", nodeAddresses: "InternalIP" });
    for (const one of [...objects, web()]) assembler.upsert(one);
  });

  it("change the exports with node ports, as nodes come, fail and go", () => {
    expect(nodes()).toEqual([]);
    assembler.upsert(machine("n1", "10.0.0.1"));
    expect(nodes()).toEqual(["10.0.0.1"]);
    assembler.upsert(machine("n2", "10.0.0.2"));
    assembler.upsert(machine("n1", "10.0.0.1", { conditions: [] }));
    expect(nodes()).toEqual(["10.0.0.2"]);
    assembler.delete({ apiVersion: "v1", kind: "Node", metadata: { name: "n2" } });
    expect(nodes()).toEqual([]);
  });

  it("change nothing while their addresses and readiness stay", () => {
    assembler.upsert(machine("n1", "10.0.0.1"));
    const before = assembler.snapshot();
    assembler.upsert(machine("n1", "10.0.0.1", { images: ["a"] }, { resourceVersion: "9" }));
    expect(assembler.snapshot().exports["shop/web"]).toBe(before.exports["shop/web"]);
  });
});
