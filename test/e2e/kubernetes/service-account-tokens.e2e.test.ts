import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { emptySnapshot } from "../../snapshot/worlds.ts";
import { world } from "../commands/exported.ts";
import { eventualAnswer, eventually } from "../harness/answers.ts";
import { accessManifests, infraManifests, kubeconfigOfWorker, workerFolder } from "../harness/infra.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { clusterProperty } from "../servers/kubernetes/objects.ts";
import { createServiceAccount, requestToken } from "../servers/kubernetes/service-account.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const AUDIENCE = "clusterset-doh";
const NAMESPACE = "clusterset-doh";
const ACCOUNT = "sync-worker";
const SUBJECT = `system:serviceaccount:${NAMESPACE}:${ACCOUNT}`;
const ISSUER = "https://kubernetes.default.svc";

describe("clusters that push with the tokens of their ServiceAccounts", () => {
  const folder = temporaryFolder("oidc");
  const keysOf = (name: string) => join(folder, `${name}.jwks`);
  let east: ApiServer;
  let west: ApiServer;
  let gateway: GatewayProcess;
  let worker: SyncProcess | undefined;

  async function startCluster(name: string): Promise<ApiServer> {
    const server = await startApiServer({ name });
    await server.admin.apply(...accessManifests());
    writeFileSync(keysOf(name), JSON.stringify(await server.admin.api("GET", "/openid/v1/jwks")));
    return server;
  }
  const tokenOf = (server: ApiServer, audiences = [AUDIENCE], account = ACCOUNT) =>
    requestToken(server.admin, NAMESPACE, account, 3600, audiences);

  beforeAll(async () => {
    [east, west] = await Promise.all([startCluster("east"), startCluster("west")]);
    // What a gateway needs to read the keys of an API server itself.
    const reader = await createServiceAccount(west.admin, NAMESPACE, "keys-reader", [
      { apiGroups: [""], resources: ["namespaces"], verbs: ["list"] },
    ]);
    await west.admin.apply({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "clusterset-doh-keys" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "system:service-account-issuer-discovery",
      },
      subjects: [{ kind: "ServiceAccount", namespace: NAMESPACE, name: "keys-reader" }],
    });
    writeFileSync(join(folder, "west.token"), reader.token);
    writeFileSync(join(folder, "west.crt"), west.ca);
    const oidc = { issuer: ISSUER, subject: SUBJECT };
    gateway = await startGateway({
      config: {
        push: {
          credentials: [
            { clusterId: "east", oidc: { ...oidc, jwks: JSON.parse(readFileSync(keysOf("east"), "utf8")) } },
            { clusterId: "east", oidc: { ...oidc, jwksFile: keysOf("east") } },
            {
              clusterId: "west",
              oidc: {
                ...oidc,
                jwksUri: `${west.url}/openid/v1/jwks`,
                caFile: join(folder, "west.crt"),
                tokenFile: join(folder, "west.token"),
              },
            },
          ],
        },
      },
    });
  });

  afterAll(async () => {
    await worker?.stop();
    await Promise.all([gateway?.stop(), east?.stop(), west?.stop()]);
  });

  const put = async (clusterId: string, token: string) => {
    const answer = await gateway.push(emptySnapshot(clusterId), { token });
    return { status: answer.status, text: answer.text, token };
  };

  test("two clusters with one issuer and subject can each push only themselves, with keys inline, in a file or at a URL", async () => {
    for (const [server, clusterId] of [
      [east, "east"],
      [west, "west"],
    ] as const)
      expect(await put(clusterId, await tokenOf(server))).toMatchObject({ status: 200 });
    expect(await put("east", await tokenOf(west))).toMatchObject({
      status: 403,
      text: expect.stringContaining("OTHER_CLUSTER"),
    });
  });

  test("rejects a token for the API server, of another account, and an altered one, with the next step", async () => {
    const other = await createServiceAccount(east.admin, NAMESPACE, "other", [
      { apiGroups: [""], resources: ["namespaces"], verbs: ["list"] },
    ]);
    expect(other.token).not.toBe("");
    const forApiServer = await put("east", await requestToken(east.admin, NAMESPACE, ACCOUNT));
    expect(forApiServer).toMatchObject({
      status: 401,
      text: expect.stringMatching(/WRONG_AUDIENCE.*clusterset-doh/),
    });
    const ofOther = await put("east", await tokenOf(east, [AUDIENCE], "other"));
    expect(ofOther).toMatchObject({
      status: 403,
      text: expect.stringMatching(/UNKNOWN_SUBJECT.*clusterset-doh:other/),
    });
    const [head, , signature] = ofOther.token.split(".");
    const [, payload] = (await tokenOf(east)).split(".");
    const forged = await put("east", `${head}.${payload}.${signature}`);
    expect(forged).toMatchObject({ status: 401, text: expect.stringContaining("UNKNOWN_KEY") });
    for (const { text, token } of [forApiServer, ofOther, forged])
      expect(text).not.toContain(token.split(".")[2]);
    expect(gateway.process.log()).not.toContain(forApiServer.token.split(".")[2]);
  });

  test("the worker of infra/kubernetes pushes with the mounted token, and with its successor", async () => {
    const component = join(workerFolder, "components/service-account-token");
    const deployment = infraManifests(component).find(({ kind }) => kind === "Deployment")!;
    const { volumes } = (deployment.spec as { template: { spec: { volumes: unknown[] } } }).template.spec;
    expect(volumes).toEqual([
      {
        name: "token",
        projected: {
          defaultMode: expect.any(Number),
          sources: [{ serviceAccountToken: { path: "token", audience: AUDIENCE, expirationSeconds: 3600 } }],
        },
      },
    ]);
    await east.admin.apply(
      clusterProperty("cluster.clusterset.k8s.io", "east"),
      ...world("shop", { web: { endpoints: ["10.1.0.1"] } }),
    );
    const tokenFile = join(folder, "projected");
    // As the kubelet does: whole at once.
    const project = (token: string) => {
      writeFileSync(`${tokenFile}.next`, token);
      renameSync(`${tokenFile}.next`, tokenFile);
    };
    project(await tokenOf(east));
    worker = startSync({ kubeconfig: await kubeconfigOfWorker(east), gateways: [gateway], tokenFile });
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.1"]);

    project(await tokenOf(west));
    await east.admin.apply(...world("shop", { web: { endpoints: ["10.1.0.2"] } }));
    const { log } = worker;
    await eventually(log).toContain("OTHER_CLUSTER");
    project(await tokenOf(east));
    await eventualAnswer(gateway, "web.shop").toEqual(["10.1.0.2"]);
  });
});
