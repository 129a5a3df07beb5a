import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { gatewayClient } from "../../harness/gateway-client.ts";
import { freePort } from "../../servers/ports.ts";
import { ServerProcess } from "../../servers/process.ts";

/** What one `wrangler dev` is started with. */
export interface DevOptions {
  /** A bundle of the Worker. */
  script: string;
  /** The path of a wrangler.toml, and the name of the Worker in it. */
  configuration: string;
  name: string;
  /** The path of a file of variables and secrets. */
  variables: string;
  /** Where its state and log go. */
  folder: string;
  /** A folder that it shares with the processes whose objects it reaches, or that reach its object. */
  registry: string;
  port: number;
  /** Certificates that its own requests trust, beside the public authorities. */
  caFile?: string | undefined;
  tokenFileFor(clusterId: string): string;
}

/** A Worker in workerd, started by `wrangler dev`: HTTP/1.1 in clear. */
export type DevProcess = Awaited<ReturnType<typeof startDev>>;

const require = createRequire(import.meta.url);
/** The program of `npx wrangler`. */
export const wrangler = join(dirname(require.resolve("wrangler/package.json")), "wrangler-dist/cli.js");
export const ENVIRONMENT = {
  WRANGLER_SEND_METRICS: "false",
  // Asks Cloudflare for an example of `request.cf` otherwise.
  CLOUDFLARE_CF_FETCH_ENABLED: "false",
  MINIFLARE_WORKERD_PATH: fileURLToPath(new URL("workerd.sh", import.meta.url)),
  WORKERD: require("workerd").default as string,
  NO_COLOR: "1",
};

/** Starts a Worker and waits until it answers. */
export async function startDev(options: DevOptions) {
  const { script, configuration, name, variables, folder, registry, port, tokenFileFor } = options;
  const stateDir = join(folder, "state");
  const proxy = { queryMethod: "GET", isLost: isLostInProxy } as const;
  const client = gatewayClient(`http://127.0.0.1:${port}`, () => "", tokenFileFor, proxy);
  const server = await ServerProcess.start({
    name: "wrangler",
    command: process.execPath,
    args: [
      "--no-warnings",
      wrangler,
      "dev",
      script,
      "--no-bundle",
      `--config=${configuration}`,
      "--ip=127.0.0.1",
      `--port=${port}`,
      `--persist-to=${stateDir}`,
      `--env-file=${variables}`,
      // Else 9229 or the next one that is free, which another wrangler may take at the same moment.
      `--inspector-port=${await freePort()}`,
      "--show-interactive-dev-session=false",
    ],
    folder,
    env: {
      ...ENVIRONMENT,
      WRANGLER_REGISTRY_PATH: registry,
      ...(options.caFile !== undefined && { NODE_EXTRA_CA_CERTS: options.caFile }),
    },
    ready: async () => (await client.http("/healthz")).status === 200,
  });
  return {
    ...client,
    ca: "" as const,
    stateDir,
    process: server,
    log: () => server.log(),
    /** What the Worker has logged as `event`, over all of its starts. */
    events: (event: string) => loggedEvents(server.log()).filter((entry) => entry.event === event),
    stop: () => server.stop(),
    kill: () => server.kill(),
    restart: async () => {
      await server.stop();
      // One that was killed could not take its name back, and would keep it for minutes.
      rmSync(join(registry, name), { force: true });
      await server.start();
    },
  };
}

/** Whether the proxy of `wrangler dev` lost a request, as where a Worker answers before the body's end. */
export function isLostInProxy({ status, text }: { status: number; text: string }, method: string): boolean {
  return (
    status === 500 && method !== "GET" && method !== "HEAD" && /^Error: Network connection lost/.test(text)
  );
}

/** The events of a log: lines of JSON, in wrangler's frame around what is a warning or an error. */
function loggedEvents(log: string): Record<string, unknown>[] {
  return stripVTControlCharacters(log)
    .split("\n")
    .flatMap((line) => {
      try {
        return [JSON.parse(/\{"level":.*\}/.exec(line)?.[0] ?? "")];
      } catch {
        return [];
      }
    });
}
