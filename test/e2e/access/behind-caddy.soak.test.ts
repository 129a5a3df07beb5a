import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { blocksIn, textOf } from "../../docs/pages.ts";
import { checkout, runProgram } from "../harness/cli.ts";
import { type GatewayProcess, startGateway, startSync } from "../harness/processes.ts";
import { answerOf, queryBytes } from "../servers/dns.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";
import { ensureTool } from "../servers/tools/tools.ts";
import { waitFor } from "../servers/wait.ts";

const PAGE = "docs/how-to/certificates.md";
const HOST = "doh.example.org";
/** Addresses of this machine: the one is a client that the gateway's rule admits, the other is not. */
const [ADMITTED, OTHER] = ["127.0.0.2", "127.0.0.3"];

describe("a gateway behind Caddy, which has a certificate of its own authority instead of one by ACME", () => {
  const folder = temporaryFolder("acme");
  const at = (name: string) => join(folder, name);
  const running: { stop(): Promise<unknown> }[] = [];
  let gateway: GatewayProcess;
  let httpsPort: number;

  beforeAll(async () => {
    httpsPort = await freePort();
    const settings = parse(
      blocksIn(PAGE, "yaml").find((block) => block.startsWith("listen: 127.0.0.1:8080"))!,
    );
    gateway = await startGateway({
      tls: settings.tls,
      clusters: ["cluster-a"],
      config: {
        publicUrl: settings.publicUrl,
        clients: settings.clients,
        access: { rules: [{ name: "office", addresses: [ADMITTED] }] },
      },
    });
    running.push(gateway);
    const manifests = join(checkout, "examples/cluster-a");
    const worker = startSync({ manifests, clusterId: "cluster-a", gateways: [gateway] });
    running.unshift(worker);
    await waitFor("a push", async () => (await gateway.http("/readyz")).status === 200);

    // The site is that of the page; the ports and the authority are those of the test.
    const [, site] = /```\n(doh\.example\.org \{.*?\n\}\n)```/s.exec(textOf(PAGE))!;
    const globals = [
      `http_port ${await freePort()}`,
      `https_port ${httpsPort}`,
      "admin off",
      `storage file_system ${at("caddy")}`,
      "local_certs",
      "skip_install_trust",
    ];
    const port = new URL(gateway.url).port;
    writeFileSync(
      at("Caddyfile"),
      `{\n${globals.join("\n")}\n}\n${site!.replace("127.0.0.1:8080", `127.0.0.1:${port}`)}`,
    );
    running.unshift(
      await ServerProcess.start({
        name: "caddy",
        command: await ensureTool("caddy"),
        args: ["run", "--config", at("Caddyfile"), "--adapter", "caddyfile"],
        folder,
        env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
        ready: async () => (await fetchFrom(ADMITTED, "/healthz")).stdout.startsWith("ok"),
      }),
    );
  });

  afterAll(async () => {
    for (const one of running) await one.stop();
  });

  /** Requests a path of the public address from an address of this machine; the status is printed last. */
  const fetchFrom = (address: string, path: string, ...args: string[]) =>
    runProgram("curl", [
      "-sS",
      "--cacert",
      at("caddy/pki/authorities/local/root.crt"),
      "--interface",
      address,
      "-w",
      "\n%{http_code}",
      "--resolve",
      `${HOST}:${httpsPort}:127.0.0.1`,
      ...args,
      `https://${HOST}:${httpsPort}${path}`,
    ]);

  test("DNS over HTTPS works through it, in both forms", async () => {
    const query = queryBytes({ name: "web.shop.svc.clusterset.local", type: "A" }, 0).toString("base64url");
    const file = at("answer");
    await fetchFrom(ADMITTED, `/dns-query?dns=${query}`, "-o", file);
    expect(answerOf(readFileSync(file)).message.answers).toMatchObject([{ data: "10.96.1.10" }]);
    const json = await fetchFrom(ADMITTED, "/resolve?name=web.shop.svc.clusterset.local&type=A");
    expect(json.stdout).toContain('"data":"10.96.1.10"');
  });

  test("the gateway knows clients by their own addresses, which they cannot forge", async () => {
    const path = "/resolve?name=web.shop.svc.clusterset.local&type=A";
    expect((await fetchFrom(ADMITTED, path)).stdout).toMatch(/\n200$/);
    expect((await fetchFrom(OTHER, path)).stdout).toMatch(/\n40[13]$/);
    expect((await fetchFrom(OTHER, path, "-H", `X-Forwarded-For: ${ADMITTED}`)).stdout).toMatch(/\n40[13]$/);
  });
});
