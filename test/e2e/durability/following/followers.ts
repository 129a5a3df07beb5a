import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import type { DevProcess } from "../../edge/harness/dev-process.ts";
import { checkout } from "../../harness/cli.ts";
import { type GatewayClient, gatewayClient } from "../../harness/gateway-client.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { freePort } from "../../servers/ports.ts";
import { ServerProcess } from "../../servers/process.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { ensureTool } from "../../servers/tools/tools.ts";

/** The zones of wrangler.toml, so that all hosts compile the same. */
const ZONES = ["clusterset.local", "clusterset.test"];

/** A host that answers, and the hash of the root that it answers from. */
export interface Host {
  readonly name: string;
  readonly client: GatewayClient;
  rootHash(): Promise<unknown>;
}

/** A Node gateway, and its root as secondaries get to know it. */
export async function startPrimary(clusters: string[], tokensOf: GatewayClient) {
  const token = randomBytes(32).toString("base64url");
  const tokenSha256 = createHash("sha256").update(token).digest("hex");
  const gateway = await startGateway({
    ...{ clusters, tokensOf, tls: false, zones: ZONES.slice(1) },
    config: { transfer: { credentials: [{ tokenSha256 }] } },
  });
  const host: Host = {
    name: "Node gateway",
    client: gateway,
    rootHash: async () => {
      const headers = { authorization: `Bearer ${token}` };
      const state = await gateway.http("/api/v1/transfer/state", { headers });
      return state.json<{ status: { rootHash: string } }>().status.rootHash;
    },
  };
  return { gateway, token, host };
}

/** A secondary on Deno. */
export async function startDenoSecondary(primary: GatewayProcess, token: string) {
  const deno = await ensureTool("deno");
  const port = await freePort();
  const client = gatewayClient(
    `http://127.0.0.1:${port}`,
    () => "",
    (id) => primary.tokenFileFor(id),
  );
  const server = await ServerProcess.start({
    name: "deno-secondary",
    command: deno,
    args: ["run", "-A", join(checkout, "src/hosts/deno/secondary.ts")],
    folder: temporaryFolder("deno-secondary"),
    env: {
      DENO_SERVE_ADDRESS: `tcp:127.0.0.1:${port}`,
      CLUSTERSET_PRIMARY_URL: primary.url,
      CLUSTERSET_TRANSFER_TOKEN: token,
      CONFIG: JSON.stringify({ access: { public: true }, zones: ZONES }),
      PUSH_CREDENTIALS: "[]",
    },
    ready: async () => (await client.http("/healthz")).status === 200,
  });
  const transferred = () =>
    server
      .log()
      .split("\n")
      .filter((line) => line.includes('"event":"transferred"'))
      .map((line) => JSON.parse(line.slice(line.indexOf("{"))) as { rootHash: string });
  const host: Host = {
    name: "Deno secondary",
    client,
    rootHash: async () => transferred().at(-1)?.rootHash,
  };
  return { server, host };
}

/** An isolate of the Worker: its root is that of its last transfer. */
export function isolateHost(name: string, isolate: DevProcess): Host {
  return { name, client: isolate, rootHash: async () => isolate.events("transferred").at(-1)?.rootHash };
}
