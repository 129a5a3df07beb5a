import { afterAll, beforeAll, expect, test } from "vitest";
import { blocksIn } from "../../../docs/pages.ts";
import { shorten } from "../../harness/gateway-client.ts";
import { queryUdp } from "../../servers/dns.ts";
import { freePort } from "../../servers/ports.ts";
import { ServerProcess } from "../../servers/process.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { ensureTool } from "../../servers/tools/tools.ts";
import { type GatewayOfAPage, NAME, startGatewayOfAPage } from "../gateway-of-a-page.ts";

let world: GatewayOfAPage;

beforeAll(async () => {
  world = await startGatewayOfAPage(true);
});
afterAll(() => world?.stop());

/** Starts AdGuard's dnsproxy on a port of 127.0.0.1, waits until it answers, and stops it after `use`. */
async function withDnsproxy(args: readonly string[], use: (port: number) => Promise<void>): Promise<void> {
  const port = await freePort();
  const proxy = await ServerProcess.start({
    name: "dnsproxy",
    command: await ensureTool("dnsproxy"),
    args: ["--listen=127.0.0.1", ...args, `--port=${port}`],
    folder: temporaryFolder("dnsproxy"),
    env: { SSL_CERT_FILE: world.gateway.caFile },
    ready: async () => (await queryUdp(port, { name: NAME, type: "A" })).rcode === "NOERROR",
  });
  try {
    await use(port);
  } finally {
    await proxy.stop();
  }
}

test("AdGuard's dnsproxy answers with the upstream line of /setup, and sends other names elsewhere", async () => {
  const upstream = (await world.setupFile("adguard/adguard-upstream.txt")).trim();
  // Nothing listens there.
  const args = [`--upstream=${upstream}`, "--upstream=127.0.0.1:9", "--timeout=2s"];
  await withDnsproxy(args, async (port) => {
    const ask = async (name: string) => shorten(await queryUdp(port, { name, type: "A", edns: true }));
    expect(await ask(NAME)).toMatchObject({ rcode: "NOERROR", values: ["127.0.0.1"] });
    expect((await ask("example.org")).rcode).toBe("SERVFAIL");
  });
});

test("dnsproxy answers with the command of the page about two gateways", async () => {
  const [command, ...args] = blocksIn("docs/how-to/deploy/two-gateways.md", "sh")[1]!
    .replaceAll("\\\n", "")
    .replace(/https:\/\/192\.0\.2\.5[34]/g, world.gateway.url)
    .trim()
    .split(/\s+/);
  expect(command).toBe("dnsproxy");
  await withDnsproxy(
    args.filter((arg) => !/^--(port|listen)=/.test(arg)),
    async () => {},
  );
});
