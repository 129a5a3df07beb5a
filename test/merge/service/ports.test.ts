import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import type { ServicePort } from "../../../src/snapshot/schema.ts";
import { day, exporting, importing, port, web } from "../fixtures.ts";

function mergePorts(...ports: ServicePort[][]) {
  const merged = mergeClusterset(
    ports.map((some, index) => exporting(`c${index + 1}`, { exportedAt: day(index + 1), ports: some })),
  );
  return {
    ports: web(merged).ports,
    conflicts: merged.conflicts.map(({ property, winner, value, disagree }) => ({
      property,
      winner,
      value,
      disagree,
    })),
    messages: merged.conflicts.map(({ message }) => message),
    findings: merged.findings,
  };
}

describe("KEP-1645 Service Port", () => {
  it("exposes the union; ports that are not identical are a conflict (MCS API, PortConflict)", () => {
    const { ports, conflicts, messages } = mergePorts(
      [port("http", 80)],
      [port("http", 80), port("sctp", 142, "SCTP")],
    );
    expect(ports).toEqual([port("http", 80), port("sctp", 142, "SCTP")]);
    expect(conflicts).toEqual([
      { property: "ports", winner: "c1", value: "http:80/TCP,sctp:142/SCTP", disagree: ["c2"] },
    ]);
    expect(messages).toEqual([
      'Conflicting ports. Using the union "http:80/TCP,sctp:142/SCTP", precedence to oldest service export in "c1". 1/2 clusters disagree.',
    ]);
  });

  it("a cluster that lacks a port disagrees", () => {
    const { ports, conflicts } = mergePorts([port("http", 80), port("dns", 53, "UDP")], [port("http", 80)]);
    expect(ports).toEqual([port("http", 80), port("dns", 53, "UDP")]);
    expect(conflicts).toMatchObject([{ property: "ports", disagree: ["c2"] }]);
  });

  it.each<[string, ServicePort, ServicePort, string]>([
    ["merged by name first", port("http", 80), port("http", 8080), "http:80/TCP"],
    ["the empty name is a name", port("", 80), port("", 8080), "80/TCP"],
    ["a name with another protocol", port("dns", 53, "UDP"), port("dns", 53, "TCP"), "dns:53/UDP"],
    ["then by protocol and number", port("http", 80), port("web", 80), "http:80/TCP"],
    ["unnamed against named", port("http", 80), port("", 80), "http:80/TCP"],
    ["appProtocol", port("http", 80, "TCP", "http"), port("http", 80), "http:80/TCP appProtocol=http"],
  ])("no duplicates: %s", (_, older, younger, value) => {
    const { ports, conflicts, messages } = mergePorts([older], [younger]);
    expect(ports).toEqual([older]);
    expect(conflicts).toEqual([{ property: "port", winner: "c1", value, disagree: ["c2"] }]);
    expect(messages).toEqual([
      `Conflicting port. Using "${value}" from oldest service export in "c1". 1/2 clusters disagree.`,
    ]);
  });

  it("one number over two protocols is two ports", () => {
    const both = [port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP")];
    expect(mergePorts(both)).toMatchObject({ ports: both, conflicts: [] });
  });

  it("the winner of a port is the oldest that has it, not the oldest of all", () => {
    const { ports, conflicts } = mergePorts([port("http", 80)], [port("m", 9090)], [port("m", 9100)]);
    expect(ports).toEqual([port("http", 80), port("m", 9090)]);
    expect(conflicts).toEqual([
      { property: "port", winner: "c2", value: "m:9090/TCP", disagree: ["c3"] },
      { property: "ports", winner: "c1", value: "http:80/TCP,m:9090/TCP", disagree: ["c2", "c3"] },
    ]);
  });

  it("a cluster that clashes twice on one port disagrees once", () => {
    const { conflicts } = mergePorts([port("http", 80)], [port("http", 81), port("web", 80)]);
    expect(conflicts).toEqual([{ property: "port", winner: "c1", value: "http:80/TCP", disagree: ["c2"] }]);
  });

  it("odd numbers pass: zone/ reports them", () => {
    const odd = [port("none", 0), port("big", 70000)];
    expect(mergePorts(odd).ports).toEqual(odd);
  });

  it("within one ServiceImport, which the API server does not check, repetition is a finding", () => {
    const merged = mergeClusterset([
      importing("a", { ports: [port("http", 80), port("web", 80), port("http", 80)] }),
    ]);
    expect(web(merged).ports).toEqual([port("http", 80)]);
    expect(merged.conflicts).toEqual([]);
    expect(merged.findings).toMatchObject([
      { clusterId: "a", reason: "DuplicatePort", kind: "ServiceImport" },
    ]);
  });
});
