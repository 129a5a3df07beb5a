import { describe, expect, it } from "vitest";
import type { ClustersetService } from "../../../src/merge/clusterset.ts";
import {
  type AdjustedTime,
  type Contribution,
  declareExports,
  declareImports,
} from "../../../src/merge/declaration.ts";
import type { Grants } from "../../../src/merge/grants.ts";
import { rulesOf } from "../../../src/merge/merge-key.ts";
import { listShards, mergeService, sizeOfService } from "../../../src/merge/service.ts";
import type { ExportedService, ImportedService, ServicePort } from "../../../src/snapshot/schema.ts";
import { day, exported, exporting, imported, importing, port, web } from "../fixtures.ts";
import { mergeClusterset } from "../merged.ts";

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
const merge = (contributions: Contribution[], grants?: Grants) =>
  mergeService({ namespace: "shop", name: "web" }, contributions, [], rulesOf({ grants }));
const idsOf = (declarations: readonly { clusterId: string }[]) =>
  declarations.map(({ clusterId }) => clusterId);

describe("declarations come in the order of", () => {
  it("exports' age, then cluster ids (KEP-1645, Global Properties)", () => {
    const world = [
      exporter("c", { exportedAt: day(2) }),
      exporter("b", { exportedAt: day(1) }),
      exporter("d", { exportedAt: day(3) }),
      exporter("a", { exportedAt: day(2) }),
      importer("e"),
    ];
    expect(idsOf(declareExports(world))).toEqual(["b", "a", "c", "d"]);
  });

  it("first sight of imports, then cluster ids; one that was never seen is last", () => {
    const world = [
      importer("d", {}, 3),
      importer("z"),
      importer("c", {}, 2),
      importer("b", {}, 1),
      importer("a", {}, 2),
      exporter("e"),
    ];
    expect(idsOf(declareImports(world))).toEqual(["b", "a", "c", "d", "z"]);
  });

  it("an import declares no labels, annotations and IP families", () => {
    expect(declareImports([importer("a", { type: "Headless" })])).toEqual([
      {
        clusterId: "a",
        type: "Headless",
        ports: [],
        sessionAffinity: "None",
        sessionAffinityTimeoutSeconds: undefined,
        internalTrafficPolicy: "Cluster",
        trafficDistribution: "",
        labels: {},
        annotations: {},
        ipFamilies: [],
      },
    ]);
  });
});

describe("the time since which a cluster counts is", () => {
  it("that of its export, else the first sight of its import", () => {
    const { since } = merge([
      exporter("a", { exportedAt: day(1) }),
      importer("b", {}, 7),
      importer("c"),
    ]).service;
    expect(since).toEqual(
      new Map([
        ["a", Date.parse(day(1))],
        ["b", 7],
        ["c", Number.POSITIVE_INFINITY],
      ]),
    );
  });

  it("before all others for an importer with a grant", () => {
    const { since } = merge([importer("a", {}, 7), importer("hub", {}, 9)], new Map([["hub", "*"]])).service;
    expect(since).toEqual(
      new Map([
        ["a", 7],
        ["hub", Number.NEGATIVE_INFINITY],
      ]),
    );
  });
});

describe("a finding says that", () => {
  it.each([
    ["Service", exporter("a", { ports: [port("http", 80), port("http", 81)] })],
    ["ServiceImport", importer("a", { ports: [port("http", 80), port("http", 81)] })],
  ])("a port of a %s repeats another one", (kind, contribution) => {
    expect(merge([contribution]).findings).toEqual([
      {
        clusterId: "a",
        reason: "DuplicatePort",
        kind,
        namespace: "shop",
        name: "web",
        message: `port "http:81/TCP" repeats the name or the number of an earlier port; it is left out`,
      },
    ]);
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
    expect(merge([untyped, exporter("b")]).findings).toEqual(text === undefined ? [] : [finding]);
    expect(merge([untyped]).service.type).toBe(type === "Headless" ? "Headless" : "ClusterSetIP");
  });
});

describe("an implausible creation time (SECURITY.md, Creation times)", () => {
  const counts = Date.parse(day(9));
  const because = (reason: AdjustedTime["because"]) =>
    exporter("a", { exportedAt: day(2) }, { counts, because: reason });
  const messageOf = (...world: Contribution[]) => merge(world).findings.map(({ message }) => message);
  const until = "it counts from 2026-01-09T00:00:00Z";

  it.each([
    ["impossible", "which is before any ServiceExport could be"],
    ["future", "which was in the future"],
  ] as const)("that is %s is a finding, also of a single exporter", (reason, text) => {
    expect(merge([because(reason)]).findings).toEqual([
      {
        clusterId: "a",
        reason: "ImplausibleTimestamp",
        kind: "ServiceExport",
        namespace: "shop",
        name: "web",
        message: `claims to be created at ${day(2)}, ${text}; ${until}`,
      },
    ]);
  });

  const unseen = `claims to be created at ${day(2)}, at which the gateway did not see the export appear; ${until}`;

  it("that was not seen is a finding where another cluster exports the service, too", () => {
    expect(messageOf(because("unseen"))).toEqual([]);
    expect(messageOf(because("unseen"), importer("b"))).toEqual([]);
    expect(messageOf(because("unseen"), exporter("b", { exportedAt: day(1) }))).toEqual([unseen]);
  });

  it.each([
    ["between the claimed time and the one that counts", day(5), [unseen]],
    ["at the time that counts", day(9), [unseen]],
    ["at the claimed time", day(2), []],
    ["before the claimed time", day(1), []],
    ["after the time that counts", day(10), []],
  ])(
    "that only differs is a finding where it would overtake an export from %s",
    (_, exportedAt, messages) => {
      const others = [exporter("b", { exportedAt }), exporter("c", { exportedAt: day(20) })];
      expect(messageOf(because(undefined), ...others)).toEqual(messages);
    },
  );

  it("that counts is no finding", () => {
    expect(messageOf(exporter("a", { exportedAt: day(2) }), exporter("b", { exportedAt: day(1) }))).toEqual(
      [],
    );
  });
});

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

const contributing = (clusterId: string, parts: Partial<ExportedService>): Contribution => ({
  clusterId,
  exported: exported(parts),
  imported: undefined,
});

describe("a shard (federated service discovery, DNS Record Creation)", () => {
  it.each<[string, Partial<ExportedService>, Partial<ReturnType<typeof listShards>[number]>]>([
    ["nothing of a Service without addresses", {}, {}],
    ["cluster IPs", { clusterIPs: ["10.96.0.1", "fd00::1"] }, { clusterIPs: ["10.96.0.1", "fd00::1"] }],
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

  it("is there for each exporter that is not headless, in the order of exporters, and for no other cluster", () => {
    const importer: Contribution = { clusterId: "north", exported: undefined, imported: imported() };
    const world = [
      contributing("east", { clusterIPs: ["10.96.0.1"] }),
      importer,
      contributing("west", { clusterIPs: ["10.97.0.1"] }),
      contributing("south", { headless: true, clusterIPs: ["10.98.0.1"], externalIPs: ["192.0.2.9"] }),
    ];
    const shards = listShards(["west", "north", "missing", "south", "east"], world);
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
});
