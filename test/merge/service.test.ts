import { describe, expect, it } from "vitest";
import type { AdjustedTime, Contribution } from "../../src/merge/declaration.ts";
import { rulesOf } from "../../src/merge/merge-key.ts";
import { mergeService } from "../../src/merge/service.ts";
import type { ExportedService, ImportedService, ServicePort } from "../../src/snapshot/schema.ts";
import { day, exported, exporting, imported, importing, port, web } from "./fixtures.ts";
import { mergeClusterset } from "./merged.ts";

const exporter = (clusterId: string, parts = {}, adjusted?: AdjustedTime): Contribution => ({
  clusterId,
  exported: exported(parts),
  imported: undefined,
  adjusted,
});
const importer = (clusterId: string, parts: Partial<ImportedService> = {}, importedSince?: number) => ({
  clusterId,
  exported: undefined,
  imported: imported(parts),
  importedSince,
});
const merge = (...contributions: Contribution[]) =>
  mergeService({ namespace: "shop", name: "web" }, contributions, [], rulesOf({}));

describe("a finding says that", () => {
  it.each([
    ["Service", exporter("a", { ports: [port("http", 80), port("http", 81)] })],
    ["ServiceImport", importer("a", { ports: [port("http", 80), port("http", 81), port("web", 80)] })],
  ])("a port of a %s repeats another one", (kind, contribution) => {
    const { findings, conflicts, service } = merge(contribution);
    const repeated = contribution.imported === undefined ? ["http:81/TCP"] : ["http:81/TCP", "web:80/TCP"];
    expect(findings).toEqual(
      repeated.map((text) => ({
        clusterId: "a",
        reason: "DuplicatePort",
        kind,
        namespace: "shop",
        name: "web",
        message: `port "${text}" repeats the name or the number of an earlier port; it is left out`,
      })),
    );
    expect([service.ports, conflicts]).toEqual([[port("http", 80)], []]);
  });

  it.each([
    [undefined, "no spec.type"],
    ["Bogus", 'spec.type "Bogus"'],
    ["ClusterSetIP", undefined],
    ["Headless", undefined],
  ])("an import has the type %s", (type, text) => {
    const untyped = { ...importer("a"), imported: { ...imported(), type } as ImportedService };
    const finding = {
      clusterId: "a",
      reason: "UnknownImportType",
      kind: "ServiceImport",
      namespace: "shop",
      name: "web",
      message: `has ${text}, which is neither ClusterSetIP nor Headless; it is taken for ClusterSetIP`,
    };
    expect(merge(untyped, exporter("b")).findings).toEqual(text === undefined ? [] : [finding]);
    expect(merge(untyped).service.type).toBe(type === "Headless" ? "Headless" : "ClusterSetIP");
  });
});

describe("an implausible creation time (SECURITY.md, Creation times)", () => {
  const counts = Date.parse(day(9));
  const because = (reason: AdjustedTime["because"]) =>
    exporter("a", { exportedAt: day(2) }, { counts, because: reason });
  const of = { clusterId: "a", reason: "ImplausibleTimestamp", kind: "ServiceExport", namespace: "shop" };

  it.each([
    ["impossible", "which is before any ServiceExport could be"],
    ["future", "which was in the future"],
    ["unseen", "at which the gateway did not see the export appear"],
  ] as const)("that is %s is a finding", (reason, text) => {
    const message = `claims to be created at ${day(2)}, ${text}; it counts from 2026-01-09T00:00:00Z`;
    const others = reason === "unseen" ? [exporter("b", { exportedAt: day(1) })] : [];
    expect(merge(because(reason), ...others).findings).toEqual([{ ...of, name: "web", message }]);
  });

  it("that was not seen is no finding where no other cluster exports the service", () => {
    expect(merge(because("unseen"), importer("b")).findings).toEqual([]);
  });

  it.each([
    ["between the claimed time and the one that counts", day(5), 1],
    ["at the time that counts", day(9), 1],
    ["at the claimed time", day(2), 0],
    ["before the claimed time", day(1), 0],
    ["after the time that counts", day(10), 0],
  ])("that only differs is a finding where it would overtake an export from %s", (_, exportedAt, count) => {
    const others = [exporter("b", { exportedAt }), exporter("c", { exportedAt: day(20) })];
    expect(merge(because(undefined), ...others).findings).toHaveLength(count);
  });
});

function mergePorts(...ports: ServicePort[][]) {
  const merged = mergeClusterset(
    ports.map((some, index) => exporting(`c${index + 1}`, { exportedAt: day(index + 1), ports: some })),
  );
  return { ports: web(merged).ports, conflicts: merged.conflicts };
}

describe("KEP-1645 Service Port", () => {
  it("exposes the union; ports that are not identical are a conflict (MCS API, PortConflict)", () => {
    const { ports, conflicts } = mergePorts(
      [port("http", 80)],
      [port("http", 80), port("sctp", 142, "SCTP")],
    );
    expect(ports).toEqual([port("http", 80), port("sctp", 142, "SCTP")]);
    const value = "http:80/TCP,sctp:142/SCTP";
    const message = `Conflicting ports. Using the union "${value}", precedence to oldest service export in "c1". 1/2 clusters disagree.`;
    expect(conflicts).toMatchObject([{ property: "ports", winner: "c1", value, disagree: ["c2"], message }]);
  });

  it.each<[string, ServicePort, ServicePort, string]>([
    ["merged by name first", port("http", 80), port("http", 8080), "http:80/TCP"],
    ["the empty name is a name", port("", 80), port("", 8080), "80/TCP"],
    ["a name with another protocol", port("dns", 53, "UDP"), port("dns", 53, "TCP"), "dns:53/UDP"],
    ["then by protocol and number", port("http", 80), port("web", 80), "http:80/TCP"],
    ["unnamed against named", port("http", 80), port("", 80), "http:80/TCP"],
    ["appProtocol", port("http", 80, "TCP", "http"), port("http", 80), "http:80/TCP appProtocol=http"],
  ])("no duplicates: %s", (_, older, younger, value) => {
    const { ports, conflicts } = mergePorts([older], [younger]);
    expect(ports).toEqual([older]);
    const message = `Conflicting port. Using "${value}" from oldest service export in "c1". 1/2 clusters disagree.`;
    expect(conflicts).toMatchObject([{ property: "port", winner: "c1", value, disagree: ["c2"], message }]);
  });

  it("one number over two protocols is two ports", () => {
    const both = [port("dns", 53, "UDP"), port("dns-tcp", 53, "TCP")];
    expect(mergePorts(both)).toMatchObject({ ports: both, conflicts: [] });
  });

  it("the winner of a port is the oldest that has it, not the oldest of all", () => {
    const { ports, conflicts } = mergePorts([port("http", 80)], [port("m", 9090)], [port("m", 9100)]);
    expect(ports).toEqual([port("http", 80), port("m", 9090)]);
    expect(conflicts).toMatchObject([
      { property: "port", winner: "c2", value: "m:9090/TCP", disagree: ["c3"] },
      { property: "ports", winner: "c1", value: "http:80/TCP,m:9090/TCP", disagree: ["c2", "c3"] },
    ]);
  });

  it("a cluster that clashes twice on one port disagrees once", () => {
    const { conflicts } = mergePorts([port("http", 80)], [port("http", 81), port("web", 80)]);
    expect(conflicts).toMatchObject([
      { property: "port", winner: "c1", value: "http:80/TCP", disagree: ["c2"] },
    ]);
  });
});

/** Merges exporters `c1`, `c2`, …, the first the oldest. */
function mergeExports(...parts: Partial<ExportedService>[]) {
  return mergeClusterset(
    parts.map((part, index) => exporting(`c${index + 1}`, { exportedAt: day(index + 1), ...part })),
  );
}

describe("KEP-1645 Constraints and Conflict Resolution: the oldest ServiceExport wins", () => {
  it.each([
    ["by creation time", day(2), day(1), "c2"],
    ["by instant, not by text", "2026-01-01T02:00:00+02:00", "2026-01-01T00:30:00Z", "c1"],
    ["equal instants by cluster id", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z", "c1"],
    ["by fractions of a second", "2026-01-01T00:00:00.9Z", "2026-01-01T00:00:00.1Z", "c2"],
    ["a time without a meaning comes last", "never", day(1), "c2"],
  ])("%s", (_, first, second, winner) => {
    const { conflicts } = mergeExports(
      { exportedAt: first, headless: true },
      { exportedAt: second, headless: false },
    );
    expect(conflicts.map((conflict) => conflict.winner)).toEqual([winner]);
  });

  it("speaks in the words of the KEP (Exporting Services)", () => {
    const plain = { headless: false };
    const { conflicts } = mergeExports(plain, plain, { headless: true }, plain, { headless: true });
    expect(conflicts).toEqual([
      {
        namespace: "shop",
        name: "web",
        reason: "TypeConflict",
        property: "type",
        winner: "c1",
        value: "ClusterSetIP",
        disagree: ["c3", "c5"],
        total: 5,
        message:
          'Conflicting type. Using "ClusterSetIP" from oldest service export in "c1". 2/5 clusters disagree.',
      },
    ]);
  });
});

describe("KEP-1645 Global Properties", () => {
  const cases: [string, Partial<ExportedService>, Partial<ExportedService>, string, string][] = [
    ["Headlessness", { headless: true }, { headless: false }, "TypeConflict", "Headless"],
    [
      "Session Affinity",
      { sessionAffinity: "ClientIP" },
      { sessionAffinity: "None" },
      "SessionAffinityConflict",
      "ClientIP",
    ],
    ["Session Affinity, absent", {}, { sessionAffinity: "ClientIP" }, "SessionAffinityConflict", "None"],
    [
      "Session Affinity, its configuration",
      { sessionAffinity: "ClientIP", sessionAffinityTimeoutSeconds: 60 },
      { sessionAffinity: "ClientIP" },
      "SessionAffinityConfigConflict",
      "60",
    ],
    [
      "Internal Traffic Policy",
      { internalTrafficPolicy: "Local" },
      {},
      "InternalTrafficPolicyConflict",
      "Local",
    ],
    ["Traffic Distribution", {}, { trafficDistribution: "PreferClose" }, "TrafficDistributionConflict", ""],
    [
      "Labels and Annotations: labels",
      { exportedLabels: { b: "2", a: "1" } },
      { exportedLabels: { a: "1" } },
      "LabelsConflict",
      "a=1,b=2",
    ],
    [
      "Labels and Annotations: annotations",
      { exportedAnnotations: { a: "1" } },
      {},
      "AnnotationsConflict",
      "a=1",
    ],
    [
      "Service Port, clash",
      { ports: [port("http", 80)] },
      { ports: [port("http", 81)] },
      "PortConflict",
      "http:80/TCP",
    ],
    ["IP families", { ipFamilies: ["IPv4"] }, { ipFamilies: ["IPv6"] }, "IPFamilyConflict", "IPv4,IPv6"],
  ];

  it.each(cases)(
    "%s: a disagreement is a named conflict, agreement is none",
    (_, older, younger, reason, value) => {
      expect(mergeExports(older, younger).conflicts).toMatchObject([
        { reason, value, winner: "c1", disagree: ["c2"], total: 2 },
      ]);
      expect(mergeExports(older, { ...older }).conflicts).toEqual([]);
    },
  );

  const same: [string, Partial<ExportedService>, Partial<ExportedService>][] = [
    ["no sessionAffinity and None", {}, { sessionAffinity: "None" }],
    ["an empty sessionAffinity and None", { sessionAffinity: "" }, { sessionAffinity: "None" }],
    [
      "no timeout and the default of 10800 s",
      { sessionAffinity: "ClientIP" },
      { sessionAffinity: "ClientIP", sessionAffinityTimeoutSeconds: 10800 },
    ],
    ["a timeout that nothing reads", {}, { sessionAffinityTimeoutSeconds: 5 }],
    ["no internalTrafficPolicy and Cluster", {}, { internalTrafficPolicy: "Cluster" }],
    ["no labels and an empty set of them", {}, { exportedLabels: {}, exportedAnnotations: {} }],
    ["no protocol and TCP", { ports: [port("http", 80, "")] }, { ports: [port("http", 80)] }],
    ["the protocol in lower case", { ports: [port("http", 80, "tcp")] }, { ports: [port("http", 80)] }],
    [
      "ports in another order",
      { ports: [port("a", 1), port("b", 2)] },
      { ports: [port("b", 2), port("a", 1)] },
    ],
    ["families in another order", { ipFamilies: ["IPv4", "IPv6"] }, { ipFamilies: ["IPv6", "IPv4"] }],
    ["unknown families", {}, { ipFamilies: ["IPv6"] }],
    ["ClusterIP and LoadBalancer", { serviceType: "ClusterIP" }, { serviceType: "LoadBalancer" }],
  ];

  it.each(same)("%s are the same", (_, older, younger) => {
    expect(mergeExports(older, younger).conflicts).toEqual([]);
    expect(mergeExports(younger, older).conflicts).toEqual([]);
  });

  it("cuts long values in conflicts and escapes what would break a line", () => {
    const { conflicts } = mergeExports({ exportedAnnotations: { a: `x\n"${"y".repeat(1000)}` } }, {});
    expect(conflicts[0]!.value).toHaveLength(256);
    expect(conflicts[0]!.message).toContain('Using "a=x\\n\\"yyy');
    expect(conflicts[0]!.message).toContain('…" from oldest');
  });
});

describe("Service Imports without exports", () => {
  it("the importer that was seen first decides, then the one with the smallest cluster id, and says so", () => {
    const world = [
      importer("d", { type: "Headless" }, 3),
      importer("z"),
      importer("c", {}, 2),
      importer("b", {}, 2),
    ];
    expect(merge(...world).conflicts).toMatchObject([{ winner: "b", disagree: ["d"] }]);
    const { conflicts, services } = mergeClusterset([
      importing("b", { type: "ClusterSetIP", ports: [port("http", 80)] }),
      importing("a", { type: "Headless", ports: [port("http", 80)] }),
    ]);
    expect(services[0]).toMatchObject({ type: "Headless", exporters: [], reportedBy: ["a", "b"] });
    expect(conflicts.map(({ message }) => message)).toEqual([
      'Conflicting type. Using "Headless" from service import in "a". 1/2 clusters disagree.',
    ]);
  });
});
