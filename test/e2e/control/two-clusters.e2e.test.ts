import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { derivedServiceName } from "../../../src/worker/control/objects.ts";
import { conditionsOf } from "../../../src/worker/control/reconcile.ts";
import { exported, world } from "../commands/exported.ts";
import { answered, eventualAnswer, eventually } from "../harness/answers.ts";
import { runCli } from "../harness/cli.ts";
import { infraManifests, workerFolder } from "../harness/infra.ts";
import { syncArguments } from "../harness/processes.ts";
import { type SyncedClusters, startSyncedClusters } from "../harness/synced-clusters.ts";
import type { ApiServer } from "../servers/kubernetes/api-server.ts";
import { namespace, service, serviceExport, serviceImport } from "../servers/kubernetes/objects.ts";
import { createServiceAccount, type PolicyRule } from "../servers/kubernetes/service-account.ts";
import { waitFor } from "../servers/wait.ts";
import { expectOnlyOwnAndNeededWrites, writesTo } from "./audited.ts";
import { eventualEndpoints, lookAt, type Objects } from "./objects.ts";

const MARK = { "app.kubernetes.io/managed-by": "clusterset-doh" };
let clusters: SyncedClusters<"east" | "west">;
let east: ApiServer;
let west: ApiServer;
let inEast: Objects;
let inWest: Objects;

beforeAll(async () => {
  clusters = await startSyncedClusters(
    ["east", "west"],
    ({ east, west }) =>
      Promise.all([east.admin.apply(namespace("shop")), west.admin.apply(namespace("shop"))]),
    {
      control: true,
      args: () => ["--lease", "600"],
    },
  );
  ({ east, west } = clusters.servers);
  [inEast, inWest] = [lookAt(east, "shop"), lookAt(west, "shop")];
});

afterAll(() => clusters?.stop());

describe("a ClusterSetIP service that east exports", () => {
  const spec = {
    ipFamilyPolicy: "PreferDualStack",
    sessionAffinity: "ClientIP",
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
    ports: [
      { name: "tcp", port: 42, protocol: "TCP" },
      { name: "udp", port: 42, protocol: "UDP" },
    ],
  };

  beforeAll(async () => {
    await east.admin.apply(...exported("shop", "hello", { endpoints: ["10.1.0.1", "fd00:1::1"], spec }));
    const more = { exportedLabels: { tier: "1" }, exportedAnnotations: { note: "x" } };
    await east.admin.apply(serviceExport("shop", "hello", more));
  });

  test.each([["east"], ["west"]] as const)(
    "is imported in %s with what the Service and the export have",
    async (clusterId) => {
      const objects = lookAt(clusters.servers[clusterId], "shop");
      await eventually(() => objects.spec("hello")).toEqual({
        type: "ClusterSetIP",
        ports: spec.ports,
        ips: [expect.stringMatching(/^10\.96\./), expect.stringMatching(/^fd00:10:96:/)],
        ipFamilies: ["IPv4", "IPv6"],
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
        internalTrafficPolicy: "Cluster",
      });
      await eventually(async () => (await objects.import("hello"))?.metadata.labels).toEqual({
        tier: "1",
        ...MARK,
      });
      const held = (await objects.import("hello"))!;
      expect(held.metadata.annotations).toMatchObject({
        note: "x",
        "multicluster.kubernetes.io/derived-service": "clusterset-hello",
      });
      const derived = (await objects.derived("hello"))!.spec as { clusterIPs: string[]; selector?: object };
      expect(derived.clusterIPs).toEqual((held.spec as { ips: string[] }).ips);
      expect(derived.selector).toBeUndefined();
      await eventually(async () => (await objects.import("hello"))?.status).toMatchObject({
        clusters: [{ cluster: "east" }],
        endpointSliceObjects: "Present",
      });
      expect(conditionsOf((await objects.import("hello"))!)).toMatchObject([
        { type: "Ready", status: "True" },
      ]);
      await eventualEndpoints(objects, "hello").toEqual(["east 10.1.0.1", "east fd00:1::1"]);
      for (const { metadata } of await objects.slices("hello"))
        expect(metadata.labels).toMatchObject({
          "kubernetes.io/service-name": "clusterset-hello",
          "endpointslice.kubernetes.io/managed-by": "clusterset-doh",
        });
    },
  );

  test("the gateway answers west's clients with west's addresses: DNS and objects agree", async () => {
    const { ips } = (await inWest.spec("hello")) as { ips: string[] };
    await eventualAnswer(clusters.gateway, "hello.shop", "A", { view: "west" }).toEqual([ips[0]]);
    expect(await answered(clusters.gateway, "hello.shop", "AAAA", { view: "west" })).toEqual([ips[1]]);
  });

  test("its export is Valid and Ready, without conflict", async () => {
    await eventually(() => inEast.conditions("hello")).toEqual([
      "Conflict False NoConflicts",
      "Ready True Exported",
      "Valid True Valid",
    ]);
  });

  test("a namespace that is made later gets its objects then", async () => {
    await east.admin.apply(...world("late", { web: { endpoints: ["10.1.0.9"] } }));
    await eventualAnswer(clusters.gateway, "web.late").toEqual(["10.1.0.9"]);
    await west.admin.apply(namespace("late"));
    await eventualEndpoints(lookAt(west, "late"), "web").toEqual(["east 10.1.0.9"]);
  });

  test("west exports it, too: both are imported, the oldest export decides, and both exports have the conflict", async () => {
    const { metadata } = await east.admin.get(serviceExport("shop", "hello"));
    // Timestamps of the API have seconds.
    const later = Date.parse(metadata.creationTimestamp as string) + 1100;
    await waitFor("a later second", () => Date.now() >= later);
    await west.admin.apply(
      ...exported("shop", "hello", {
        endpoints: ["10.2.0.1"],
        spec: {
          ports: [
            { name: "tcp", port: 42, protocol: "TCP" },
            { name: "stcp", port: 142, protocol: "TCP" },
          ],
        },
      }),
    );
    await eventually(async () =>
      ((await inEast.spec("hello"))!.ports as { name: string }[]).map(({ name }) => name).sort(),
    ).toEqual(["stcp", "tcp", "udp"]);
    expect(await inEast.spec("hello")).toMatchObject({ sessionAffinity: "ClientIP" });
    await eventualEndpoints(inEast, "hello").toEqual(["east 10.1.0.1", "east fd00:1::1", "west 10.2.0.1"]);
    for (const objects of [inEast, inWest]) {
      await eventually(async () => (await objects.condition("hello", "Conflict"))?.status).toBe("True");
      const { reason, message } = (await objects.condition("hello", "Conflict"))!;
      expect(reason.split(",")).toEqual(expect.arrayContaining(["PortConflict", "SessionAffinityConflict"]));
      expect(message).toContain("east");
    }
  });
});

test("--control=plan prints what would change, with the rights of a reader, and writes nothing", async () => {
  for (const name of ["db", "after", "leaving"])
    await east.admin.apply(...exported("shop", name, { endpoints: ["10.1.0.31"] }));
  for (const name of ["db", "after", "leaving"])
    await eventualEndpoints(inWest, name).toEqual(["east 10.1.0.31"]);
  await clusters.workers.west.stop();
  await west.admin.remove(service("shop", derivedServiceName("after"), {}));
  await west.admin.apply(
    service("shop", derivedServiceName("blocked"), { ports: [{ name: "http", port: 80 }] }),
  );
  await west.admin.patch(serviceImport("shop", "db", {}), { spec: { ports: [] } });
  await east.admin.apply(...exported("shop", "blocked", { endpoints: ["10.1.0.5"] }));
  await east.admin.remove(serviceExport("shop", "leaving"));
  await eventualEndpoints(inEast, "blocked").toEqual(["east 10.1.0.5"]);
  await eventually(() => inEast.import("leaving")).toBeUndefined();
  const before = Date.now();
  const reading = ["namespaces", "nodes", "services", "endpointslices", "serviceexports", "serviceimports"];
  const { token } = await createServiceAccount(west.admin, "default", "reader", [
    {
      apiGroups: ["", "discovery.k8s.io", "multicluster.x-k8s.io"],
      resources: reading,
      verbs: ["list", "watch"],
    },
  ]);
  const { args } = clusters.workers.west.process.spec;
  const own = args[args.indexOf("--kubeconfig") + 1]!;
  const plan = (kubeconfig: string) =>
    runCli(
      syncArguments({
        kubeconfig,
        clusterId: "west",
        gateways: [clusters.gateway],
        args: ["--control=plan"],
      }),
    );
  const [finished, ofReader] = await Promise.all([plan(own), plan(west.kubeconfig(token))]);
  expect(finished.code, finished.stderr).toBe(0);
  const withoutTimes = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "");
  expect(withoutTimes(ofReader.stdout)).toBe(withoutTimes(finished.stdout));
  const printed = finished.stdout.split("\n");
  for (const line of [
    "+ Service shop/clusterset-after",
    "~ ServiceImport shop/db",
    "+ ServiceImport shop/blocked",
    "- ServiceImport shop/leaving",
    "! Service shop/clusterset-blocked was not made by clusterset-doh and would stay as it is",
  ])
    expect(printed).toContain(line);
  expect(printed.at(-2)).toMatch(/^\d+ to apply, \d+ to delete, 1 in the way; nothing was written$/);
  expect(writesTo(west, before)).toEqual([]);
  await clusters.workers.west.restart();
  await eventually(() => inWest.derived("after")).toBeDefined();
  await eventually(() => inWest.import("leaving")).toBeUndefined();
  await eventually(async () => (await plan(own)).stdout).toMatch(/^0 to apply, 0 to delete/m);
});

test("in all of this no worker wrote what is not the control plane's, and nothing that was so already", () => {
  for (const server of [east, west]) expectOnlyOwnAndNeededWrites(server);
});

test("in all of this the workers used each right to write", async () => {
  // An apply that makes an object needs the right to create it, too.
  const used = () =>
    [east, west]
      .flatMap((server) => server.writes())
      .flatMap(({ verb, resource, code }) => {
        if (code >= 300) return [];
        return verb === "patch" && code === 201
          ? [`patch ${resource}`, `create ${resource}`]
          : [`${verb} ${resource}`];
      });
  const roles = infraManifests(join(workerFolder, "components/control")).filter(
    ({ kind, metadata }) => kind.endsWith("Role") && metadata.name.endsWith("sync-worker-control"),
  );
  const granted = roles.flatMap(({ rules }) =>
    (rules as PolicyRule[]).flatMap(({ resources, verbs }) =>
      resources.flatMap((one) => verbs.filter((verb) => verb !== "get").map((verb) => `${verb} ${one}`)),
    ),
  );
  const ofOpenShift = "create endpointslices/restricted";
  await eventually(() => [...new Set([...used(), ofOpenShift])].sort()).toEqual(granted.sort());
});
