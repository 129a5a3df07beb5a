import { join } from "node:path";
import { expect, test } from "vitest";
import { namespace } from "../../extract/objects.ts";
import { runCommand } from "../../hosts/commands/run-command.ts";
import { WorkerWorld } from "../worker-world.ts";

test("a plan of a cluster that never pushed, or without an API server, pushes nothing, says what is missing, and fails", async () => {
  const world = new WorkerWorld();
  const api = await world.startApi();
  api.put("/api/namespaces", namespace("shop"));
  const gateway = await world.startGateway();
  world.write("token", "secret");
  async function plan() {
    const args = ["--kubeconfig", world.kubeconfig, "--token-file", join(world.folder, "token")];
    const named = ["--cluster-id", "b", "--gateway", gateway.url];
    const { status: code, stderr } = await runCommand("sync", "--control=plan", ...named, ...args);
    return { code, stderr };
  }
  gateway.error = () => ({ status: 409, code: "CLUSTER_NOT_LIVE" });
  const message = /409 CLUSTER_NOT_LIVE: .*; next step: the worker pushes the cluster's own snapshot first/;
  expect(await plan()).toEqual({ code: 1, stderr: expect.stringMatching(message) });
  await api.stop();
  expect(await plan()).toEqual({ code: 1, stderr: expect.stringContaining("ECONNREFUSED") });
  const seen = gateway.seen.map(({ method, path }) => `${method} ${path}`);
  expect(seen).toEqual(["GET /api/v1/clusters/b/desired"]);
});
