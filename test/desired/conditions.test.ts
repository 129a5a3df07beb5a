import { describe, expect, it } from "vitest";
import { createPinTable } from "../../src/merge/grants.ts";
import { DesiredCondition } from "../../src/snapshot/desired-line.ts";
import { day, exporting, importing, port, snapshot } from "../merge/fixtures.ts";
import { deriveWorld } from "./derived.ts";

const briefly = (conditions: readonly DesiredCondition[] | undefined) =>
  conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

describe("the conditions of a ServiceExport", () => {
  it("of a service without conflicts", () => {
    const { conditions } = deriveWorld([exporting("a"), exporting("b")]);
    for (const cluster of ["a", "b"])
      expect(briefly(conditions(cluster))).toEqual([
        "Valid True Valid",
        "Ready True Exported",
        "Conflict False NoConflicts",
      ]);
  });

  it("are those of the MCS API on every exporter, joined by commas, with messages that name clusters", () => {
    const { conditions } = deriveWorld([
      exporting("a", { ports: [port("tcp", 42)], exportedLabels: { team: "a" } }),
      exporting("b", { exportedAt: day(9), ports: [port("tcp", 4242)], headless: true }),
    ]);
    for (const cluster of ["a", "b"]) {
      const [, , conflict] = conditions(cluster)!;
      expect(conflict).toMatchObject({ status: "True", reason: "TypeConflict,LabelsConflict,PortConflict" });
      expect(conflict!.message).toContain(
        'Conflicting type. Using "ClusterSetIP" from oldest service export in "a". 1/2 clusters disagree. Not as in "b".',
      );
      expect(DesiredCondition.parse(conflict)).toEqual(conflict);
    }
  });

  it("know conflicts among the exports that reach the exporter alone (kubernetes/enhancements#6329)", () => {
    const { conditions } = deriveWorld([
      exporting("a", { headless: true, clusters: ["d"] }),
      exporting("b", { exportedAt: day(9), clusters: ["c"] }),
      exporting("c", { exportedAt: day(10), headless: true, clusters: [] }),
    ]);
    const conflictOf = (cluster: string) => conditions(cluster)!.at(-1)!.reason;
    expect(["a", "b", "c"].map(conflictOf)).toEqual(["NoConflicts", "NoConflicts", "TypeConflict"]);
  });

  it("stay within what an API server takes, whatever clusters declare", () => {
    const ports = (by: number) =>
      Array.from({ length: 900 }, (_, index) => port(`p${index}-${"x".repeat(50)}`, index * 2 + by));
    const { conditions } = deriveWorld([
      exporting("a", { ports: ports(1) }),
      exporting("b", { exportedAt: day(9), ports: ports(2) }),
    ]);
    const [, , conflict] = conditions("a")!;
    expect(DesiredCondition.parse(conflict)).toEqual(conflict);
    expect(conflict!.message).toContain("And 880 more.");
  });

  it.each([
    ["NoService", "Valid False NoService", "Ready False Pending"],
    ["InvalidServiceType", "Valid False InvalidServiceType", "Ready False Failed"],
  ] as const)("of an export with the finding %s", (reason, valid, ready) => {
    const { conditions } = deriveWorld([snapshot("a"), exporting("b"), exporting("c", { headless: true })]);
    const told = conditions("a", "shop/web", { reason, message: 'no Service "shop/web" exists' });
    expect(briefly(told)).toEqual([valid, ready, "Conflict False NoConflicts"]);
    expect(told![0]!.message).toBe('No Service "shop/web" exists.');
  });

  it("of an export that the gateway leaves out are Ready False Failed", () => {
    expect(createPinTable({ exports: new Map([["a", ["other"]]]) }).mayExport("a", "shop/web")).toBe(false);
    const { conditions } = deriveWorld([{ ...exporting("a"), namespaces: {} }, exporting("b")]);
    expect(briefly(conditions("a"))).toContain("Ready False Failed");
  });

  it("say that others cannot reach a cluster by its nodes without a node port or an address", () => {
    const nodes = { ports: [{ name: "http", protocol: "TCP", port: 30080 }], addresses: ["192.0.2.7"] };
    const reached = (parts: Parameters<typeof exporting>[1]) =>
      deriveWorld([exporting("a", parts)], () => "nodes").conditions("a")!;
    const [, ready] = reached({});
    expect(ready).toMatchObject({ status: "False", reason: "Failed" });
    expect(ready!.message).toContain("no node port of the Service");
    expect(DesiredCondition.parse(ready)).toEqual(ready);
    expect(briefly(reached({ nodes: { ...nodes, addresses: [] } }))).toContain("Ready False Pending");
    for (const parts of [{ nodes }, { headless: true }])
      expect(briefly(reached(parts))).toContain("Ready True Exported");
  });

  describe("where others reach a cluster by load balancers", () => {
    const reached = (parts: Parameters<typeof exporting>[1]) =>
      deriveWorld([exporting("a", parts)], () => "loadBalancers").conditions("a")!;

    it.each([
      ["the load balancer has no address yet", { serviceType: "LoadBalancer" }, "Pending", "no address yet"],
      [
        "it has a host name alone",
        { serviceType: "LoadBalancer", loadBalancer: [{ hostname: "lb.example" }] },
        "Failed",
        "a host name and no address",
      ],
      ["the Service has no load balancer", { serviceType: "ClusterIP" }, "Failed", "type is ClusterIP"],
    ] as const)("are not Ready while %s", (_, parts, reason, message) => {
      const [valid, ready] = reached(parts as never);
      expect(valid).toMatchObject({ status: "True" });
      expect(ready).toMatchObject({ status: "False", reason });
      expect(ready!.message).toContain(message);
      expect(DesiredCondition.parse(ready)).toEqual(ready);
    });

    it.each([
      ["an address", { serviceType: "LoadBalancer", loadBalancer: [{ ip: "192.0.2.1" }] }],
      ["an external IP", { serviceType: "ClusterIP", externalIPs: ["192.0.2.1"] }],
      ["the addresses of its pods, being headless", { serviceType: "ClusterIP", headless: true }],
    ] as const)("are Ready with %s", (_, parts) => {
      expect(briefly(reached(parts as never))).toContain("Ready True Exported");
    });
  });

  it("are none of a cluster without an export, be it an importer", () => {
    const { conditions } = deriveWorld([exporting("a"), importing("b")]);
    expect(conditions("b")).toBeUndefined();
    expect(conditions("c")).toBeUndefined();
  });
});
