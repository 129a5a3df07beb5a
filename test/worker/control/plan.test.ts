import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { namespace } from "../../extract/objects.ts";
import { runCommand } from "../../hosts/commands/run-command.ts";
import { ApiServerDouble } from "../api-server-double.ts";
import { GatewayDouble } from "../gateway-double.ts";

let folder: string;
let api: ApiServerDouble;
let gateway: GatewayDouble;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "plan-"));
  api = await new ApiServerDouble().start();
  api.put("/api/namespaces", namespace("shop"));
  gateway = new GatewayDouble();
  await gateway.start();
  await writeFile(join(folder, "kubeconfig"), api.kubeconfig);
  await writeFile(join(folder, "token"), "secret");
});
afterEach(async () => {
  await Promise.all([api.stop(), gateway.stop()]);
  await rm(folder, { recursive: true });
});

async function plan() {
  const args = ["--kubeconfig", join(folder, "kubeconfig"), "--token-file", join(folder, "token")];
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
