import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { shorten } from "../../harness/gateway-client.ts";
import { queryUdp } from "../../servers/dns.ts";
import { freePort } from "../../servers/ports.ts";
import { ServerProcess } from "../../servers/process.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { ensureTool } from "../../servers/tools/tools.ts";
import { ALIAS, type GatewayOfAPage, NAME, startGatewayOfAPage } from "../gateway-of-a-page.ts";

let world: GatewayOfAPage;
let program: string;
let folder: string;
let certificate: string;

beforeAll(async () => {
  program = await ensureTool("coredns");
  world = await startGatewayOfAPage(true);
  folder = temporaryFolder("resolvers");
  certificate = join(folder, "authority.crt");
  writeFileSync(certificate, world.gateway.ca);
});
afterAll(() => world?.stop());

const lookup = async (port: number, name: string, type: "A" | "AAAA" | "TXT" | "SRV") =>
  shorten(await queryUdp(port, { name, type, edns: true }));

/** Starts CoreDNS with a server block, on a port of this test instead of 53, and asks it for the zone. */
async function expectZoneBy(name: string, block: string): Promise<void> {
  const port = await freePort();
  const corefile = block.replace(`${ALIAS}:53 {`, `${ALIAS}:${port} {\n    bind 127.0.0.1`);
  expect(corefile).not.toBe(block);
  const file = join(folder, `${name}.Corefile`);
  writeFileSync(file, corefile);
  const coredns = await ServerProcess.start({
    name,
    command: program,
    args: ["-conf", file],
    folder,
    // Programs in Go trust what this file holds.
    env: { SSL_CERT_FILE: certificate },
    ready: async () => (await lookup(port, `dns-version.${ALIAS}`, "TXT")).values.length > 0,
  });
  try {
    expect(await lookup(port, NAME, "A")).toMatchObject({ rcode: "NOERROR", values: ["127.0.0.1"] });
    expect(await lookup(port, NAME, "AAAA")).toMatchObject({ rcode: "NOERROR", values: [] });
    expect((await lookup(port, `_http._tcp.${NAME}`, "SRV")).values).toEqual([`0 100 80 ${NAME}`]);
    expect((await lookup(port, `nothing.shop.svc.${ALIAS}`, "A")).rcode).toBe("NXDOMAIN");
  } finally {
    await coredns.stop();
  }
}

describe("resolvers that forward by DNS over HTTPS, with the files of /setup", () => {
  test("CoreDNS with the server block, and with the ConfigMap's text", async () => {
    await expectZoneBy("coredns", await world.setupFile("coredns/Corefile"));
    const { data } = parse(await world.setupFile("coredns-kubernetes/coredns-custom.yaml"));
    await expectZoneBy("coredns-custom", data["clusterset-doh.server"]);
  });

  test("CoreDNS with the server block of a gateway with a self-signed certificate", async () => {
    const own = await startGatewayOfAPage(false);
    const block = await own.setupFile("coredns/Corefile");
    expect(block).toContain("        tls certificate.crt\n");
    // CoreDNS looks for it where it was started.
    writeFileSync(join(folder, "certificate.crt"), await own.setupFile("certificate/certificate.crt"));
    await expectZoneBy("coredns-self-signed", block).finally(() => own.stop());
  });
});
