import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Config, HostSettings, HostUnderTest } from "../../conformance/host-under-test.ts";
import { connectTo } from "../../conformance/hosts/socket-fetch.ts";
import { makeRequest } from "../../conformance/http-case.ts";
import { checkout } from "../harness/cli.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";

/** A gateway on a JavaScript runtime, in a process of its own, with the file store and TLS. */
export type RuntimeProcess = Awaited<ReturnType<typeof startOnRuntime>>;

export interface Runtime {
  readonly name: string;
  readonly program: "deno" | "bun";
  /** Before the flags of `clusterset-doh serve`. */
  readonly args: readonly string[];
}

export const deno: Runtime = {
  name: "Deno",
  program: "deno",
  args: ["run", "-A", join(checkout, "src/hosts/deno/serve.ts")],
};

export const bun: Runtime = { name: "Bun", program: "bun", args: [join(checkout, "src/hosts/bun/serve.ts")] };

export function runtimeHost(runtime: Runtime): HostUnderTest {
  return { name: runtime.name, start: (settings) => startOnRuntime(runtime, settings) };
}

/** Starts the gateway from the checkout on a runtime, and waits until it answers. */
export async function startOnRuntime(runtime: Runtime, settings: HostSettings & Pick<Config, "tls">) {
  const command = await ensureTool(runtime.program);
  const folder = temporaryFolder(runtime.program);
  const port = await freePort();
  const config = join(folder, "config.json");
  writeFileSync(
    config,
    JSON.stringify({
      listen: `127.0.0.1:${port}`,
      stateDirectory: "state",
      // On a busy machine it would count as overloaded, and reject pages and JSON.
      limits: { loopDelayMilliseconds: 0 },
      ...settings,
    }),
  );
  const { tls } = settings;
  const certificate =
    typeof tls === "object" ? tls.certificateFile! : join(folder, "state/tls/self-signed.crt");
  const connect = (options = {}) =>
    connectTo(`https://127.0.0.1:${port}`, readFileSync(certificate, "utf8"), options);
  const server = await ServerProcess.start({
    name: runtime.program,
    command,
    args: [...runtime.args, "--config", config],
    folder,
    ready: async () => {
      const probe = connect();
      try {
        return (await probe.fetch(makeRequest({ path: "/healthz" }))).status === 200;
      } finally {
        await probe.close();
      }
    },
  });
  const client = connect();
  const worker = connect({ allowH2: false });
  return {
    port,
    process: server,
    fetch: client.fetch,
    workerFetch: worker.fetch,
    stop: async () => {
      await client.close();
      await worker.close();
      await server.stop();
    },
  };
}
