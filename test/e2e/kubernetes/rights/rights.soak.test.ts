import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { world } from "../../commands/exported.ts";
import { metric, untilEqual } from "../../harness/answers.ts";
import { workerFolder } from "../../harness/infra.ts";
import { type ApiServer, startApiServer } from "../../servers/kubernetes/api-server.ts";
import { clusterProperty, namespace } from "../../servers/kubernetes/objects.ts";
import { waitFor } from "../../servers/wait.ts";
import { installGkeCrds } from "./gke.ts";
import { resourceCases } from "./resource-cases.ts";
import { type Right, resourceName, rightsAdded, rightsOf } from "./right.ts";
import { startWorkerWithout, type Worker } from "./worker-with.ts";

const base = workerFolder;
const clusterId = (value: string) => clusterProperty("cluster.clusterset.k8s.io", value);
/** Nothing of it is answered: it names the cluster. */
const identity = "clusterproperties.about.k8s.io";

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer();
  await server.admin.apply(clusterId("east"), namespace("shop"));
});

afterAll(() => server?.stop());

test(`without watch of ${identity} a worker goes on under an id that its cluster no longer has`, async () => {
  const watch: Right = { group: "about.k8s.io", resource: "clusterproperties", verb: "watch" };
  expect(rightsOf(base)).toContainEqual(watch);
  const [whole, unaware] = await Promise.all([
    startWorkerWithout(server, base),
    startWorkerWithout(server, base, watch),
  ]);
  const isRefusedAsOther = ({ log }: Worker) => log().some(({ code }) => code === "OTHER_CLUSTER");
  const later = world("later", { web: { endpoints: ["10.1.1.1"] } });
  try {
    for (const { gateway } of [whole, unaware])
      await untilEqual("ready", async () => (await gateway.http("/readyz")).status, 200);
    await untilEqual("refused", unaware.refused, [identity]);
    await server.admin.apply(clusterId("west"));
    // Who follows it pushes for west, which the gateway refuses with east's token.
    await waitFor("the other id is refused", () => isRefusedAsOther(whole));
    await server.admin.apply(...later);
    const isServed = async () => (await unaware.gateway.lookup("web.later.svc.clusterset.local", "A")).values;
    await untilEqual("what came later", isServed, ["10.1.1.1"]);
    expect(isRefusedAsOther(unaware)).toBe(false);
    expect(unaware.refused()).toEqual([identity]);
  } finally {
    await Promise.all([whole.stop(), unaware.stop()]);
    await server.admin.apply(clusterId("east"));
  }
});

/** The control plane writes; test/e2e/control/rights.e2e.test.ts has its rights. */
const reading = readdirSync(join(base, "components")).filter((name) => name !== "control");
const components = reading.map((name) => {
  const folder = join(base, "components", name);
  return { name, rights: rightsAdded(folder, base), folder };
});

// The group of GKE comes last: once the API server serves it, a worker without rights for it pushes nothing.
describe.each([
  { name: "base", rights: rightsOf(base), folder: base },
  ...components
    .filter(({ rights }) => rights.length > 0)
    .sort((one, other) => Number(one.name === "gke") - Number(other.name === "gke")),
])("each right that infra/kubernetes gives a worker is needed: $name", ({ name, rights, folder }) => {
  const of = (verb: string) =>
    rights.filter((right) => right.verb === verb).map((right) => ({ right, resource: resourceName(right) }));
  const read = [...new Set(rightsOf(folder).map(resourceName))].sort();
  const answers = Object.entries(resourceCases).filter(([resource]) => read.includes(resource));

  beforeAll(async () => {
    if (name === "gke") await installGkeCrds(server.admin);
    for (const [, { prepare }] of answers) await prepare(server.admin);
  });

  test("it is to list or to watch, and each resource has a check here", () => {
    expect(rights).not.toHaveLength(0);
    expect(of("list").length + of("watch").length).toBe(rights.length);
    expect(of("list").map(({ resource }) => resource)).toEqual(of("watch").map(({ resource }) => resource));
    expect(read.filter((one) => one !== identity)).toEqual(answers.map(([one]) => one).sort());
  });

  test.concurrent.each(of("list"))(
    "without list of $resource the worker says so and keeps back what it cannot know",
    async ({ right, resource }) => {
      const worker = await startWorkerWithout(server, folder, right);
      const { gateway } = worker;
      const refusal = `cannot list resource "${right.resource}" in API group "${right.group}"`;
      const refusals = () => worker.log().filter(({ msg }) => msg.includes(refusal));
      try {
        await untilEqual(
          "the other lists",
          worker.listed,
          read.filter((one) => one !== resource),
        );
        if (resource === "nodes") {
          // Optional: the places of nodes are missing, and nothing else.
          await waitFor("what is said", () =>
            refusals().some(({ msg }) => msg.endsWith("; continuing without it")),
          );
          await untilEqual(
            "services",
            () => resourceCases.services!.ask(gateway),
            resourceCases.services!.before,
          );
          await untilEqual("exports", async () => (await gateway.http("/readyz")).status, 200);
          expect(await resourceCases.nodes!.ask(gateway)).toEqual(["NXDOMAIN", "NXDOMAIN"]);
        } else {
          await waitFor("three refusals", () => refusals().length > 2);
          expect((await gateway.http("/readyz")).status).toBe(503);
          const put = { method: "PUT", status: "200" };
          expect(await metric(gateway, "clusterset_doh_pushes_total", put)).toBe(0);
        }
        expect(worker.refused()).toEqual([resource]);
      } finally {
        expect(await worker.stop()).toBe(0);
      }
    },
  );

  describe("watch", () => {
    const workers: Worker[] = [];
    let whole: Worker;

    beforeAll(async () => {
      whole = await startWorkerWithout(server, folder);
      workers.push(whole);
      for (const { right } of of("watch")) workers.push(await startWorkerWithout(server, folder, right));
      for (const { gateway, without, refused } of workers) {
        for (const [resource, { ask, before }] of answers)
          await untilEqual(`${resource} before`, () => ask(gateway), before);
        // What changes from now on can only be reported by open watches.
        await untilEqual("refused", refused, without === undefined ? [] : [resourceName(without)]);
      }
      for (const [, { change }] of answers) await change(server.admin);
    });

    afterAll(() => Promise.all(workers.map((worker) => worker.stop())));

    test("with all of them the worker follows every change, and no request is rejected", async () => {
      for (const [resource, { ask, after }] of answers)
        await untilEqual(`${resource} after`, () => ask(whole.gateway), after);
      expect(whole.refused()).toEqual([]);
    });

    test.each(of("watch").filter(({ resource }) => resource !== identity))(
      "without watch of $resource a change of it is not reported, changes of the others are",
      async ({ right, resource }) => {
        const { gateway, refused } = workers.find(({ without }) => without === right)!;
        for (const [one, { ask, after }] of answers)
          if (one !== resource) await untilEqual(`${one} after`, () => ask(gateway), after);
        expect(await resourceCases[resource]!.ask(gateway)).toEqual(resourceCases[resource]!.before);
        expect(refused()).toEqual([resource]);
      },
    );
  });
});
