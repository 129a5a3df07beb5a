import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { namespace, serviceImport } from "../../extract/objects.ts";
import { runCommand } from "../../hosts/commands/run-command.ts";
import type { GatewayDouble } from "../gateway-double.ts";
import { WorkerWorld } from "../worker-world.ts";
import { linesOf, START } from "./desired-lines.ts";

/** Runs `--control=plan` of cluster b. */
async function plan(world: WorkerWorld, gateway: GatewayDouble) {
  world.write("token", "secret");
  const args = ["--kubeconfig", world.kubeconfig, "--token-file", join(world.folder, "token")];
  const named = ["--cluster-id", "b", "--gateway", gateway.url];
  return runCommand("sync", "--control=plan", ...named, ...args);
}

test("a plan makes a ServiceImport of the MCS API beside one of its name in another API group", async () => {
  const world = new WorkerWorld();
  const api = await world.startApi();
  api.served.set("net.gke.io", ["v1"]);
  api.put("/api/namespaces", namespace("shop"));
  api.put("/apis/net.gke.io/serviceimports", serviceImport("shop/db"));
  const gateway = await world.startGateway();
  gateway.desired = [START, { leases: { a: 60, b: 60 } }, ...linesOf(), { position: "p" }];
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  await plan(world, gateway);
  const printed = write.mock.calls.map(([text]) => String(text)).join("");
  expect(printed).toContain("+ ServiceImport shop/db\n");
  expect(printed).toContain("0 to delete, 0 in the way");
});

test("a plan of a cluster that never pushed, or without an API server, pushes nothing, says what is missing, and fails", async () => {
  const world = new WorkerWorld();
  const api = await world.startApi();
  api.put("/api/namespaces", namespace("shop"));
  const gateway = await world.startGateway();
  gateway.error = () => ({ status: 409, code: "CLUSTER_NOT_LIVE" });
  const message = /409 CLUSTER_NOT_LIVE: .*; next step: the worker pushes the cluster's own snapshot first/;
  expect(await plan(world, gateway)).toMatchObject({ status: 1, stderr: expect.stringMatching(message) });
  await api.stop();
  expect(await plan(world, gateway)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("ECONNREFUSED"),
  });
  const seen = gateway.seen.map(({ method, path }) => `${method} ${path}`);
  expect(seen).toEqual(["GET /api/v1/clusters/b/desired"]);
});
