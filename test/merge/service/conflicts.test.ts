import { describe, expect, it } from "vitest";
import { mergeClusterset } from "../../../src/merge/merge.ts";
import type { ExportedService } from "../../../src/snapshot/schema.ts";
import { day, exporting, importing, port, web } from "../fixtures.ts";

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

  it("lists exporters oldest first", () => {
    const merged = mergeExports({ exportedAt: day(3) }, { exportedAt: day(1) }, { exportedAt: day(2) });
    expect(web(merged).exporters).toEqual(["c2", "c3", "c1"]);
    expect(web(merged).reportedBy).toEqual(["c1", "c2", "c3"]);
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

  it.each(cases)("%s: a disagreement is a named conflict", (_, older, younger, reason, value) => {
    const { conflicts } = mergeExports(older, younger);
    expect(conflicts).toHaveLength(1);
    expect(conflicts[0]).toMatchObject({ reason, value, winner: "c1", disagree: ["c2"], total: 2 });
  });

  it.each(cases)("%s: agreement is none", (_, older) => {
    expect(mergeExports(older, { ...older }).conflicts).toEqual([]);
  });

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

  it("takes every property from the oldest, labels as a whole", () => {
    const service = web(
      mergeExports(
        {
          sessionAffinity: "ClientIP",
          sessionAffinityTimeoutSeconds: 60,
          internalTrafficPolicy: "Local",
          trafficDistribution: "PreferClose",
          exportedLabels: { tier: "gold" },
          exportedAnnotations: { note: "one" },
        },
        { exportedLabels: { other: "1" }, exportedAnnotations: { note: "two" } },
      ),
    );
    expect(service).toMatchObject({
      sessionAffinity: "ClientIP",
      sessionAffinityTimeoutSeconds: 60,
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
    });
    expect(service.labels).toEqual({ tier: "gold" });
    expect(service.annotations).toEqual({ note: "one" });
  });

  it("leaves defaults out", () => {
    const service = web(mergeExports({ sessionAffinity: "None", internalTrafficPolicy: "Cluster" }));
    expect(service).not.toHaveProperty("sessionAffinity");
    expect(service).not.toHaveProperty("sessionAffinityTimeoutSeconds");
    expect(service).not.toHaveProperty("internalTrafficPolicy");
    expect(service).not.toHaveProperty("trafficDistribution");
  });

  it("cuts long values in conflicts and escapes what would break a line", () => {
    const { conflicts } = mergeExports({ exportedAnnotations: { a: `x\n"${"y".repeat(1000)}` } }, {});
    expect(conflicts[0]!.value).toHaveLength(256);
    expect(conflicts[0]!.message).toContain('Using "a=x\\n\\"yyy');
    expect(conflicts[0]!.message).toContain('…" from oldest');
  });
});

describe("Service Imports without exports", () => {
  it("the importer with the smallest cluster id decides, and says so", () => {
    const { conflicts, services } = mergeClusterset([
      importing("b", { type: "ClusterSetIP", ports: [port("http", 80)] }),
      importing("a", { type: "Headless", ports: [port("http", 80)] }),
    ]);
    expect(services[0]).toMatchObject({ type: "Headless", exporters: [], reportedBy: ["a", "b"] });
    expect(conflicts.map(({ message }) => message)).toEqual([
      'Conflicting type. Using "Headless" from service import in "a". 1/2 clusters disagree.',
    ]);
  });

  it.each([undefined, "", "headless", "ExternalName"])(
    "type %j is taken for ClusterSetIP, as CoreDNS does",
    (type) => {
      const { type: _, ...untyped } = importing("a").imports["shop/web"]!;
      const world = [
        { ...importing("a"), imports: { "shop/web": type === undefined ? untyped : { ...untyped, type } } },
      ];
      const merged = mergeClusterset(world);
      expect(web(merged).type).toBe("ClusterSetIP");
      expect(merged.findings).toMatchObject([
        {
          clusterId: "a",
          reason: "UnknownImportType",
          kind: "ServiceImport",
          namespace: "shop",
          name: "web",
        },
      ]);
    },
  );
});
