import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { eventualAnswer } from "../harness/answers.ts";
import { checkout, cliPath, runProgram } from "../harness/cli.ts";
import { gatewayClient } from "../harness/gateway-client.ts";
import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { removeFolder, temporaryFolder } from "../servers/tools/folders.ts";
import { world } from "./exported.ts";

const units = join(checkout, "infra/systemd");
const GATEWAY = "clusterset-doh-gateway.service";
const SYNC = "clusterset-doh-sync@.service";
const textOf = (unit: string) => readFileSync(join(units, unit), "utf8");

describe("the systemd units", () => {
  /** What `systemd-analyze verify` says of the units, on a machine with the command and systemd's units. */
  async function verify(change: (text: string) => string): Promise<{ code: number | null; stderr: string }> {
    const root = temporaryFolder("systemd");
    const own = join(root, "etc/systemd/system");
    mkdirSync(own, { recursive: true });
    mkdirSync(join(root, "usr/local/bin"), { recursive: true });
    cpSync("/usr/lib/systemd/system", join(root, "usr/lib/systemd/system"), { recursive: true });
    copyFileSync(cliPath, join(root, "usr/local/bin/clusterset-doh"));
    chmodSync(join(root, "usr/local/bin/clusterset-doh"), 0o755);
    for (const unit of readdirSync(units)) writeFileSync(join(own, unit), change(textOf(unit)));
    const names = [GATEWAY, SYNC.replace("@", "@cluster-a")];
    const { code, stderr } = await runProgram("systemd-analyze", ["verify", `--root=${root}`, ...names]);
    removeFolder(root);
    return { code, stderr };
  }

  test("are what systemd-analyze verify accepts without a word", async () => {
    expect(readdirSync(units).sort()).toEqual([GATEWAY, SYNC]);
    expect(await verify((text) => text)).toEqual({ code: 0, stderr: "" });
    const { stderr } = await verify((text) => text.replace("ProtectSystem=", "ProtectSystm="));
    expect(stderr).toContain("Unknown key 'ProtectSystm'");
  });

  /** The exposure as systemd-analyze counts it, from 0 to 100: a unit without any restriction has 96. */
  const MOST_EXPOSED = 20;

  test.each([GATEWAY, SYNC])("restrict what the process may do: %s", async (unit) => {
    const security = (file: string) =>
      runProgram("systemd-analyze", [
        "security",
        "--offline=yes",
        `--threshold=${MOST_EXPOSED}`,
        "--no-pager",
        file,
      ]);
    expect((await security(join(units, unit))).code).toBe(0);
    const folder = temporaryFolder("systemd");
    const bare = join(folder, "bare.service");
    writeFileSync(bare, textOf(unit).replaceAll(/^(?:Protect|Restrict|Private|System|Dynamic).*$/gm, ""));
    expect((await security(bare)).code).not.toBe(0);
    removeFolder(folder);
  });
});

/** What systemd would start. @param environment what `EnvironmentFile=` has */
function placeUnit(unit: string, instance = "", environment: Record<string, string> = {}) {
  const credentials = temporaryFolder("credentials");
  const state = temporaryFolder("state");
  const valuesOf = (key: string) =>
    [...textOf(unit).matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map(([, value]) =>
      value!
        .replaceAll("%d", credentials)
        .replaceAll("%S", state)
        .replaceAll("%i", instance)
        .replaceAll(/\$\{(\w+)\}/g, (_, name: string) => environment[name]!),
    );
  const start = (name: string, ready: () => Promise<boolean>) => {
    const [program, ...args] = valuesOf("ExecStart")[0]!.split(" ");
    expect(program).toBe("/usr/local/bin/clusterset-doh");
    const set = valuesOf("Environment").flatMap((line) => line.split(" "));
    const given = Object.entries(environment).map(([key, value]) => `${key}=${value}`);
    return ServerProcess.start({
      name,
      ready,
      cwd: "/",
      folder: temporaryFolder(name),
      command: "env",
      args: ["-i", "PATH=/usr/local/bin:/usr/bin:/bin", ...set, ...given, process.execPath, cliPath, ...args],
    });
  };
  const credentialIds = valuesOf("LoadCredential").map((line) => line.split(":")[0]);
  return { credentials, state, credentialIds, start };
}

describe("the processes of the units", () => {
  let apiServer: ApiServer;
  beforeAll(async () => {
    apiServer = await startApiServer();
    await apiServer.admin.apply(...world("shop", { web: { headless: true, endpoints: ["10.1.0.1"] } }));
  });
  afterAll(() => apiServer?.stop());

  test("answer what a worker pushes, keep state in the state folder, and end with 0", async () => {
    const port = await freePort();
    const token = "a-token-of-the-end-to-end-tests-of-systemd";
    const gateway = placeUnit(GATEWAY);
    expect(gateway.credentialIds).toEqual(["gateway.yaml"]);
    writeFileSync(
      join(gateway.credentials, "gateway.yaml"),
      stringify({
        listen: `127.0.0.1:${port}`,
        push: {
          credentials: [
            { clusterId: "cluster-a", tokenSha256: createHash("sha256").update(token).digest("hex") },
          ],
        },
      }),
    );
    const url = `https://127.0.0.1:${port}`;
    const stateFolder = join(gateway.state, "clusterset-doh-gateway");
    const caFile = join(stateFolder, "tls/self-signed.crt");
    const client = gatewayClient(
      url,
      () => readFileSync(caFile, "utf8"),
      () => join(worker.credentials, "token"),
    );
    const worker = placeUnit(SYNC, "cluster-a", { GATEWAY: url, NODE_EXTRA_CA_CERTS: caFile });
    expect(worker.credentialIds).toEqual(["kubeconfig", "token"]);
    copyFileSync(apiServer.kubeconfig(), join(worker.credentials, "kubeconfig"));
    writeFileSync(join(worker.credentials, "token"), `${token}\n`);

    const answering = await gateway.start(
      "unit-gateway",
      async () => (await client.http("/healthz")).status === 200,
    );
    const pushing = await worker.start("unit-sync", async () => true);
    await eventualAnswer(client, "web.shop").toEqual(["10.1.0.1"]);
    expect(existsSync(stateFolder)).toBe(true);
    for (const process of [pushing, answering]) {
      await process.stop();
      expect(process.exitCode).toBe(0);
    }
  });
});
