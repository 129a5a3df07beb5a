import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { world } from "../commands/exported.ts";
import { eventualAnswer, eventually } from "../harness/answers.ts";
import { accessManifests, infraManifests, kubeconfigOfWorker, workerFolder } from "../harness/infra.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import type { ApiClient } from "../servers/kubernetes/api-client.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { installGkeCrds } from "../servers/kubernetes/crds.ts";
import { clusterProperty, type KubeObject } from "../servers/kubernetes/objects.ts";
import type { PolicyRule } from "../servers/kubernetes/service-account.ts";

describe("the rights that infra/kubernetes gives a worker", () => {
  let server: ApiServer;
  let gateway: GatewayProcess;
  let worker: SyncProcess | undefined;

  beforeAll(async () => {
    [server, gateway] = await Promise.all([startApiServer(), startGateway({ clusters: ["east"] })]);
    await server.admin.apply(
      clusterProperty("cluster.clusterset.k8s.io", "east"),
      ...world("shop", { web: { endpoints: ["10.1.0.1"] } }),
    );
  });

  afterAll(async () => {
    await worker?.stop();
    await Promise.all([gateway?.stop(), server?.stop()]);
  });

  test("they allow only reading, and no Secrets, ConfigMaps or Pods", async () => {
    const rules = accessManifests().flatMap(({ rules }) => (rules ?? []) as PolicyRule[]);
    expect(rules).not.toHaveLength(0);
    for (const { verbs, resources, apiGroups } of rules) {
      expect(["get", "list", "watch"]).toEqual(expect.arrayContaining(verbs));
      expect([...resources, ...apiGroups]).not.toContain("*");
    }
    const reader = clientOf(server, await kubeconfigOfWorker(server));
    for (const resource of ["secrets", "configmaps", "pods"])
      await expect(reader.api("GET", `/api/v1/${resource}`)).rejects.toMatchObject({ status: 403 });
    await expect(reader.apply(...world("intruder", {}))).rejects.toMatchObject({ status: 403 });
  });

  test("with all of them the worker finds its cluster id and pushes, and no request is forbidden", async () => {
    const kubeconfig = await kubeconfigOfWorker(server);
    worker = startSync({ kubeconfig, gateways: [gateway], tokenFile: gateway.tokenFileFor("east") });
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.1"]);
    expect(errorsIn(worker.log())).toEqual([]);
    expect(worker.log()).not.toMatch(/forbid/i);
    expect(listedIn(worker.log())).toEqual(grantedBy(accessManifests()));
  });

  test("a worker whose credentials the API server rejects says where to renew them", async () => {
    await worker?.stop();
    const options = { gateways: [gateway], tokenFile: gateway.tokenFileFor("east") };
    worker = startSync({ ...options, kubeconfig: server.kubeconfig("an-old-token") });
    await eventually(worker.log).toMatch(
      /does not accept the credentials of user .* of .* \(401\) for .*; renew them there/,
    );
  });

  test("--pods verified needs the component cluster-local; then only the cluster itself has its zone", async () => {
    const component = join(workerFolder, "components/cluster-local");
    const deployment = infraManifests(component).find(({ kind }) => kind === "Deployment");
    const args = ["--cluster-zone=cluster.local", "--pods=verified"];
    expect(JSON.stringify(deployment)).toContain(args.map((one) => JSON.stringify(one)).join());
    const options = { gateways: [gateway], tokenFile: gateway.tokenFileFor("east"), args };
    await worker?.stop();
    worker = startSync({ ...options, kubeconfig: await kubeconfigOfWorker(server) });
    const { log } = worker;
    await eventually(() => errorsIn(log())).toContainEqual(
      expect.objectContaining({
        code: "RBAC_FORBIDDEN",
        msg: expect.stringContaining(" pods: add the rule"),
      }),
    );
    await worker.stop();

    const kubeconfig = await kubeconfigOfWorker(server, () => accessManifests(component));
    worker = startSync({ ...options, kubeconfig });
    const web = "web.shop.svc.cluster.local";
    await eventually(async () => (await gateway.lookup(web, "A", { view: "east" })).values).toEqual([
      expect.stringMatching(/^10\.96\./),
    ]);
    expect((await gateway.lookup(web, "A")).rcode).toBe("REFUSED");
    expect(listedIn(worker.log())).toEqual(grantedBy(accessManifests(component)));
    expect(errorsIn(worker.log())).toEqual([]);
    await expect(clientOf(server, kubeconfig).api("GET", "/api/v1/secrets")).rejects.toMatchObject({
      status: 403,
    });
  });

  test("with the component gke it reads that group, too, and nothing else", async () => {
    await worker?.stop();
    await installGkeCrds(server.admin);
    const granted = accessManifests(join(workerFolder, "components/gke"));
    const kubeconfig = await kubeconfigOfWorker(server, () => granted);
    worker = startSync({ kubeconfig, gateways: [gateway], tokenFile: gateway.tokenFileFor("east") });
    const { log } = worker;
    await eventually(() => listedIn(log())).toEqual(grantedBy(granted));
    expect(errorsIn(log())).toEqual([]);
  });
});

/** The resources that roles let the worker list and watch, each right of which it needs. */
function grantedBy(objects: readonly KubeObject[]): string[] {
  const rules = objects.flatMap(({ rules }) => (rules ?? []) as PolicyRule[]);
  for (const { verbs } of rules) expect(verbs).toEqual(["list", "watch"]);
  return rules
    .flatMap(({ apiGroups: [group], resources }) => resources.map((one) => `${one}.${group}`))
    .sort();
}

/** The resources that the worker has listed and watches. */
function listedIn(log: string): string[] {
  const listed = entriesIn(log).filter(({ msg }) => msg === "listed");
  return [...new Set(listed.map(({ resource, group = "" }) => `${resource}.${group}`))].sort();
}

function clientOf(server: ApiServer, kubeconfig: string): ApiClient {
  const { users } = JSON.parse(readFileSync(kubeconfig, "utf8")) as { users: { user: { token: string } }[] };
  return server.clientFor(users[0]!.user.token);
}

function errorsIn(log: string): Record<string, unknown>[] {
  return entriesIn(log).filter(({ level }) => level === "error");
}

/** The entries whose lines are whole. */
function entriesIn(log: string): Record<string, unknown>[] {
  const lines = log.slice(0, log.lastIndexOf("\n")).split("\n");
  return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
}
