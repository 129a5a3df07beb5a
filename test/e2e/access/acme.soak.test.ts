import { X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { blocksIn, textOf } from "../../docs/pages.ts";
import { checkout, runProgram } from "../harness/cli.ts";
import { type GatewayProcess, startGateway, startSync } from "../harness/processes.ts";
import { certificateFor } from "../servers/certificate.ts";
import { startCoreDns } from "../servers/coredns.ts";
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

describe("a gateway behind Caddy, which gets its certificate by ACME from Pebble", () => {
  const folder = temporaryFolder("acme");
  const at = (name: string) => join(folder, name);
  const running: { stop(): Promise<unknown> }[] = [];
  let gateway: GatewayProcess;
  let httpsPort: number;

  beforeAll(async () => {
    const [pebble, caddy] = [await ensureTool("pebble"), await ensureTool("caddy")];
    httpsPort = await freePort();
    const [httpPort, acmePort, managementPort] = [await freePort(), await freePort(), await freePort()];
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

    // Pebble validates each name: it has to be that of this machine.
    const names = await startCoreDns([`hosts {\n  127.0.0.1 ${HOST}\n}`], { name: "acme-names" });
    running.unshift(names);
    const { certPath, keyPath } = await certificateFor(folder);
    writeFileSync(
      at("pebble.json"),
      JSON.stringify({
        pebble: {
          listenAddress: `127.0.0.1:${acmePort}`,
          managementListenAddress: `127.0.0.1:${managementPort}`,
          certificate: certPath,
          privateKey: keyPath,
          httpPort,
          tlsPort: httpsPort,
        },
      }),
    );
    const curl = (...args: string[]) => runProgram("curl", ["-sS", "--cacert", certPath, ...args]);
    running.unshift(
      await ServerProcess.start({
        name: "pebble",
        command: pebble,
        args: ["-config", at("pebble.json"), "-dnsserver", `127.0.0.1:${names.port}`],
        folder,
        env: { PEBBLE_VA_NOSLEEP: "1", PEBBLE_WFE_NONCEREJECT: "0" },
        ready: async () => (await curl(`https://localhost:${acmePort}/dir`)).code === 0,
      }),
    );
    const root = await curl(`https://localhost:${managementPort}/roots/0`);
    writeFileSync(at("root.crt"), root.stdout);

    // The site is that of the page; the ports and the authority are those of the test.
    const [, site] = /```\n(doh\.example\.org \{.*?\n\}\n)```/s.exec(textOf(PAGE))!;
    const globals = [
      `http_port ${httpPort}`,
      `https_port ${httpsPort}`,
      "admin off",
      `storage file_system ${at("caddy")}`,
      `acme_ca https://localhost:${acmePort}/dir`,
      `acme_ca_root ${certPath}`,
    ];
    const port = new URL(gateway.url).port;
    writeFileSync(
      at("Caddyfile"),
      `{\n${globals.join("\n")}\n}\n${site!.replace("127.0.0.1:8080", `127.0.0.1:${port}`)}`,
    );
    running.unshift(
      await ServerProcess.start({
        name: "caddy",
        command: caddy,
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

  /**
   * Requests a path of the public address from an address of this machine, and prints the status behind the
   * body.
   */
  const fetchFrom = (address: string, path: string, ...args: string[]) =>
    runProgram("curl", [
      "-sS",
      "--cacert",
      at("root.crt"),
      "--interface",
      address,
      "-w",
      "\n%{http_code}",
      "--resolve",
      `${HOST}:${httpsPort}:127.0.0.1`,
      ...args,
      `https://${HOST}:${httpsPort}${path}`,
    ]);

  test("the certificate is for the public name, and Pebble signed it", async () => {
    const { stdout } = await runProgram("bash", [
      "-c",
      `openssl s_client -connect 127.0.0.1:${httpsPort} -servername ${HOST} < /dev/null 2> /dev/null`,
    ]);
    const certificate = new X509Certificate(stdout.slice(stdout.indexOf("-----BEGIN")));
    expect(certificate.subjectAltName).toBe(`DNS:${HOST}`);
    expect(certificate.issuer).toContain("Pebble");
  });

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
