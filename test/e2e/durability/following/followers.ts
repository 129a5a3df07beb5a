import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { checkout } from "../../harness/cli.ts";
import { type GatewayClient, gatewayClient } from "../../harness/gateway-client.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { freePort } from "../../servers/ports.ts";
import { ServerProcess } from "../../servers/process.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { ensureTool } from "../../servers/tools/tools.ts";

/** The zones of wrangler.toml, so that all hosts compile the same. */
const ZONES = ["clusterset.local", "clusterset.test"];

/** A host that answers. */
export interface Host {
  readonly name: string;
  readonly client: GatewayClient;
}

/** A Node gateway, and the token with which secondaries follow it. */
export async function startPrimary(clusters: string[], tokensOf: GatewayClient) {
  const token = randomBytes(32).toString("base64url");
  const tokenSha256 = createHash("sha256").update(token).digest("hex");
  const gateway = await startGateway({
    ...{ clusters, tokensOf, tls: false, zones: ZONES.slice(1) },
    config: { transfer: { credentials: [{ tokenSha256 }] } },
  });
  return { gateway, token };
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
  return { server, client };
}
