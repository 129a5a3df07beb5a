import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ApiServers, type SeenRequest, startApiServers } from "../../worker/kubeconfig/api-servers.ts";
import { KUBECONFIG_CASES } from "../../worker/kubeconfig/kubeconfig-cases.ts";
import { readInfo, writeCase } from "../../worker/kubeconfig/kubeconfig-folder.ts";
import { SCALARS } from "../../worker/yaml-scalars.ts";
import { run } from "../servers/run.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";

let kubectl: string;
beforeAll(async () => {
  kubectl = await ensureTool("kubectl");
});

test("kubectl makes of each scalar of YAML what the table of the worker says", async () => {
  const file = join(temporaryFolder("yaml"), "object.yaml");
  const lines = SCALARS.map(([text], index) => `  s${index}: ${text}`);
  const head = ["apiVersion: e.com/v1", "kind: E", "metadata: {name: e}", "values:"];
  writeFileSync(file, [...head, ...lines, ""].join("\n"));
  const output = await run(kubectl, ["patch", "--local", "-f", file, "--type=merge", "-p={}", "-o=json"]);
  const { values } = JSON.parse(output) as { values: Record<string, unknown> };
  expect(SCALARS.map(([text], index) => [text, values[`s${index}`] ?? null])).toEqual(
    SCALARS.map((one) => [...one]),
  );
});

describe("kubectl reaches with each kubeconfig what the table of the worker says", () => {
  let servers: ApiServers;
  beforeAll(async () => {
    servers = await startApiServers();
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
