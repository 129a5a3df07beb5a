import { describe, expect, it } from "vitest";
import type { AdjustedTime, Contribution } from "../../../src/merge/service/declaration.ts";
import { declareExports, declareImports } from "../../../src/merge/service/declaration.ts";
import { mergeService } from "../../../src/merge/service/service.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import type { ImportedService } from "../../../src/snapshot/schema.ts";
import { day, exported, imported, port } from "../fixtures.ts";

const exporter = (clusterId: string, parts = {}, adjusted?: AdjustedTime): Contribution => ({
  ...{ clusterId, exported: exported(parts), imported: undefined, adjusted },
});
const importer = (clusterId: string, parts: Partial<ImportedService> = {}, importedSince?: number) => ({
  ...{ clusterId, exported: undefined, imported: imported(parts), importedSince },
});
const merge = (contributions: Contribution[], grants?: Parameters<typeof mergeService>[5]) =>
  drain(mergeService("shop", "web", contributions, [], ["ClusterSetIP", "LoadBalancer", "Endpoint"], grants));
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
      ...{
        clusterId: "a",
        reason: "UnknownImportType",
        kind: "ServiceImport",
        namespace: "shop",
        name: "web",
      },
      message: `has ${text}, which is neither ClusterSetIP nor Headless; it is taken for ClusterSetIP`,
    };
    expect(merge([untyped, exporter("b")]).findings).toEqual(text === undefined ? [] : [finding]);
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
