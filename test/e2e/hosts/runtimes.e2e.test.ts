import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addressesOf } from "../../conformance/doh-client.ts";
import { credentialsOf } from "../../conformance/host-under-test.ts";
import { makeRequest } from "../../conformance/http-case.ts";
import { acknowledged, PUSH_TOKENS, pushApi } from "../../conformance/push-client.ts";
import { endpoints, exported, snapshot } from "../../merge/fixtures.ts";
import { type Finished, runProgram } from "../harness/cli.ts";
import { certificateFor } from "../servers/certificate.ts";
import { freePort } from "../servers/ports.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";
import { bun, deno, type Runtime, type RuntimeProcess, startOnRuntime } from "./runtime-host.ts";

const NAME = "web.shop.svc.clusterset.local";
const web = (address: string) => exported({ endpoints: endpoints({ address }) });
const world = (address: string) => snapshot("west", { exports: { "shop/web": web(address) } });
// A restart takes long on a busy machine.
const settings = { push: { credentials: credentialsOf(PUSH_TOKENS) }, lease: { defaultSeconds: 600 } };

/** Runs the gateway with a config file to its end. */
async function runToEnd({ program, args }: Runtime, config: object): Promise<Finished> {
  const folder = temporaryFolder(program);
  const file = join(folder, "config.json");
  writeFileSync(file, JSON.stringify({ listen: `127.0.0.1:${await freePort()}`, ...config }));
  return runProgram(await ensureTool(program), [...args, "--config", file], { cwd: folder });
}

describe.each([deno, bun])("the gateway on $name", (runtime) => {
  let host: RuntimeProcess;
  beforeAll(async () => {
    host = await startOnRuntime(runtime, settings);
  });
  afterAll(() => host?.stop());

  it("answers from acknowledged pushes after kill -9 and a restart", async () => {
    const { put, patch: sendPatch } = pushApi(host.fetch);
    const { generation } = await acknowledged(put(world("10.0.0.1")));
    const patch = { exports: { "shop/web": null, "shop/api": web("10.0.0.2") } };
    await acknowledged(sendPatch(generation, patch));
    await host.process.kill();
    await host.process.start();
    expect(await addressesOf(host.fetch, NAME)).toBeUndefined();
    expect(await addressesOf(host.fetch, NAME.replace("web", "api"))).toEqual(["10.0.0.2"]);
    const next = await acknowledged(put(world("10.0.0.3")));
    expect(next.generation).toBeGreaterThan(generation);
    expect(await addressesOf(host.fetch, NAME)).toEqual(["10.0.0.3"]);
  });

  it("does not share its state folder", async () => {
    const stateDirectory = join(host.process.spec.folder, "state");
    const { code, stderr } = await runToEnd(runtime, { stateDirectory });
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("is in use by process"),
    });
  });

  it("reports an address that is in use", async () => {
    const { code, stderr } = await runToEnd(runtime, { listen: `127.0.0.1:${host.port}` });
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("is taken") });
  });

  it("rejects settings that the runtime does not support", async () => {
    const { certPath } = await certificateFor(temporaryFolder("ca"));
    const { code, stderr } = await runToEnd(runtime, { tls: { clientCaFile: certPath } });
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("tls.clientCaFile") });
  });

  it("stops on SIGTERM", async () => {
    await host.process.stop();
    expect(host.process.exitCode).toBe(0);
    await host.process.start();
  });

  it("answers with the certificate in the files", async () => {
    const { certPath, keyPath } = await certificateFor(temporaryFolder("tls"));
    const tls = { certificateFile: certPath, keyFile: keyPath };
    // Its client trusts that certificate only.
    const host = await startOnRuntime(runtime, { ...settings, tls });
    expect((await host.fetch(makeRequest({ path: "/healthz" }))).status).toBe(200);
    await host.stop();
  });
});
