import { beforeEach, describe, expect, it, test } from "vitest";
import {
  portSetKeys,
  portSetText,
  readEndpointPorts,
  readServicePorts,
} from "../../src/extract/endpoints.ts";
import { extractSnapshot, SnapshotAssembler } from "../../src/extract/extract.ts";
import { ExtractedState } from "../../src/extract/extracted-state.ts";
import type { Report } from "../../src/extract/findings.ts";
import { PodAddresses, readPodAddresses } from "../../src/extract/pods.ts";
import type { NodeAddressType } from "../../src/extract/services/service-spec.ts";
import { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { namespace, object, ofService, service, serviceExport, slice } from "./objects.ts";

describe("pods", () => {
  function read(status: object | undefined, metadata?: object) {
    const findings: string[] = [];
    const report: Report = (reason, message) => void findings.push(`${reason}: ${message}`);
    const addresses = readPodAddresses(report, {
      apiVersion: "v1",
      kind: "Pod",
      metadata,
      status,
    } as never);
    return { addresses, findings };
  }

  describe("the addresses of a pod (v1)", () => {
    test.each<[string, object | undefined, string[]]>([
      ["no status", undefined, []],
      ["no address yet", { phase: "Pending" }, []],
      ["null", { podIP: null }, []],
      ["an empty text", { podIP: "" }, []],
      ["an empty list", { podIPs: [], podIP: "10.0.0.1" }, ["10.0.0.1"]],
      [
        "empty elements of the list",
        { podIPs: [{ ip: "" }, {}, { ip: null }, { ip: "10.0.0.1" }] },
        ["10.0.0.1"],
      ],
      ["an address twice", { podIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0.1" }] }, ["10.0.0.1"]],
      ["the longest text of an address", { podIP: "f".repeat(45) }, ["f".repeat(45)]],
      ["the shortest", { podIP: "::" }, ["::"]],
    ])("%s", (_, status, addresses) => {
      expect(read(status)).toEqual({ addresses, findings: [] });
    });

    test.each<unknown>(["x10.0.0.1", "10.0.0.1x", "f".repeat(46), ":", 7, ["10.0.0.1"]])(
      "leave out %j with a finding",
      (ip) => {
        expect(read({ podIPs: [{ ip }, { ip: "10.0.0.2" }] })).toEqual({
          addresses: ["10.0.0.2"],
          findings: [`InvalidPodAddress: status.podIPs holds ${JSON.stringify(ip)}; it is left out`],
        });
      },
    );

    test("end with its deletion; a pod without metadata has its addresses", () => {
      expect(read({ podIP: "10.0.0.1" }, { deletionTimestamp: "2026-01-02T03:04:05Z" }).addresses).toEqual(
        [],
      );
      expect(read({ podIP: "10.0.0.1" }, {}).addresses).toEqual(["10.0.0.1"]);
      expect(read({ podIP: "10.0.0.1" }, undefined).addresses).toEqual(["10.0.0.1"]);
    });
  });

  describe("the addresses of a cluster's pods", () => {
    const start = () => {
      const state = new ExtractedState();
      state.identify("east");
      const record = () => state.toSnapshot().pods;
      return { addresses: new PodAddresses(state), record, keys: () => Object.keys(record()) };
    };

    test("a namespace that is added twice counts its pods once", () => {
      const { addresses, keys } = start();
      addresses.setNamespace("shop", true);
      addresses.set("shop", "a", ["10.0.0.1"]);
      addresses.setNamespace("shop", true);
      addresses.set("shop", "a", []);
      expect(keys()).toEqual([]);
    });

    test("pods of a namespace that comes later count from then on", () => {
      const { addresses, keys } = start();
      addresses.set("shop", "a", ["10.0.0.1"]);
      addresses.set("shop", "b", ["10.0.0.1"]);
      addresses.set("shop", "b", []);
      expect(keys()).toEqual([]);
      addresses.setNamespace("shop", true);
      expect(keys()).toEqual(["shop/10.0.0.1"]);
      addresses.setNamespace("shop", false);
      addresses.setNamespace("shop", false);
      expect(keys()).toEqual([]);
      addresses.setNamespace("shop", true);
      expect(keys()).toEqual(["shop/10.0.0.1"]);
    });

    test("the record stays the same object while pods come and go at an address that another pod has", () => {
      const { addresses, record, keys } = start();
      addresses.setNamespace("shop", true);
      addresses.set("shop", "a", ["192.0.2.1"]);
      const first = record();
      addresses.set("shop", "b", ["192.0.2.1"]);
      addresses.set("shop", "c", ["192.0.2.1"]);
      addresses.set("shop", "b", []);
      expect(record()).toBe(first);
      addresses.set("shop", "a", ["192.0.2.1"]);
      expect(record()).toBe(first);
      addresses.set("shop", "c", ["192.0.2.2"]);
      addresses.set("shop", "a", []);
      expect(keys()).toEqual(["shop/192.0.2.2"]);
    });
  });
});

describe("ports", () => {
  /** What a reader returns, and its findings. */
  function read<Port>(reader: (report: Report, value: unknown) => Port[], value: unknown) {
    const findings: string[] = [];
    const report: Report = (reason, message) => void findings.push(`${reason}: ${message.split(";")[0]}`);
    const ports = reader(report, value);
    return { ports, findings };
  }

  const TCP_80 = { name: "", protocol: "TCP", port: 80 };

  describe("ports of a Service (v1)", () => {
    test.each<[string, unknown, unknown[], string[]]>([
      ["no list", undefined, [], []],
      ["a mapping in place of the list", { port: 80 }, [], []],
      ["a port without a name and a protocol", [{ port: 80 }], [TCP_80], []],
      ["an empty protocol, which means TCP", [{ port: 80, protocol: "" }], [TCP_80], []],
      [
        "an application protocol",
        [{ port: 80, appProtocol: "http" }],
        [{ ...TCP_80, appProtocol: "http" }],
        [],
      ],
      [
        "an application protocol of 318 characters",
        [{ port: 80, appProtocol: "a".repeat(318) }],
        [TCP_80],
        [
          `InvalidField: spec.ports[0].appProtocol holds "${"a".repeat(76)}..., which is not a text of up to 317 characters`,
        ],
      ],
      ["null in the list", [null, { port: 80 }], [TCP_80], ["InvalidPort: spec.ports[0] holds null"]],
      ["a text in the list", ["http", { port: 80 }], [TCP_80], ['InvalidPort: spec.ports[0] holds "http"']],
      ["no number", [{ name: "a" }], [], ['InvalidPort: spec.ports[0] holds {"name":"a"}']],
      ["a number in text", [{ port: "80" }], [], ['InvalidPort: spec.ports[0] holds {"port":"80"}']],
      ["a fraction", [{ port: 80.5 }], [], ['InvalidPort: spec.ports[0] holds {"port":80.5}']],
      [
        "more than 31 bits",
        [{ port: 2 ** 31 }],
        [],
        ['InvalidPort: spec.ports[0] holds {"port":2147483648}'],
      ],
      [
        "a name that is a number",
        [{ port: 80, name: 7 }],
        [],
        ['InvalidPort: spec.ports[0] holds {"port":80,"name":7}'],
      ],
      [
        "a protocol of 17 characters",
        [{ port: 80, protocol: "p".repeat(17) }],
        [],
        ['InvalidPort: spec.ports[0] holds {"port":80,"protocol":"ppppppppppppppppp"}'],
      ],
    ])("%s", (_, value, ports, findings) => {
      expect(read(readServicePorts, value)).toEqual({ ports, findings });
    });

    test("keep their order, and the first 1,000", () => {
      const all = Array.from({ length: 1001 }, (_, index) => ({
        name: "",
        protocol: "TCP",
        port: 2000 - index,
      }));
      const { ports, findings } = read(readServicePorts, all);
      expect(ports).toEqual(all.slice(0, 1000));
      expect(findings).toEqual(["TooMany: spec.ports has 1001 elements"]);
    });
  });

  describe("ports of an EndpointSlice (discovery.k8s.io/v1)", () => {
    test.each<[string, unknown, unknown[], string[]]>([
      ["null, which means all ports", [{ port: null }], [], []],
      ["no number, which means all ports", [{ name: "a" }], [], []],
      ["null in the list", [null, { port: 80 }], [TCP_80], ["InvalidPort: ports[0] holds null"]],
      ["a number in the list", [80], [], ["InvalidPort: ports[0] holds 80"]],
      ["one port twice", [{ port: 80 }, { port: 80, protocol: "TCP", name: "" }], [TCP_80], []],
      [
        "ports in another order",
        [
          { port: 80, name: "b" },
          { port: 80, name: "a" },
        ],
        [
          { ...TCP_80, name: "a" },
          { ...TCP_80, name: "b" },
        ],
        [],
      ],
    ])("%s", (_, value, ports, findings) => {
      expect(read(readEndpointPorts, value)).toEqual({ ports, findings });
    });
  });

  describe("the key of a group of endpoints", () => {
    test.each([
      ["*", []],
      ["(unnamed)/TCP/80", [TCP_80]],
      [
        "http/TCP/80,dns/UDP/53",
        [
          { name: "http", protocol: "TCP", port: 80 },
          { name: "dns", protocol: "UDP", port: 53 },
        ],
      ],
      ["(unnamed)/(a%2fb)/80", [{ name: "", protocol: "a/b", port: 80 }]],
      ["(a%2c%20b)/TCP/80", [{ ...TCP_80, name: "a, b" }]],
      ["(-a.b_c)/TCP/80", [{ ...TCP_80, name: "-a.b_c" }]],
      ["a-1.b_c/TCP/80", [{ ...TCP_80, name: "a-1.b_c" }]],
      ["(a%20)/TCP/80", [{ ...TCP_80, name: "a " }]],
    ])("is %s", (text, ports) => {
      expect(portSetText(ports)).toBe(text);
    });

    test("is its text up to 4,000 characters; longer ones are numbered by their order", () => {
      const [short, a, b] = ["s".repeat(4000), "x".repeat(4001), `${"x".repeat(4000)}y`];
      const keys = portSetKeys([b!, a!, short!]);
      expect([short, a, b].map((text) => keys.get(text!))).toEqual([
        short,
        `${"x".repeat(4000)},(1)`,
        `${"x".repeat(4000)},(2)`,
      ]);
    });
  });
});

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
    expect(assembler.snapshot().exports).toBe(before.exports);
  });
});
