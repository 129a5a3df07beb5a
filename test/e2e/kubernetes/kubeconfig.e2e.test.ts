import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ApiServers, type SeenRequest, startApiServers } from "../../worker/kubeconfig/api-servers.ts";
import { KUBECONFIG_CASES } from "../../worker/kubeconfig/kubeconfig-cases.ts";
import { readInfo, writeCase, writeFiles } from "../../worker/kubeconfig/kubeconfig-folder.ts";
import { world } from "../commands/exported.ts";
import { answered, eventually, untilEqual } from "../harness/answers.ts";
import { MovedClock } from "../harness/moved-clock.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../harness/processes.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { run } from "../servers/run.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";

describe("kubectl reaches with each kubeconfig what the table of the worker says", () => {
  let servers: ApiServers;
  let kubectl: string;

  beforeAll(async () => {
    servers = await startApiServers();
    kubectl = await ensureTool("kubectl");
  });
  afterAll(() => servers.close());
  beforeEach(() => {
    servers.seen.length = 0;
  });

  test.each(KUBECONFIG_CASES.filter(({ inPod }) => inPod !== true))("$title", async (one) => {
    const { folder, variables, flags } = writeCase(one, servers);
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    const running = run(kubectl, ["get", "--raw", "/api", ...args], {
      env: { KUBECONFIG: "", ...variables },
    });
    const failed = await running.then(
      () => false,
      () => true,
    );
    const reached: SeenRequest[] =
      one.expected instanceof RegExp || one.kubectl === "fails" ? [] : [{ path: "/api", ...one.expected }];
    expect({ failed, seen: servers.seen }).toEqual({ failed: reached.length === 0, seen: reached });
    if (one.info !== undefined) expect(readInfo(folder)).toEqual(one.info(servers));
  });
});

const PLUGIN = `#!/bin/sh
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$(cat "$(dirname "$0")/token")"
`;
const exec = {
  apiVersion: "client.authentication.k8s.io/v1",
  command: "./plugin.sh",
  interactiveMode: "Never",
};

describe("workers whose credential the API server rejects go on with a renewed one, without a restart", () => {
  const folder = temporaryFolder("kubeconfig");
  /** Cluster ids, each with the way in which its worker gets its token. */
  const users = {
    inline: (token: string) => ({ token }),
    file: () => ({ tokenFile: "token" }),
    plugin: () => ({ exec }),
  };
  const clusterIds = Object.keys(users) as (keyof typeof users)[];
  const workers: SyncProcess[] = [];
  /** Of the workers. */
  const clock = new MovedClock({ timers: true });
  let server: ApiServer;
  let gateway: GatewayProcess;

  /** The API server accepts this token, and no other one of workers. */
  const accept = async (token: string) => {
    const file = join(server.folder, "tokens.csv");
    const [admin] = readFileSync(file, "utf8").split("\n");
    writeFileSync(file, `${admin}\n${token},worker,worker,"system:masters"\n`);
    await server.restart();
  };
  const write = (clusterId: keyof typeof users, token: string) => {
    const cluster = {
      server: server.url,
      "certificate-authority": join(server.folder, "certificates", "apiserver.crt"),
    };
    writeFiles(join(folder, clusterId), {
      token,
      "plugin.sh": PLUGIN,
      config: {
        clusters: [{ name: "e2e", cluster }],
        users: [{ name: "worker", user: users[clusterId](token) }],
        contexts: [{ name: "e2e", context: { cluster: "e2e", user: "worker" } }],
        "current-context": "e2e",
      },
    });
  };
  const serve = (address: string) =>
    server.admin.apply(
      ...world("shop", { db: { headless: true, endpoints: [{ address, hostname: "db-0" }] } }),
    );
  const answers = () =>
    Promise.all(clusterIds.map((clusterId) => answered(gateway, `db-0.${clusterId}.db.shop`)));

  beforeAll(async () => {
    [server, gateway] = await Promise.all([startApiServer(), startGateway({ clusters: [...clusterIds] })]);
    await accept("old-token");
    await serve("10.1.0.1");
    for (const clusterId of clusterIds) {
      write(clusterId, "old-token");
      const kubeconfig = join(folder, clusterId, "config");
      workers.push(startSync({ clusterId, kubeconfig, gateways: [gateway], env: clock.env }));
    }
    await untilEqual("all three clusters", answers, [["10.1.0.1"], ["10.1.0.1"], ["10.1.0.1"]]);
  });
  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all([gateway?.stop(), server?.stop()]);
  });

  test("a token in the kubeconfig, in a file, and of a plugin", async () => {
    await accept("new-token");
    await serve("10.1.0.2");
    for (const worker of workers)
      await eventually(clock.passing(worker.log)).toMatch(
        /does not accept the credentials of user .*worker.* of .*config \(401\) for .*; renew them there/,
      );
    expect(await answers()).toEqual([["10.1.0.1"], ["10.1.0.1"], ["10.1.0.1"]]);
    for (const clusterId of clusterIds) write(clusterId, "new-token");
    await untilEqual("the change", clock.passing(answers), [["10.1.0.2"], ["10.1.0.2"], ["10.1.0.2"]]);
  });
});
