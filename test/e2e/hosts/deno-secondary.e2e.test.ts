import { join } from "node:path";
import type { HostUnderTest } from "../../conformance/host-under-test.ts";
import { startPrimary } from "../../conformance/hosts/primary.ts";
import { connectTo } from "../../conformance/hosts/socket-fetch.ts";
import { makeRequest } from "../../conformance/http-case.ts";
import { describeHost } from "../../conformance/suite.ts";
import { checkout } from "../harness/cli.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";

const denoSecondary: HostUnderTest = {
  name: "Deno, as a secondary",
  async start(settings) {
    const deno = await ensureTool("deno");
    const primary = await startPrimary(settings);
    const port = await freePort();
    const client = connectTo(`http://127.0.0.1:${port}`);
    const server = await ServerProcess.start({
      name: "deno-secondary",
      command: deno,
      args: ["run", "-A", join(checkout, "src/hosts/deno/secondary.ts")],
      folder: temporaryFolder("deno-secondary"),
      env: { ...primary.environment, DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}` },
      ready: async () => (await client.fetch(makeRequest({ path: "/healthz" }))).status === 200,
    });
    return {
      fetch: client.fetch,
      stop: async () => {
        await client.close();
        await server.stop();
        await primary.stop();
      },
    };
  },
};

describeHost(denoSecondary);
