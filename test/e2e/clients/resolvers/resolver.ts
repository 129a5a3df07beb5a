import { chmodSync, copyFileSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RecordType } from "dns-packet";
import { expect } from "vitest";
import { blocksIn } from "../../../docs/pages.ts";
import { metric } from "../../harness/answers.ts";
import { type Lookup, shorten } from "../../harness/gateway-client.ts";
import { startCoreDns } from "../../servers/coredns.ts";
import { queryTcp, queryUdp } from "../../servers/dns.ts";
import { freePort } from "../../servers/ports.ts";
import { ServerProcess } from "../../servers/process.ts";
import { unpackPackages } from "../../servers/tools/apt.ts";
import { removeFolder, temporaryFolder } from "../../servers/tools/folders.ts";
import { ensureTool } from "../../servers/tools/tools.ts";
import { DB, type ListeningGateway, WEB, ZONE } from "../listening-gateway.ts";

interface Reached {
  readonly port: number;
  readonly caFile?: string;
}

/** A resolver that forwards the zone to the gateway, and answers on 127.0.0.1. */
export type Resolver = Pick<Awaited<ReturnType<typeof start>>, "port" | "stop">;

/** Forwards to a gateway's DNS over TLS or plain DNS. @param text its settings, else those of plain-dns.md */
export function startResolver(
  program: keyof typeof PROGRAMS,
  by: "dot" | "udp",
  { gateway, dotPort, dnsPort }: ListeningGateway,
  text?: string,
): Promise<Resolver> {
  const upstream = by === "dot" ? { port: dotPort, caFile: gateway.caFile } : { port: dnsPort };
  return PROGRAMS[program](upstream, text);
}

export const lookupBy = async ({ port }: Resolver, name: string, type: RecordType): Promise<Lookup> =>
  shorten(await queryUdp(port, { name, type, edns: true }));

/** Expects what the gateway has at `WEB`, and that there is no other name. */
export async function expectWebBy(resolver: Resolver): Promise<void> {
  const values = ["10.96.1.10", "10.96.2.10"];
  expect(await lookupBy(resolver, WEB, "A")).toMatchObject({ rcode: "NOERROR", values });
  expect((await lookupBy(resolver, WEB, "AAAA")).values).toEqual(["fd00:96::10"]);
  expect((await lookupBy(resolver, `_https._tcp.${WEB}`, "SRV")).values).toEqual([`0 100 443 ${WEB}`]);
  const nothing = await lookupBy(resolver, `nothing.shop.svc.${ZONE}`, "A");
  expect(nothing).toMatchObject({ rcode: "NXDOMAIN", values: [] });
}

/** How many queries of type A a gateway has answered by that transport. */
export function answeredBy(transport: "udp" | "tcp" | "dot", { gateway }: ListeningGateway): Promise<number> {
  const labels = { transport, view: "outside", outcome: "answer", type: "A" };
  return metric(gateway, "clusterset_doh_queries_total", labels);
}

/** CoreDNS with the `forward` plugin of docs/how-to/plain-dns.md, or of another server block. */
export async function startCoreDnsForwarder(
  upstream: Reached,
  block = documented("corefile", upstream.caFile === undefined ? 1 : 0, upstream),
): Promise<Resolver> {
  // The server block of a test listens on a port of its own; its plugins are those of the document.
  const plugins = block
    .replace(/^\S+ \{\n/, "")
    .replace(/\}\n$/, "")
    .replace("    errors\n", "");
  const coredns = await startCoreDns([plugins.trimEnd()], { name: "coredns-forward" });
  return { port: coredns.port, stop: coredns.stop };
}

/** unbound with the documented `forward-zone` or another; it drops private addresses and validates. */
export async function startUnbound(
  upstream: Reached,
  zone = documented("unbound", upstream.caFile === undefined ? 1 : 0, upstream),
): Promise<Resolver> {
  const program = await ensureTool("unbound");
  const folder = temporaryFolder("unbound");
  const port = await freePort();
  const lines = [
    "server:",
    "  interface: 127.0.0.1",
    `  port: ${port}`,
    "  do-daemonize: no",
    '  username: ""',
    '  chroot: ""',
    '  pidfile: ""',
    `  directory: "${folder}"`,
    "  use-syslog: no",
    '  logfile: ""',
    "  verbosity: 1",
    // By default it sends no queries to loopback.
    "  do-not-query-localhost: no",
    "  private-address: 10.0.0.0/8",
    "  private-address: fd00::/8",
    '  module-config: "validator iterator"',
    '  trust-anchor: ". DS 20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D"',
    zone,
  ];
  const config = join(folder, "unbound.conf");
  writeFileSync(config, lines.join("\n"));
  return start("unbound", program, ["-d", "-c", config], folder, port);
}

/** dnsmasq with the documented lines or others; it drops private addresses and speaks plain DNS only. */
async function startDnsmasq(
  upstream: Reached,
  lines = documented("dnsmasq", 0, upstream),
): Promise<Resolver> {
  const program = await ensureTool("dnsmasq");
  const folder = temporaryFolder("dnsmasq");
  const port = await freePort();
  const config = join(folder, "dnsmasq.conf");
  writeFileSync(config, lines);
  const args = [
    "--keep-in-foreground",
    `--conf-file=${config}`,
    "--log-facility=-",
    "--no-resolv",
    "--no-hosts",
    "--pid-file=",
    "--user=",
    "--stop-dns-rebind",
    "--listen-address=127.0.0.1",
    "--bind-interfaces",
    `--port=${port}`,
  ];
  return start("dnsmasq", program, args, folder, port);
}

/** systemd-resolved with the documented settings or others, in namespaces of its own that end with it. */
async function startResolved(
  upstream: Reached,
  settings = documented("resolved", 0, upstream),
): Promise<Resolver> {
  const { program, libraries } = await ensureResolved();
  const folder = temporaryFolder("resolved");
  const port = await freePort();
  const { caFile } = upstream;
  const own = ["[Resolve]", "FallbackDNS=", "DNSStubListener=no", `DNSStubListenerExtra=127.0.0.1:${port}`];
  writeFileSync(join(folder, "clusterset.conf"), settings);
  writeFileSync(join(folder, "own.conf"), `${own.join("\n")}\n`);
  const readable = readableCopy(caFile!);
  const drop = "/etc/systemd/resolved.conf.d";
  // It looks for its user by name, which only its package's installation makes.
  const script = `set -e
mount --make-rprivate /
mkdir -p /run/systemd
mount -t tmpfs tmpfs /run/systemd
mount -t tmpfs tmpfs /etc/systemd
mkdir ${drop}
cp "${folder}/clusterset.conf" "${folder}/own.conf" ${drop}
if ! getent passwd systemd-resolve > /dev/null; then
  (cat /etc/passwd; echo systemd-resolve:x:65533:65533::/:/usr/sbin/nologin) > "${folder}/passwd"
  (cat /etc/group; echo systemd-resolve:x:65533:) > "${folder}/group"
  mount --bind "${folder}/passwd" /etc/passwd
  mount --bind "${folder}/group" /etc/group
fi
"${program}" &
wait`;
  const env = {
    SYSTEMD_LOG_TARGET: "console",
    SYSTEMD_LOG_LEVEL: "debug",
    LD_LIBRARY_PATH: libraries,
    SSL_CERT_FILE: readable.file,
  };
  const resolver = await start(
    "systemd-resolved",
    "unshare",
    ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script],
    folder,
    port,
    env,
  );
  return {
    ...resolver,
    stop: async () => {
      // unshare passes on no other signal.
      await resolver.process.kill();
      await resolver.stop();
      removeFolder(readable.folder);
    },
  };
}

const PROGRAMS = {
  CoreDNS: startCoreDnsForwarder,
  unbound: startUnbound,
  dnsmasq: startDnsmasq,
  "systemd-resolved": startResolved,
};

/** A block of docs/how-to/plain-dns.md, with the place of this gateway in it. */
function documented(language: string, index: number, { port, caFile }: Reached): string {
  const block = blocksIn("docs/how-to/plain-dns.md", language)[index]!;
  const placed = block.replace(/192\.0\.2\.53([:@#])(?:53|853)\b/, `127.0.0.1$1${port}`);
  if (placed === block || placed.includes("192.0.2.53"))
    throw new Error(`the block does not name one place:\n${block}`);
  return caFile === undefined ? placed : placed.replaceAll("/etc/ssl/clusterset-doh.crt", caFile);
}

/** systemd-resolved and its libraries, not installed: that would make it this machine's resolver. */
async function ensureResolved() {
  if (process.getuid?.() !== 0)
    throw new Error("systemd-resolved starts as root, in a mount namespace: run this as root");
  const root = await unpackPackages("systemd-resolved", "libsystemd-shared");
  const programs = ["usr/lib", "lib"].map((folder) => join(root, folder, "systemd/systemd-resolved"));
  const libraries = readdirSync(join(root, "usr/lib")).map((name) => join(root, "usr/lib", name, "systemd"));
  return {
    program: programs.find((path) => existsSync(path))!,
    libraries: libraries.filter((path) => existsSync(path)).join(":"),
  };
}

/** A copy that every user of the machine may read. */
function readableCopy(caFile: string): { file: string; folder: string } {
  const folder = mkdtempSync(join(tmpdir(), "clusterset-doh-e2e-ca-"));
  chmodSync(folder, 0o755);
  const file = join(folder, "ca.crt");
  copyFileSync(caFile, file);
  chmodSync(file, 0o644);
  return { file, folder };
}

async function start(
  name: string,
  command: string,
  args: string[],
  folder: string,
  port: number,
  env: Record<string, string> = {},
) {
  const server = await ServerProcess.start({
    name,
    command,
    args,
    folder,
    env,
    ready: async () => {
      const query = { name: DB, type: "A", edns: true } as const;
      return (
        (await queryUdp(port, query)).rcode === "NOERROR" && (await queryTcp(port, query)).rcode === "NOERROR"
      );
    },
  });
  const stop = async () => {
    await server.stop();
    removeFolder(folder);
  };
  return { port, process: server, stop };
}
