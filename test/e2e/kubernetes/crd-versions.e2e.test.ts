import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unexported, world } from "../commands/exported.ts";
import { answered, eventualAnswer, eventually } from "../harness/answers.ts";
import type { GatewayProcess, SyncProcess } from "../harness/processes.ts";
import { type SyncedClusters, startSyncedClusters } from "../harness/synced-clusters.ts";
import type { ApiServer } from "../servers/kubernetes/api-server.ts";
import { installCrds, setServed } from "../servers/kubernetes/crds.ts";
import { namespace, serviceExport } from "../servers/kubernetes/objects.ts";
import { waitFor } from "../servers/wait.ts";

const crds = ["serviceexports", "serviceimports"].map((plural) => `${plural}.multicluster.x-k8s.io`);

describe("a worker follows the served versions of the MCS API", () => {
  let clusters: SyncedClusters<"east">;
  let server: ApiServer;
  let gateway: GatewayProcess;
  let worker: SyncProcess;

  beforeAll(async () => {
    clusters = await startSyncedClusters(
      ["east"],
      ({ east }) =>
        east.admin.apply(namespace("shop"), ...unexported("shop", "web", { endpoints: ["10.1.0.1"] })),
      { apiServer: { crds: false } },
    );
    server = clusters.servers.east;
    gateway = clusters.gateway;
    worker = clusters.workers.east;
  });

  afterAll(() => clusters?.stop());

  const serve = async (version: "v1alpha1" | "v1beta1", served: boolean) => {
    for (const crd of crds) await setServed(server.admin, crd, version, served);
    await waitFor(`${version} ${served ? "" : "not "}served`, async () => {
      const path = `/apis/multicluster.x-k8s.io/${version}/serviceexports?limit=1`;
      return (
        (await server.admin.api("GET", path).then(
          () => true,
          () => false,
        )) === served
      );
    });
  };
  const exportAs = (version: string, name: string) =>
    server.admin.apply({ ...serviceExport("shop", name), apiVersion: `multicluster.x-k8s.io/${version}` });

  test("without the CRDs the cluster is live and exports nothing", async () => {
    await eventualAnswer(gateway, "web.shop").toBe("NXDOMAIN");
    await eventually(() => worker.log()).toContain("install the MCS CRDs");
  });

  test("a Service is answered after the CRDs are installed, without a restart of the worker", async () => {
    await installCrds(server.admin);
    await exportAs("v1beta1", "web");
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.1"]);
  });

  test("after the watched version is no longer served it reads the other one, and loses nothing", async () => {
    await serve("v1beta1", false);
    await server.admin.apply(...unexported("shop", "late", { endpoints: ["10.1.0.2"] }));
    await exportAs("v1alpha1", "late");
    await eventualAnswer(gateway, "late.shop").toEqual(["10.1.0.2"]);
    expect(await answered(gateway, "web.shop")).toEqual(["10.1.0.1"]);
  });

  test("a worker can start with v1alpha1 only", async () => {
    await worker.restart();
    await server.admin.apply(...unexported("shop", "alpha", { endpoints: ["10.1.0.3"] }));
    await exportAs("v1alpha1", "alpha");
    await eventualAnswer(gateway, "alpha.shop").toEqual(["10.1.0.3"]);
  });

  test("a worker can start with v1beta1 only", async () => {
    await worker.stop();
    await serve("v1beta1", true);
    await serve("v1alpha1", false);
    await worker.restart();
    await server.admin.remove(serviceExport("shop", "alpha"));
    await eventualAnswer(gateway, "alpha.shop").toBe("NXDOMAIN");
    await server.admin.apply(...world("store", { web: { endpoints: ["10.1.0.4"] } }));
    await eventualAnswer(gateway, "web.store").toEqual(["10.1.0.4"]);
  });

  test("after the CRDs are deleted the names do not exist", async () => {
    for (const name of crds)
      await server.admin.api("DELETE", `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`);
    await eventualAnswer(gateway, "web.store").toBe("NXDOMAIN");
    expect(await answered(gateway, "web.shop")).toBe("NXDOMAIN");
  });
});
