import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { namespace } from "../../extract/objects.ts";
import { runCommand } from "../../hosts/commands/run-command.ts";
import type { ApiServerDouble } from "../api-server-double.ts";
import type { GatewayDouble } from "../gateway-double.ts";
import { WorkerWorld } from "../worker-world.ts";

let world: WorkerWorld;
let api: ApiServerDouble;
let gateway: GatewayDouble;

beforeEach(async () => {
  world = new WorkerWorld();
  api = await world.startApi();
  api.put("/api/namespaces", namespace("shop"));
  gateway = await world.startGateway();
  world.write("token", "secret");
});

async function plan() {
  const args = ["--kubeconfig", world.kubeconfig, "--token-file", join(world.folder, "token")];
  const named = ["--cluster-id", "b", "--gateway", gateway.url];
  const { status: code, stderr } = await runCommand("sync", "--control=plan", ...named, ...args);
  return { code, stderr };
}

test("a plan of a cluster that never pushed pushes nothing, says what is missing, and fails", async () => {
  gateway.error = () => ({ status: 409, code: "CLUSTER_NOT_LIVE" });
  expect(await plan()).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /409 CLUSTER_NOT_LIVE: .*; next step: the worker pushes the cluster's own snapshot first/,
    ),
  });
  expect(gateway.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "GET /api/v1/clusters/b/desired",
  ]);
});

test("a plan fails if the API server does not answer", async () => {
  await api.stop();
  expect(await plan()).toEqual({ code: 1, stderr: expect.stringContaining("ECONNREFUSED") });
  expect(gateway.seen).toEqual([]);
});
