import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exported } from "../commands/exported.ts";
import { answered, eventually } from "../harness/answers.ts";
import { type SyncedClusters, startSyncedClusters } from "../harness/synced-clusters.ts";
import type { ApiServer } from "../servers/kubernetes/api-server.ts";
import { type KubeObject, namespace, service, serviceExport } from "../servers/kubernetes/objects.ts";
import { waitFor } from "../servers/wait.ts";
import { CONTROL, expectOnlyOwnAndNeededWrites } from "./audited.ts";
import { eventualEndpoints, lookAt, type Objects } from "./objects.ts";

let clusters: SyncedClusters<"east" | "west">;
let east: ApiServer;
let west: ApiServer;
let inEast: Objects;
let inWest: Objects;

/** Ports of a Service, each `<name> <port>`. */
const ports = (...texts: string[]) => ({
  ports: texts.map((text) => ({
    name: text.split(" ")[0]!,
    port: Number(text.split(" ")[1]),
    protocol: "TCP",
  })),
});
const affinity = (timeoutSeconds: number) => ({
  sessionAffinity: "ClientIP",
  sessionAffinityConfig: { clientIP: { timeoutSeconds } },
});

interface Side {
  readonly headless?: boolean;
  /** Of the Service. */
  readonly spec?: object;
  /** Of the ServiceExport. */
  readonly exports?: object;
}

interface Case {
  readonly name: string;
  /** The older export. */
  readonly east: Side;
  readonly west: Side;
  readonly reason: string;
  /** What the import's `spec` has in both clusters. */
  readonly spec?: object;
  /** What the import's labels and annotations have, and what they do not have. */
  readonly metadata?: object;
  readonly absent?: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: "type",
    east: { headless: true, spec: { ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4"] } },
    west: {},
    reason: "TypeConflict",
    spec: { type: "Headless", ips: [] },
  },
  {
    name: "further-ports",
    east: { spec: ports("http 80") },
    west: { spec: ports("http 80", "metrics 9090") },
    reason: "PortConflict",
    spec: ports("http 80", "metrics 9090"),
  },
  {
    name: "disjoint-ports",
    east: { spec: ports("http 80") },
    west: { spec: ports("other 81") },
    reason: "PortConflict",
    spec: ports("http 80", "other 81"),
  },
  {
    name: "port-numbers",
    east: { spec: ports("http 80") },
    west: { spec: ports("http 8000") },
    reason: "PortConflict",
    spec: ports("http 80"),
  },
  {
    name: "affinity",
    east: { spec: affinity(10) },
    west: {},
    reason: "SessionAffinityConflict",
    spec: affinity(10),
  },
  {
    name: "affinity-config",
    east: { spec: affinity(10) },
    west: { spec: affinity(20) },
    reason: "SessionAffinityConfigConflict",
    spec: affinity(10),
  },
  {
    name: "internal-policy",
    east: { spec: { internalTrafficPolicy: "Local" } },
    west: {},
    reason: "InternalTrafficPolicyConflict",
    spec: { internalTrafficPolicy: "Local" },
  },
  {
    name: "distribution",
    east: { spec: { trafficDistribution: "PreferSameZone" } },
    west: { spec: { trafficDistribution: "PreferSameNode" } },
    reason: "TrafficDistributionConflict",
    spec: { trafficDistribution: "PreferSameZone" },
  },
  {
    name: "labels",
    east: { exports: { exportedLabels: { of: "east" } } },
    west: { exports: { exportedLabels: { of: "west", more: "x" } } },
    reason: "LabelsConflict",
    metadata: { labels: { of: "east" } },
    absent: ["more"],
  },
  {
    name: "annotations",
    east: { exports: { exportedAnnotations: { of: "east" } } },
    west: { exports: { exportedAnnotations: { of: "west", more: "x" } } },
    reason: "AnnotationsConflict",
    metadata: { annotations: { of: "east" } },
    absent: ["more"],
  },
  {
    name: "families",
    east: { spec: { ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4"] } },
    west: { spec: { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv4", "IPv6"] } },
    reason: "IPFamilyConflict",
  },
];

/** Service, slices and export of one side; the Service has a label and an annotation that nobody exports. */
function sideOf(
  { name }: Case,
  { headless = false, spec = {}, exports = {} }: Side,
  address: string,
): KubeObject[] {
  const port = (spec as ReturnType<typeof ports>).ports?.[0];
  const [own, ...slices] = exported("shop", name, {
    ...{ headless, spec, endpoints: [address] },
    ...(port !== undefined && { port }),
  });
  const metadata = { ...own!.metadata, labels: { own: "x" }, annotations: { own: "x" } };
  return [{ ...own!, metadata }, ...slices.slice(0, -1), serviceExport("shop", name, exports)];
}

const createdAt = async (server: ApiServer, name: string) =>
  (await server.admin.get(serviceExport("shop", name))).metadata.creationTimestamp as string;

beforeAll(async () => {
  clusters = await startSyncedClusters(
    ["east", "west"],
    ({ east, west }) => Promise.all([east, west].map(({ admin }) => admin.apply(namespace("shop")))),
    { control: true, apiServer: { audited: CONTROL } },
  );
  ({ east, west } = clusters.servers);
  [inEast, inWest] = [lookAt(east, "shop"), lookAt(west, "shop")];
  for (const one of cases) await east.admin.apply(...sideOf(one, one.east, "10.1.0.1"));
  const newest = await createdAt(east, cases.at(-1)!.name);
  await waitFor("a later second", () => Date.now() >= Date.parse(newest) + 1100);
  for (const one of cases) await west.admin.apply(...sideOf(one, one.west, "10.2.0.1"));
});

afterAll(() => clusters?.stop());

describe.each(cases)(
  "exports that differ in $name",
  ({ name, reason, spec = {}, metadata = {}, absent = [] }) => {
    test(`have ${reason} in both clusters, with a message that names both, and stay valid and ready`, async () => {
      for (const objects of [inEast, inWest]) {
        await eventually(() => objects.conditions(name)).toEqual([
          `Conflict True ${reason}`,
          "Ready True Exported",
          "Valid True Valid",
        ]);
        const { message, lastTransitionTime } = (await objects.condition(name, "Conflict"))!;
        expect(message).toMatch(/oldest service export in "east"/);
        expect(message).toMatch(/1\/2 clusters disagree/);
        expect(message).toMatch(/Not as in "west"/);
        expect(Date.parse(lastTransitionTime!)).toBeGreaterThan(0);
      }
    });

    test("give both clusters one import, with what the older export says", async () => {
      for (const objects of [inEast, inWest]) {
        await eventually(() => objects.spec(name)).toMatchObject({ type: "ClusterSetIP", ...spec });
        const held = (await objects.import(name))!;
        expect(held.metadata).toMatchObject(metadata);
        for (const key of [...absent, "own"]) {
          expect(held.metadata.labels).not.toHaveProperty(key);
          expect(held.metadata.annotations).not.toHaveProperty(key);
        }
        await eventually(async () => (await objects.import(name))?.status).toMatchObject({
          clusters: [{ cluster: "east" }, { cluster: "west" }],
          conditions: [{ type: "Ready", status: "True" }],
        });
      }
    });
  },
);

test("a port that lost its number is left out of its cluster's slices", async () => {
  for (const objects of [inEast, inWest])
    await eventually(async () =>
      (await objects.slices("port-numbers"))
        .map(({ metadata, ports }) => [
          metadata.labels!["multicluster.kubernetes.io/source-cluster"],
          (ports as { name: string; port: number }[] | null)?.map((port) => `${port.name} ${port.port}`) ??
            [],
        ])
        .sort(),
    ).toEqual([
      ["east", ["http 80"]],
      ["west", []],
    ]);
});

test("a changed export has conditions of its new generation", async () => {
  await west.admin.apply(serviceExport("shop", "labels", { exportedLabels: { of: "east" } }));
  const { metadata } = await west.admin.get(serviceExport("shop", "labels"));
  expect(metadata.generation).toBe(2);
  await eventually(async () => (await inWest.condition("labels", "Conflict"))?.status).toBe("False");
  for (const type of ["Valid", "Ready", "Conflict"])
    expect((await inWest.condition("labels", type))?.observedGeneration).toBe(2);
  await eventually(() => inEast.conditions("labels")).toContain("Conflict False NoConflicts");
});

test("exports of one second are ordered alike in both clusters and in DNS, also after the gateway has started again", async () => {
  const make = ({ admin }: ApiServer, address: string, number: number) =>
    admin.apply(
      ...exported("shop", "tie", {
        endpoints: [address],
        port: { name: "http", port: number, targetPort: 8080 },
      }),
    );
  await waitFor("two exports of one second", async () => {
    for (const { admin } of [east, west]) await admin.remove(serviceExport("shop", "tie"));
    await Promise.all([make(west, "10.2.0.9", 82), make(east, "10.1.0.9", 81)]);
    return (await createdAt(east, "tie")) === (await createdAt(west, "tie"));
  });
  const wins = async (objects: Objects) =>
    ((await objects.spec("tie"))?.ports as { port: number }[] | undefined)?.map(({ port }) => port);
  const winner = async (objects: Objects) =>
    /service export in ("\w+")/.exec((await objects.condition("tie", "Conflict"))?.message ?? "")?.[1];
  await eventually(async () => [await winner(inEast), await winner(inWest)]).toEqual(['"east"', '"east"']);
  for (const objects of [inEast, inWest]) await eventually(() => wins(objects)).toEqual([81]);
  const srv = () => answered(clusters.gateway, "tie.shop", "SRV", { view: "west" });
  await eventually(srv).toEqual(["0 100 81 tie.shop.svc.clusterset.local"]);
  await clusters.gateway.restart();
  await eventually(srv).toEqual(["0 100 81 tie.shop.svc.clusterset.local"]);
  expect([await wins(inEast), await wins(inWest)]).toEqual([[81], [81]]);
});

describe("a Service that changes after its export", () => {
  const make = (options: Parameters<typeof exported>[2]) =>
    east.admin.apply(...exported("shop", "moves", options));
  const typeOf = async (objects: Objects) => (await objects.spec("moves"))?.type;

  test("its new ports and affinity reach the import and the derived Service", async () => {
    await make({ endpoints: ["10.1.0.20"], spec: ports("http 80") });
    await eventually(() => inWest.spec("moves")).toMatchObject(ports("http 80"));
    await make({ endpoints: ["10.1.0.20"], spec: { ...ports("http 8000", "grpc 9000"), ...affinity(30) } });
    for (const objects of [inEast, inWest]) {
      await eventually(() => objects.spec("moves")).toMatchObject({
        ...ports("http 8000", "grpc 9000"),
        ...affinity(30),
      });
      await eventually(async () => (await objects.derived("moves"))?.spec).toMatchObject({
        ...ports("http 8000", "grpc 9000"),
        ...affinity(30),
      });
    }
  });

  test("it becomes headless: import and slices follow, and the derived Service goes", async () => {
    await east.admin.remove(service("shop", "moves", {}));
    await make({ endpoints: [{ address: "10.1.0.20", hostname: "m-0" }], headless: true });
    for (const objects of [inEast, inWest]) {
      await eventually(() => typeOf(objects)).toBe("Headless");
      await eventually(() => objects.derived("moves")).toBeUndefined();
      await eventually(async () =>
        (await objects.slices("moves")).map(({ metadata }) => metadata.labels),
      ).toEqual([expect.not.objectContaining({ "kubernetes.io/service-name": expect.anything() })]);
      expect((await objects.spec("moves"))?.ips).toEqual([]);
      expect((await objects.import("moves"))!.metadata.annotations).not.toHaveProperty(
        "multicluster.kubernetes.io/derived-service",
      );
    }
    expect(await answered(clusters.gateway, "m-0.east.moves.shop")).toEqual(["10.1.0.20"]);
  });

  test("and gets a cluster IP again", async () => {
    await east.admin.remove(service("shop", "moves", {}));
    await make({ endpoints: ["10.1.0.21"] });
    for (const objects of [inEast, inWest]) {
      await eventually(() => typeOf(objects)).toBe("ClusterSetIP");
      await eventually(async () => (await objects.spec("moves"))?.ips).toHaveLength(2);
      await eventualEndpoints(objects, "moves").toEqual(["east 10.1.0.21"]);
    }
  });

  test("its last endpoint leaves: the import stays, with its addresses", async () => {
    const { ips } = (await inWest.spec("moves"))!;
    await make({ endpoints: [] });
    await eventualEndpoints(inWest, "moves").toEqual([]);
    expect((await inWest.spec("moves"))?.ips).toEqual(ips);
  });
});

test("by the audit logs no import was written with half of its addresses, or with another type than later", () => {
  for (const server of [east, west]) {
    const types = new Map<string, Set<unknown>>();
    for (const { resource, name, code, response } of server.writes()) {
      if (resource !== "serviceimports" || code >= 300 || response?.spec === undefined) continue;
      const {
        type,
        ips = [],
        ipFamilies = [],
      } = response.spec as {
        type: string;
        ips?: string[];
        ipFamilies?: string[];
      };
      if (ips.length > 0) expect(ipFamilies).toHaveLength(ips.length);
      if (!["moves", "tie"].includes(name)) types.set(name, (types.get(name) ?? new Set()).add(type));
    }
    expect([...types.values()].filter(({ size }) => size > 1)).toEqual([]);
    expect(types.size).toBe(cases.length);
  }
});

test("when all exports have left, nothing of the control plane is left in either cluster, and it wrote nothing but its own, and nothing twice", async () => {
  const names = [...cases.map(({ name }) => name), "tie", "moves"];
  for (const { admin } of [east, west])
    await admin.remove(...names.map((name) => serviceExport("shop", name)));
  for (const { admin } of [east, west]) {
    const marked = async (path: string) =>
      (
        await admin.api<{ items: object[] }>(
          "GET",
          `${path}?labelSelector=app.kubernetes.io/managed-by%3Dclusterset-doh`,
        )
      ).items.length;
    for (const path of [
      "/apis/multicluster.x-k8s.io/v1beta1/serviceimports",
      "/apis/discovery.k8s.io/v1/endpointslices",
      "/api/v1/services",
    ])
      await eventually(() => marked(path)).toBe(0);
  }
  for (const server of [east, west]) expectOnlyOwnAndNeededWrites(server);
});
