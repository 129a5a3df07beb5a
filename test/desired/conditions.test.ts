import { describe, expect, it } from "vitest";
import { DesiredCondition } from "../../src/snapshot/desired-line.ts";
import { day, exporting, importing, port, snapshot } from "../merge/fixtures.ts";
import { deriveWorld } from "./derived.ts";

const briefly = (conditions: readonly DesiredCondition[] | undefined) =>
  conditions?.map(({ type, status, reason }) => `${type} ${status} ${reason}`);

describe("the conditions of a ServiceExport", () => {
  it("of a service without conflicts are Valid and Ready, without Conflict", () => {
    const { conditions } = deriveWorld([exporting("a"), exporting("b")]);
    const agreed = ["Valid True Valid", "Ready True Exported", "Conflict False NoConflicts"];
    for (const cluster of ["a", "b"]) expect(briefly(conditions(cluster))).toEqual(agreed);
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
    const { conditions } = deriveWorld([{ ...exporting("a"), namespaces: {} }, exporting("b")]);
    expect(briefly(conditions("a"))).toContain("Ready False Failed");
  });

  const balanced = (loadBalancer?: object[]) => ({ serviceType: "LoadBalancer", loadBalancer });
  const onNodes = (...addresses: string[]) => ({ nodes: { ports: [port("http", 30080)], addresses } });
  it.each([
    ["loadBalancers", "Pending without an address yet", balanced(), "no address yet"],
    [
      "loadBalancers",
      "Failed with a host name alone",
      balanced([{ hostname: "a.b" }]),
      "a host name and no address",
    ],
    ["loadBalancers", "Failed without a load balancer", {}, "type is ClusterIP"],
    ["loadBalancers", "Exported with an address", balanced([{ ip: "192.0.2.1" }]), ""],
    ["loadBalancers", "Exported with an external IP", { externalIPs: ["192.0.2.1"] }, ""],
    ["loadBalancers", "Exported with the addresses of pods, being headless", { headless: true }, ""],
    ["nodes", "Failed without a node port", {}, "no node port of the Service"],
    ["nodes", "Pending without an address of a node", onNodes(), ""],
    ["nodes", "Exported with a node port and an address", onNodes("192.0.2.7"), ""],
    ["nodes", "Exported with the addresses of pods, being headless", { headless: true }, ""],
  ] as const)("where others reach a cluster by %s, Ready is %s", (reach, title, parts, message) => {
    const { conditions } = deriveWorld([exporting("a", parts as never)], () => reach);
    const [valid, ready] = conditions("a")!;
    const [reason] = title.split(" ");
    expect(valid).toMatchObject({ status: "True" });
    expect(ready).toMatchObject({ status: reason === "Exported" ? "True" : "False", reason });
    expect(ready!.message).toContain(message);
    expect(DesiredCondition.parse(ready)).toEqual(ready);
  });

  it("are none of a cluster without an export, be it an importer", () => {
    const { conditions } = deriveWorld([exporting("a"), importing("b")]);
    expect(conditions("b")).toBeUndefined();
    expect(conditions("c")).toBeUndefined();
  });
});
