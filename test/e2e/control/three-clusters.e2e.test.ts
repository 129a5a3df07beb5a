import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { derivedServiceName } from "../../../src/control/objects/names.ts";
import { exported, slices, world } from "../commands/exported.ts";
import { eventualAnswer, eventually } from "../harness/answers.ts";
import { runCli } from "../harness/cli.ts";
import { syncArguments } from "../harness/processes.ts";
import { type SyncedClusters, startSyncedClusters } from "../harness/synced-clusters.ts";
import {
  endpointSlice,
  namespace,
  service,
  serviceExport,
  serviceImport,
} from "../servers/kubernetes/objects.ts";
import { createServiceAccount } from "../servers/kubernetes/service-account.ts";
import { waitFor } from "../servers/wait.ts";
import { CONTROL, countWrites, expectOnlyOwnAndNeededWrites, writesTo } from "./audited.ts";
import { eventualEndpoints, lookAt, type Objects } from "./objects.ts";

const IDS = ["north", "east", "south"] as const;
type Id = (typeof IDS)[number];
let clusters: SyncedClusters<Id>;
let objects: Record<Id, Objects>;
const admin = (id: Id) => clusters.servers[id].admin;

beforeAll(async () => {
  clusters = await startSyncedClusters(
    IDS,
    (servers) =>
      Promise.all(IDS.map((id) => servers[id].admin.apply(namespace("shop"), namespace("ending")))),
    { control: true, apiServer: { audited: CONTROL } },
  );
  objects = Object.fromEntries(IDS.map((id) => [id, lookAt(clusters.servers[id], "shop")])) as Record<
    Id,
    Objects
  >;
});

afterAll(() => clusters?.stop());

const port = (number: number) => ({ name: "http", port: number, targetPort: 8080 });

async function inTheNextSecond(): Promise<void> {
  const since = Date.now();
  await waitFor("the next second", () => Date.now() >= since + 1100);
}

/** What each cluster was asked to write by `act`, until all of them have `shop/<marker>`, which is exported after it. */
async function writesDuring(marker: string, act: () => Promise<unknown>): Promise<Record<Id, string[]>> {
  const before = IDS.map((id) => countWrites(clusters.servers[id]));
  await act();
  await admin("north").apply(...exported("shop", marker, { endpoints: ["10.1.9.9"] }));
  for (const id of IDS) await eventualEndpoints(objects[id], marker).toEqual(["north 10.1.9.9"]);
  const isOthers = (write: string) => !write.includes(marker);
  return Object.fromEntries(
    IDS.map((id, index) => [id, writesTo(clusters.servers[id], before[index]).filter(isOthers)]),
  ) as Record<Id, string[]>;
}

function loseState(): void {
  const { stateDir } = clusters.gateway;
  for (const entry of readdirSync(stateDir))
    if (entry !== "tls") rmSync(join(stateDir, entry), { recursive: true });
}

describe("a service of three clusters", () => {
  beforeAll(async () => {
    for (const [index, id] of IDS.entries()) {
      await admin(id).apply(
        ...exported("shop", "web", { endpoints: [`10.${index + 1}.0.1`], port: port(80 + index) }),
      );
      await inTheNextSecond();
    }
  });

  test("has the endpoints of all of them in each of them, and the oldest export decides against two others", async () => {
    for (const id of IDS) {
      await eventually(async () => (await objects[id].import("web"))?.status).toMatchObject({
        clusters: [{ cluster: "north" }, { cluster: "east" }, { cluster: "south" }],
      });
      expect((await objects[id].spec("web"))?.ports).toMatchObject([{ name: "http", port: 80 }]);
      await eventually(async () => (await objects[id].condition("web", "Conflict"))?.message).toMatch(
        /oldest service export in "north"\. 2\/3 clusters disagree\. Not as in "east", "south"\./,
      );
      // The others' port of that name leads elsewhere.
      await eventually(async () =>
        (await objects[id].slices("web"))
          .map(({ metadata, ports }) => [
            metadata.labels!["multicluster.kubernetes.io/source-cluster"],
            (ports as object[] | null)?.length ?? 0,
          ])
          .sort(),
      ).toEqual([
        ["east", 0],
        ["north", 1],
        ["south", 0],
      ]);
    }
  });

  test("goes on without a gap when the oldest export leaves: the next one decides, with one conflict left", async () => {
    const uids = await Promise.all(IDS.map(async (id) => (await objects[id].import("web"))!.metadata.uid));
    await admin("north").remove(serviceExport("shop", "web"));
    for (const [index, id] of IDS.entries()) {
      await eventualEndpoints(objects[id], "web").toEqual(["east 10.2.0.1", "south 10.3.0.1"]);
      await eventually(async () => (await objects[id].spec("web"))?.ports).toMatchObject([{ port: 81 }]);
      expect((await objects[id].import("web"))!.metadata.uid).toBe(uids[index]);
    }
    await eventually(async () => (await objects.south.condition("web", "Conflict"))?.message).toMatch(
      /oldest service export in "east"\. 1\/2 clusters disagree\. Not as in "south"\./,
    );
  });

  test("has no conflict any more when the exports agree, and the import is what it was", async () => {
    const { uid } = (await objects.north.import("web"))!.metadata;
    await admin("south").apply(...exported("shop", "web", { endpoints: ["10.3.0.1"], port: port(81) }));
    for (const id of ["east", "south"] as const)
      await eventually(() => objects[id].conditions("web")).toContain("Conflict False NoConflicts");
    expect((await objects.north.import("web"))!.metadata.uid).toBe(uid);
    for (const id of IDS)
      await eventually(async () =>
        (await objects[id].slices("web")).map(({ ports }) => (ports as object[]).length),
      ).toEqual([1, 1]);
  });
});

describe("by the audit logs", () => {
  test("one changed endpoint is one written slice in each cluster", async () => {
    const { north, east, south } = await writesDuring("mark-1", async () => {
      await admin("east").apply(...slices("shop", "web", { endpoints: ["10.2.0.2"], port: port(81) }));
      await eventualEndpoints(objects.north, "web").toEqual(["east 10.2.0.2", "south 10.3.0.1"]);
    });
    const slice = [expect.stringMatching(/^patch endpointslices shop\/web-/)];
    expect({ north, east, south }).toEqual({ north: slice, east: slice, south: slice });
  });

  test("workers that start again, by SIGKILL and by SIGTERM, write nothing", async () => {
    const written = await writesDuring("mark-2", async () => {
      await clusters.workers.north.kill();
      await Promise.all(IDS.map((id) => clusters.workers[id].restart()));
    });
    expect(written).toEqual({ north: [], east: [], south: [] });
  });

  test.each([
    ["its state", "mark-3", () => undefined],
    ["nothing but its certificate", "mark-6", loseState],
  ])("a gateway that is killed and starts again with %s has nothing written", async (_, marker, lose) => {
    const written = await writesDuring(marker, async () => {
      await clusters.gateway.kill();
      lose();
      await clusters.gateway.restart();
    });
    expect(written).toEqual({ north: [], east: [], south: [] });
  });

  test("an API server that starts again has nothing written", async () => {
    const written = await writesDuring("mark-4", () => clusters.servers.south.restart());
    expect(written).toEqual({ north: [], east: [], south: [] });
  });
});

test("--control=plan prints what would change, with the rights of a reader, and writes nothing", async () => {
  const { south } = clusters.servers;
  await clusters.workers.south.stop();
  await south.admin.remove(service("shop", derivedServiceName("web"), {}));
  await south.admin.apply(service("shop", derivedServiceName("blocked"), { ports: [port(80)] }));
  await south.admin.patch(serviceImport("shop", "mark-1", {}), { spec: { ports: [] } });
  await admin("north").apply(...exported("shop", "blocked", { endpoints: ["10.1.0.5"] }));
  await admin("north").remove(serviceExport("shop", "mark-2"));
  for (const id of ["north", "east"] as const) {
    await eventualEndpoints(objects[id], "blocked").toEqual(["north 10.1.0.5"]);
    await eventually(() => objects[id].import("mark-2")).toBeUndefined();
  }
  const before = countWrites(south);
  const reading = ["namespaces", "nodes", "services", "endpointslices", "serviceexports", "serviceimports"];
  const { token } = await createServiceAccount(south.admin, "default", "reader", [
    {
      apiGroups: ["", "discovery.k8s.io", "multicluster.x-k8s.io"],
      resources: reading,
      verbs: ["list", "watch"],
    },
  ]);
  const gateways = [clusters.gateway];
  const plan = (kubeconfig: string) =>
    runCli(syncArguments({ kubeconfig, clusterId: "south", gateways, args: ["--control=plan"] }));
  const worker = clusters.workers.south.process.spec.args;
  const own = worker[worker.indexOf("--kubeconfig") + 1]!;
  const [finished, ofReader] = [await plan(own), await plan(south.kubeconfig(token))];
  expect(finished.code, finished.stderr).toBe(0);
  const withoutTimes = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "");
  expect(withoutTimes(ofReader.stdout)).toBe(withoutTimes(finished.stdout));
  const printed = finished.stdout.split("\n");
  expect(printed).toContain("+ Service shop/clusterset-web");
  expect(printed).toContain("~ ServiceImport shop/mark-1");
  expect(printed).toContain("+ ServiceImport shop/blocked");
  expect(printed).toContain("- ServiceImport shop/mark-2");
  expect(printed).toContain(
    "! Service shop/clusterset-blocked was not made by clusterset-doh and would stay as it is",
  );
  const others = printed.filter((line) => /^[+~-] /.test(line) && !/web|mark-[12]|blocked/.test(line));
  expect(others).toEqual([]);
  expect(printed.at(-2)).toMatch(/^\d+ to apply, \d+ to delete, 1 in the way; nothing was written$/);
  expect(countWrites(south)).toBe(before);
  await clusters.workers.south.restart();
  await eventually(() => objects.south.derived("web")).toBeDefined();
  await eventually(() => objects.south.import("mark-2")).toBeUndefined();
  expect((await plan(own)).stdout).toMatch(/^0 to apply, 0 to delete/m);
});

describe("objects of somebody else with names that the control plane needs", () => {
  test("a Service of that name stays as it is; the import says that it waits; ours is made once it has gone", async () => {
    const theirs = service("shop", derivedServiceName("taken"), {
      ports: [port(80)],
      selector: { app: "x" },
    });
    await admin("south").apply(theirs);
    const { metadata } = await admin("south").get(theirs);
    await admin("north").apply(...exported("shop", "taken", { endpoints: ["10.1.0.6"] }));
    await eventualEndpoints(objects.east, "taken").toEqual(["north 10.1.0.6"]);
    await eventually(() => objects.south.import("taken")).toBeDefined();
    await waitFor("an Event", async () => {
      const path = "/apis/events.k8s.io/v1/namespaces/shop/events";
      const { items } = await admin("south").api<{
        items: { reason: string; regarding: { name: string } }[];
      }>("GET", path);
      return items.some(
        ({ reason, regarding }) => reason === "NotManaged" && regarding.name === derivedServiceName("taken"),
      );
    });
    expect((await admin("south").get(theirs)).metadata.resourceVersion).toBe(metadata.resourceVersion);
    expect((await objects.south.spec("taken"))?.ips ?? []).toEqual([]);
    await eventually(async () => (await objects.south.import("taken"))?.status).toMatchObject({
      conditions: [{ type: "Ready", status: "False", reason: "Pending" }],
    });
    expect(await objects.south.slices("taken")).toEqual([]);
    await admin("south").remove(theirs);
    await eventually(async () => (await objects.south.spec("taken"))?.ips).toHaveLength(2);
    await eventualEndpoints(objects.south, "taken").toEqual(["north 10.1.0.6"]);
  });

  test("what is given away by its label is not touched any more, and not deleted either", async () => {
    const [slice] = await objects.south.slices("taken");
    const given = endpointSlice("shop", slice!.metadata.name, { endpoints: [] });
    const before = await admin("south").patch(given, {
      metadata: { labels: { "app.kubernetes.io/managed-by": "them" } },
    });
    await admin("north").remove(serviceExport("shop", "taken"));
    await eventually(() => objects.south.import("taken")).toBeUndefined();
    await eventually(() => objects.south.derived("taken")).toBeUndefined();
    expect((await admin("south").get(given)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    await admin("south").remove(given);
  });

  test("what somebody adds to lists of our objects is taken out again", async () => {
    const derived = service("shop", derivedServiceName("web"), {});
    await admin("east").patch(derived, {
      spec: {
        ports: [
          { name: "http", port: 81 },
          { name: "added", port: 99 },
        ],
      },
    });
    await eventually(async () =>
      ((await admin("east").get(derived)).spec as { ports: { name: string }[] }).ports.map(
        ({ name }) => name,
      ),
    ).toEqual(["http"]);
    await admin("east").patchStatus(serviceImport("shop", "web", {}), {
      clusters: [{ cluster: "east" }, { cluster: "south" }, { cluster: "added" }],
    });
    await eventually(async () => (await objects.east.import("web"))?.status).toMatchObject({
      clusters: [{ cluster: "east" }, { cluster: "south" }],
    });
  });
});

test("a namespace that ends in one cluster does not hold up the others, and ends there alone", async () => {
  await admin("north").apply(...world("ending", { gone: { endpoints: ["10.1.0.7"] } }));
  const ending = lookAt(clusters.servers.south, "ending");
  await eventualEndpoints(ending, "gone").toEqual(["north 10.1.0.7"]);
  // The last write of a new service.
  await eventually(async () => (await ending.import("gone"))?.status).toMatchObject({
    clusters: [{ cluster: "north" }],
  });
  await admin("south").terminateNamespace("ending");
  const written = await writesDuring("mark-5", () =>
    admin("north").apply(...slices("ending", "gone", { endpoints: ["10.1.0.8"] })),
  );
  await eventualEndpoints(lookAt(clusters.servers.east, "ending"), "gone").toEqual(["north 10.1.0.8"]);
  expect(written.south.filter((write) => write.includes("ending/"))).toEqual([]);
  await admin("south").deleteNamespace("ending");
  await eventualAnswer(clusters.gateway, "gone.ending").toEqual(["10.1.0.8"]);
});

test("in all of this no worker wrote what is not the control plane's, and nothing that was so already", () => {
  for (const id of IDS) expectOnlyOwnAndNeededWrites(clusters.servers[id]);
});
