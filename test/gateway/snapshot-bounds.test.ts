import { describe, expect, test } from "vitest";
import { PushRefused, type SnapshotBounds } from "../../src/gateway/limits.ts";
import type { PatchLine, SnapshotPatch } from "../../src/snapshot/lines/patch-line.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { readLines } from "../snapshot/changes.ts";
import { emptySnapshot, headlessExport } from "../snapshot/worlds.ts";
import { openGateway, patchCluster, putSnapshot } from "./open-gateway.ts";

const http = { name: "http", protocol: "TCP", port: 80 };
const imported = (addresses: readonly string[]) => ({
  ips: [],
  ports: [],
  endpoints: {
    east: {
      "*": { ports: [], members: Object.fromEntries(addresses.map((address) => [address, { address }])) },
    },
  },
});
const service = {
  createdAt: "2024-01-01T00:00:00Z",
  serviceType: "ClusterIP",
  headless: false,
  ports: [http],
  endpoints: {},
} as const;
const finding = { reason: "NoService", kind: "ServiceExport", name: "web", message: "there is no Service" };
const bare = { ...headlessExport(0), ports: [], endpoints: {} };

/** What reaches a bound of 3 exactly, and what is one too many: each twice 1, and 1 more. */
const cases: [keyof SnapshotBounds, string, SnapshotPatch, SnapshotPatch][] = [
  ["namespaces", "TOO_MANY_NAMESPACES", { namespaces: { a: {}, b: {}, c: {} } }, { namespaces: { d: {} } }],
  // A name that every JavaScript object has.
  [
    "namespaces",
    "TOO_MANY_NAMESPACES",
    { namespaces: { a: {}, b: {}, c: {} } },
    { namespaces: { constructor: {} } },
  ],
  [
    "exports",
    "TOO_MANY_EXPORTS",
    { exports: { "a/a": bare, "a/b": bare, "a/c": bare } },
    { exports: { "a/d": bare } },
  ],
  [
    "imports",
    "TOO_MANY_IMPORTS",
    { imports: { "a/a": imported([]), "a/b": imported([]), "a/c": imported([]) } },
    { imports: { "a/d": imported([]) } },
  ],
  [
    "services",
    "TOO_MANY_SERVICES",
    { services: { "a/a": service, "a/b": service, "a/c": service } },
    { services: { "a/d": service } },
  ],
  [
    "pods",
    "TOO_MANY_PODS",
    { pods: { "a/10.0.0.1": {}, "a/10.0.0.2": {}, "b/10.0.0.1": {} } },
    { pods: { "b/10.0.0.2": {} } },
  ],
  [
    "endpoints",
    "TOO_MANY_ENDPOINTS",
    { exports: { "a/a": headlessExport(2) }, imports: { "a/b": imported(["10.9.0.1"]) } },
    { services: { "a/c": { ...service, ports: [], endpoints: headlessExport(1).endpoints } } },
  ],
  [
    "ports",
    "TOO_MANY_PORTS",
    // One of the service, one of each endpoint.
    { exports: { "a/a": headlessExport(1) }, services: { "a/b": service } },
    { imports: { "a/c": { ...imported([]), ports: [http] } } },
  ],
  [
    "findings",
    "TOO_MANY_FINDINGS",
    { findings: { a: finding, b: finding, c: finding } },
    { findings: { d: finding } },
  ],
  [
    "metadataCharacters",
    "METADATA_TOO_LARGE",
    {
      exports: {
        "a/a": { ...bare, exportedLabels: { k: "v" } },
        "a/b": { ...bare, exportedAnnotations: { k: "" } },
      },
    },
    { exports: { "a/c": { ...bare, exportedAnnotations: { k: "" } } } },
  ],
];

describe.each(cases)("above limits.%s", (bound, code, within, more) => {
  const limits = { [bound]: 3 };
  const base = { ...emptySnapshot("west"), topology: { region: "good" } };
  const refused = { code, message: expect.stringContaining(`the most is 3 (limits.${bound})`) };

  test("a delta is rejected with the setting's name, and the last good state stays", async () => {
    const { gateway, served } = openGateway({ limits });
    const first = await putSnapshot(gateway, base);
    const { generation } = await patchCluster(gateway, "west", first.generation, within);
    const bad = { ...more, topology: { region: "bad" } };
    const error = await patchCluster(gateway, "west", generation, bad).catch((reason) => reason);
    expect(error).toBeInstanceOf(PushRefused);
    expect(error).toMatchObject(refused);
    expect(served()).toBe("west:good");
    expect(gateway.everything.status().clusters[0]!.generation).toBe(generation);
    expect(gateway.totalsOf("west")![bound]).toBe(3);
    await gateway.renew("west", generation);
  });

  test("a snapshot is rejected with the setting's name, and the last good state stays", async () => {
    const { gateway, served } = openGateway({ limits });
    const tables = Object.keys({ ...within, ...more }) as (keyof ClusterSnapshot)[];
    const merged = tables.map((table) => [table, { ...(within[table] ?? {}), ...(more[table] ?? {}) }]);
    const large = { ...base, ...Object.fromEntries(merged), topology: { region: "bad" } };
    const { generation } = await putSnapshot(gateway, { ...base, ...within } as ClusterSnapshot);
    await expect(putSnapshot(gateway, large)).rejects.toMatchObject(refused);
    expect(served()).toBe("west:good");
    expect(gateway.everything.status().clusters[0]!.generation).toBe(generation);
  });
});

describe("a push that names far more than a cluster may have", () => {
  test.each([
    ["exports", bare],
    ["services", service],
    ["pods", {}],
    ["findings", finding],
    ["imports", imported([])],
  ] as const)("is rejected while its lines come: %s, also where they go", (table, value) => {
    const { gateway } = openGateway({ limits: { [table]: 3 } });
    const limit = table === "imports" ? 50_006 : 6;
    for (const given of [value, null]) {
      const stage = gateway.stage("west", "whole");
      const lines = readLines(
        Array.from({ length: limit + 1 }, (_, index) => [table, `a/${index}`, given] as PatchLine),
      );
      for (const line of lines.slice(0, limit)) stage.apply(line);
      const code = `TOO_MANY_${table.toUpperCase()}`;
      expect(() => stage.apply(lines[limit]!)).toThrow(expect.objectContaining({ code }));
    }
  });

  test("may replace all that a cluster may have", async () => {
    const { gateway } = openGateway({ limits: { exports: 3 } });
    const exports = (...names: string[]) => Object.fromEntries(names.map((name) => [`a/${name}`, bare]));
    const { generation } = await putSnapshot(gateway, {
      ...emptySnapshot("west"),
      exports: exports("a", "b", "c"),
    });
    const gone = { "a/a": null, "a/b": null, "a/c": null };
    await patchCluster(gateway, "west", generation, { exports: { ...gone, ...exports("d", "e", "f") } });
    expect(gateway.totalsOf("west")!.exports).toBe(3);
  });
});

describe("imports that the cluster's own worker made, one for each service that other clusters export", () => {
  const managed = { managed: true as const, ips: ["10.96.0.7"], ports: [], endpoints: {} };
  const made = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`a/made-${index}`, managed]));
  const theirs = { "a/b": imported([]), "a/c": imported([]) };

  test("do not count as limits.imports, in snapshots and in deltas", async () => {
    const inA = { namespaces: ["a"] };
    const { gateway, served } = openGateway({ limits: { imports: 2 }, scopes: [inA] });
    const base = { ...emptySnapshot("west"), namespaces: { a: {} }, topology: { region: "good" } };
    const { generation } = await putSnapshot(gateway, { ...base, imports: { ...theirs, ...made(3) } });
    const more = { imports: { ...made(9), "a/made-0": null } };
    await patchCluster(gateway, "west", generation, more);
    expect(gateway.totalsOf("west")!.imports).toBe(2);
    await putSnapshot(gateway, { ...base, imports: { ...made(4), ...theirs } });
    expect(gateway.totalsOf("west")!.imports).toBe(2);
    await gateway.within(inA).survey();
    for (const scope of [gateway.everything, gateway.within(inA)])
      expect(scope.status().clusters).toMatchObject([{ imports: 2 }]);
    const third = { ...base, imports: { ...theirs, "a/d": imported([]) } };
    await expect(putSnapshot(gateway, third)).rejects.toMatchObject({ code: "TOO_MANY_IMPORTS" });
    expect(served()).toBe("west:good");
  });

  test("count as limits.snapshotCharacters, so that there is a bound", async () => {
    const { gateway } = openGateway({ limits: { snapshotCharacters: 1000 } });
    const { generation } = await putSnapshot(gateway, { ...emptySnapshot("west"), imports: made(3) });
    const more = patchCluster(gateway, "west", generation, { imports: made(20) });
    await expect(more).rejects.toMatchObject({ code: "SNAPSHOT_TOO_LARGE" });
  });
});

describe("a service with more endpoints than limits.endpointsPerService", () => {
  const MOST = 2500;
  const limits = { endpointsPerService: MOST };
  const members = (from: number, to: number) =>
    Object.fromEntries(
      Array.from({ length: to - from }, (_, index) => {
        const address = `10.9.${(from + index) >> 8}.${(from + index) & 255}`;
        return [address, { address }];
      }),
    );
  const groups = (from: number, to: number) => ({ "*": { ports: [], members: members(from, to) } });
  const withEndpoints = (count: number): ClusterSnapshot => ({
    ...emptySnapshot("west"),
    topology: { region: "good" },
    exports: { "a/a": bare, "a/web": { ...bare, endpoints: groups(0, count) } },
  });
  const tooLarge = {
    code: "SERVICE_TOO_LARGE",
    message: `the export "a/web" has ${MOST + 1} endpoints; the most is ${MOST} (limits.endpointsPerService): split it into several services, or raise the limit`,
  };

  test("is rejected in a snapshot, and the last good state stays", async () => {
    const { gateway, served } = openGateway({ limits });
    await putSnapshot(gateway, { ...emptySnapshot("east"), topology: { region: "other" } });
    await putSnapshot(gateway, withEndpoints(MOST));
    const large = { ...withEndpoints(MOST + 1), topology: { region: "bad" } };
    await expect(putSnapshot(gateway, large)).rejects.toMatchObject(tooLarge);
    expect(served()).toBe("east:other west:good");
    expect(gateway.totalsOf("west")!.endpoints).toBe(MOST);
  });

  test("is rejected in the delta by which it grows above the limit, however small", async () => {
    const { gateway, served } = openGateway({ limits });
    let { generation } = await putSnapshot(gateway, withEndpoints(1));
    const grow = (from: number, to: number) =>
      patchCluster(gateway, "west", generation, {
        exports: { "a/web": { endpoints: groups(from, to) } },
      } as SnapshotPatch);
    for (let count = 1; count < MOST; count = Math.min(MOST, count + 700))
      ({ generation } = await grow(count, Math.min(MOST, count + 700)));
    await expect(grow(MOST, MOST + 1)).rejects.toMatchObject(tooLarge);
    expect(gateway.totalsOf("west")!.endpoints).toBe(MOST);
    // An endpoint that changes is none more.
    ({ generation } = await grow(MOST - 1, MOST));
    const removed = { "*": { members: { "10.9.0.0": null } } };
    const less = { exports: { "a/web": { endpoints: removed } } } as unknown as SnapshotPatch;
    ({ generation } = await patchCluster(gateway, "west", generation, less));
    await grow(MOST, MOST + 1);
    expect(gateway.totalsOf("west")!.endpoints).toBe(MOST);
    expect(served()).toBe("west:good");
  });

  test("is rejected as an import with the endpoints of several clusters", async () => {
    const { gateway } = openGateway({ limits });
    const endpoints = { east: groups(0, MOST), north: groups(MOST, MOST + 1) };
    const imports = { "a/web": { ...imported([]), endpoints } };
    await expect(putSnapshot(gateway, { ...emptySnapshot("west"), imports })).rejects.toMatchObject({
      code: "SERVICE_TOO_LARGE",
      message: expect.stringContaining(`the import "a/web" has ${MOST + 1} endpoints`),
    });
  });
});

describe("what is kept together", () => {
  /** Ways to write one IPv6 address. */
  const spellings = (count: number) =>
    Array.from({ length: count }, (_, at) =>
      [0, 2, 4, 6, 8, 10, 12, 14].map((bit) => "1".padStart(1 + ((at >> bit) & 3), "0")).join(":"),
    );
  const pods = (count: number) => Object.fromEntries(spellings(count).map((one) => [`shop/${one}`, {}]));
  const findings = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [
        `Service/shop/web/R${at}`,
        { ...finding, kind: "Service", namespace: "shop", reason: `R${at}` },
      ]),
    );

  test.each([
    ["4096 pods with one address", "TOO_MANY_PODS", { pods: pods(4096) }, { pods: pods(4097) }],
    [
      "1024 findings of one object",
      "TOO_MANY_FINDINGS",
      { findings: findings(1024) },
      { findings: findings(1025) },
    ],
  ])("is rejected above %s, whole or as changes", async (_, code, most, more) => {
    const { gateway } = openGateway();
    const west = emptySnapshot("west");
    await expect(putSnapshot(gateway, { ...west, ...more } as ClusterSnapshot)).rejects.toMatchObject({
      code,
    });
    const { generation } = await putSnapshot(gateway, { ...west, ...most } as ClusterSnapshot);
    await expect(patchCluster(gateway, "west", generation, more as SnapshotPatch)).rejects.toMatchObject({
      code,
    });
    await patchCluster(gateway, "west", generation, most as SnapshotPatch);
  });

  test("may be more where a cluster may have more pods", async () => {
    const { gateway } = openGateway({ limits: { pods: 400_000 } });
    await putSnapshot(gateway, { ...emptySnapshot("west"), pods: pods(4097) });
  });
});
