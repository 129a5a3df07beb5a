import { describe, expect, test } from "vitest";
import { PushRefused, type SnapshotBounds } from "../../src/gateway/limits.ts";
import type { PatchLine, SnapshotPatch } from "../../src/snapshot/lines/patch-line.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { endpoints, exported, imported, snapshot } from "../merge/fixtures.ts";
import { readLines } from "../snapshot/changes.ts";
import { openGateway, patchCluster, putSnapshot } from "./open-gateway.ts";

const http = { name: "http", protocol: "TCP", port: 80 };
const bare = exported();
const { exportedAt: createdAt, ...local } = exported({ ports: [http] });
const service = { createdAt, ...local };
const finding = { reason: "NoService", kind: "ServiceExport", name: "web", message: "there is no Service" };
const managed = imported({ managed: true, ips: ["10.96.0.7"] });

/** Endpoints at so many addresses, with one port each. */
const pods = (from: number, to: number) =>
  endpoints(
    ...Array.from({ length: to - from }, (_, index) => ({
      address: `10.9.${(from + index) >> 8}.${(from + index) & 255}`,
    })),
  );
const each = <Value>(value: Value, ...keys: string[]) => Object.fromEntries(keys.map((key) => [key, value]));
const many = <Value>(count: number, value: Value) =>
  each(value, ...Array.from({ length: count }, (_, index) => `a/n${index}`));
const west = (parts: object): ClusterSnapshot => ({
  ...snapshot("west", { namespaces: {}, topology: { region: "good" } }),
  ...parts,
});

type Case = [bound: keyof SnapshotBounds, code: string, within: SnapshotPatch, more: SnapshotPatch];
const KEYS = ["a/10.0.0.1", "a/10.0.0.2", "b/10.0.0.1"];
const VALUES = { exports: bare, imports: imported(), services: service, pods: {}, findings: finding };

/** What reaches a bound of 3 exactly, and what is one too many. */
const cases: Case[] = [
  ...Object.entries(VALUES).map(([table, value]): Case => {
    const within = { [table]: each(value, ...KEYS) };
    return [
      table as Case[0],
      `TOO_MANY_${table.toUpperCase()}`,
      within,
      { [table]: { "b/10.0.0.2": value } },
    ];
  }),
  // A name that every JavaScript object has.
  [
    "namespaces",
    "TOO_MANY_NAMESPACES",
    { namespaces: each({}, "a", "b", "c") },
    { namespaces: { constructor: {} } },
  ],
  [
    "endpoints",
    "TOO_MANY_ENDPOINTS",
    {
      exports: { "a/a": exported({ endpoints: pods(0, 2) }) },
      imports: { "a/b": imported({ endpoints: { east: pods(0, 1) } }) },
    },
    { services: { "a/c": { ...service, endpoints: pods(0, 1) } } },
  ],
  [
    "ports",
    "TOO_MANY_PORTS",
    // Those of the services, and one of each endpoint.
    {
      exports: { "a/a": exported({ ports: [http], endpoints: pods(0, 1) }) },
      services: { "a/b": service },
    },
    { imports: { "a/c": imported({ ports: [http] }) } },
  ],
  [
    "metadataCharacters",
    "METADATA_TOO_LARGE",
    {
      exports: {
        "a/a": exported({ exportedLabels: { k: "v" } }),
        "a/b": exported({ exportedAnnotations: { k: "" } }),
      },
    },
    { exports: { "a/c": exported({ exportedAnnotations: { k: "" } }) } },
  ],
];

test.each(cases)(
  "above limits.%s a delta is rejected with the setting's name, and so is a snapshot: the last good state stays",
  async (bound, code, within, more) => {
    const { gateway, served } = openGateway({ limits: { [bound]: 3 } });
    const refused = { code, message: expect.stringContaining(`the most is 3 (limits.${bound})`) };
    const first = await putSnapshot(gateway, west({}));
    const { generation } = await patchCluster(gateway, "west", first.generation, within);
    const bad = { topology: { region: "bad" } };
    const error = await patchCluster(gateway, "west", generation, { ...more, ...bad }).catch(
      (reason) => reason,
    );
    expect(error).toBeInstanceOf(PushRefused);
    expect(error).toMatchObject(refused);
    const [held, added] = [within, more] as Record<string, object>[];
    const both = Object.keys({ ...held, ...added }).map((table) => [
      table,
      { ...held![table], ...added![table] },
    ]);
    const large = west({ ...Object.fromEntries(both), ...bad });
    await expect(putSnapshot(gateway, large)).rejects.toMatchObject(refused);
    expect(served()).toBe("west:good");
    expect(gateway.totalsOf("west")![bound]).toBe(3);
    await gateway.renew("west", generation);
    await putSnapshot(gateway, west(within));
  },
);

describe("a push that names far more than a cluster may have", () => {
  test.each([
    ["exports", bare, 6],
    ["pods", {}, 6],
    ["imports", imported(), 50_006],
  ] as const)("is rejected while its lines come: %s, also where they go", (table, value, limit) => {
    const { gateway } = openGateway({ limits: { [table]: 3 } });
    for (const given of [value, null]) {
      const stage = gateway.stage("west", "whole");
      const named = Object.keys(many(limit + 1, given));
      const lines = readLines(named.map((name) => [table, name, given] as PatchLine));
      for (const line of lines.slice(0, limit)) stage.apply(line);
      const code = `TOO_MANY_${table.toUpperCase()}`;
      expect(() => stage.apply(lines[limit]!)).toThrow(expect.objectContaining({ code }));
    }
  });

  test("may replace all that a cluster may have", async () => {
    const { gateway } = openGateway({ limits: { exports: 3 } });
    const { generation } = await putSnapshot(gateway, west({ exports: each(bare, "a/a", "a/b", "a/c") }));
    const replaced = { ...each(null, "a/a", "a/b", "a/c"), ...each(bare, "a/d", "a/e", "a/f") };
    await patchCluster(gateway, "west", generation, { exports: replaced });
    expect(gateway.totalsOf("west")!.exports).toBe(3);
  });
});

test("imports that the cluster's own worker made do not count as limits.imports, in snapshots and in deltas", async () => {
  const inA = { namespaces: ["a"] };
  const { gateway, served } = openGateway({ limits: { imports: 2 }, scopes: [inA] });
  const theirs = each(imported(), "a/b", "a/c");
  const pushed = (imports: object) => west({ namespaces: { a: {} }, imports });
  const { generation } = await putSnapshot(gateway, pushed({ ...theirs, ...many(3, managed) }));
  const more = { imports: { ...many(9, managed), "a/n0": null } };
  await patchCluster(gateway, "west", generation, more);
  expect(gateway.totalsOf("west")!.imports).toBe(2);
  await putSnapshot(gateway, pushed({ ...many(4, managed), ...theirs }));
  expect(gateway.totalsOf("west")!.imports).toBe(2);
  await gateway.within(inA).survey();
  for (const scope of [gateway.everything, gateway.within(inA)])
    expect(scope.status().clusters).toMatchObject([{ imports: 2 }]);
  const third = pushed({ ...theirs, "a/d": imported() });
  await expect(putSnapshot(gateway, third)).rejects.toMatchObject({ code: "TOO_MANY_IMPORTS" });
  expect(served()).toBe("west:good");
});

test("deltas may not grow a snapshot above limits.snapshotCharacters, by imports that the worker made neither", async () => {
  const { gateway } = openGateway({ limits: { snapshotCharacters: 1000 } });
  let { generation } = await putSnapshot(gateway, west({ imports: many(3, managed) }));
  const patch = async (change: SnapshotPatch) => {
    ({ generation } = await patchCluster(gateway, "west", generation, change));
  };
  // Changing the same field again and again is fine: only what the snapshot holds counts.
  for (let round = 0; round < 50; round++) await patch({ topology: { region: `region-${round}` } });
  const tooLarge = { code: "SNAPSHOT_TOO_LARGE" };
  await expect(patch({ imports: many(20, managed) })).rejects.toMatchObject(tooLarge);
  const grow = async () => {
    for (let round = 0; round < 100; round++) await patch({ namespaces: { [`namespace-${round}`]: {} } });
  };
  await expect(grow()).rejects.toMatchObject(tooLarge);
  await patch({ topology: null });
});

describe("a service with more endpoints than limits.endpointsPerService", () => {
  const MOST = 2500;
  const limits = { endpointsPerService: MOST };
  const withEndpoints = (count: number) =>
    west({ exports: { "a/a": bare, "a/web": exported({ endpoints: pods(0, count) }) } });
  const tooLarge = {
    code: "SERVICE_TOO_LARGE",
    message: `the export "a/web" has ${MOST + 1} endpoints; the most is ${MOST} (limits.endpointsPerService): split it into several services, or raise the limit`,
  };

  test("is rejected in a snapshot, also as an import, and in the delta by which it grows above the limit, however small", async () => {
    const { gateway, served } = openGateway({ limits });
    let { generation } = await putSnapshot(gateway, withEndpoints(1));
    const large = { ...withEndpoints(MOST + 1), topology: { region: "bad" } };
    await expect(putSnapshot(gateway, large)).rejects.toMatchObject(tooLarge);
    const shared = imported({ endpoints: { east: pods(0, MOST), north: pods(MOST, MOST + 1) } });
    await expect(putSnapshot(gateway, west({ imports: { "a/web": shared } }))).rejects.toMatchObject({
      code: "SERVICE_TOO_LARGE",
      message: expect.stringContaining(`the import "a/web" has ${MOST + 1} endpoints`),
    });
    const patch = async (change: object) => {
      const exports = { "a/web": { endpoints: change } } as SnapshotPatch["exports"];
      ({ generation } = await patchCluster(gateway, "west", generation, { exports }));
    };
    for (let count = 1; count < MOST; count = Math.min(MOST, count + 700))
      await patch(pods(count, Math.min(MOST, count + 700)));
    await expect(patch(pods(MOST, MOST + 1))).rejects.toMatchObject(tooLarge);
    expect(gateway.totalsOf("west")!.endpoints).toBe(MOST);
    // An endpoint that changes is none more.
    await patch(pods(MOST - 1, MOST));
    await patch({ "http/TCP/8080": { members: { "10.9.0.0#": null } } });
    await patch(pods(MOST, MOST + 1));
    expect(gateway.totalsOf("west")!.endpoints).toBe(MOST);
    expect(served()).toBe("west:good");
  });
});

describe("what is kept together", () => {
  /** Pods at one IPv6 address, each with another spelling of it. */
  const spellings = (count: number) =>
    each(
      {},
      ...Array.from({ length: count }, (_, at) => {
        const groups = [0, 2, 4, 6, 8, 10, 12, 14].map((bit) => "1".padStart(1 + ((at >> bit) & 3), "0"));
        return `shop/${groups.join(":")}`;
      }),
    );
  const ofOneObject = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [
        `Service/shop/web/R${at}`,
        { ...finding, kind: "Service", namespace: "shop", reason: `R${at}` },
      ]),
    );

  test.each([
    ["4096 pods with one address", "TOO_MANY_PODS", { pods: spellings(4096) }, { pods: spellings(4097) }],
    [
      "1024 findings of one object",
      "TOO_MANY_FINDINGS",
      { findings: ofOneObject(1024) },
      { findings: ofOneObject(1025) },
    ],
  ])("is rejected above %s, whole or as changes", async (_, code, most, more) => {
    const { gateway } = openGateway();
    await expect(putSnapshot(gateway, west(more))).rejects.toMatchObject({ code });
    const { generation } = await putSnapshot(gateway, west(most));
    const patched = patchCluster(gateway, "west", generation, more as SnapshotPatch);
    await expect(patched).rejects.toMatchObject({ code });
    await patchCluster(gateway, "west", generation, most as SnapshotPatch);
  });

  test("may be more where a cluster may have more pods", async () => {
    const { gateway } = openGateway({ limits: { pods: 400_000 } });
    await putSnapshot(gateway, west({ pods: spellings(4097) }));
  });
});
