import { chmodSync, copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram } from "../servers/apt.ts";
import { startCoreDns } from "../servers/coredns.ts";
import { queryTcp, queryUdp } from "../servers/dns.ts";
import { removeFolder, temporaryFolder } from "../servers/folders.ts";
import { freePort } from "../servers/ports.ts";
import { ServerProcess } from "../servers/process.ts";
import { ensureTools } from "../servers/tools.ts";
import { DB, ZONE } from "./listening-gateway.ts";
import { ensureResolved } from "./resolved.ts";

/** A resolver that forwards the zone to the gateway, and answers on 127.0.0.1. */
export interface Resolver {
  readonly port: number;
  log(): string;
  stop(): Promise<void>;
}

/** How a resolver reaches the gateway. */
export interface Upstream {
  readonly port: number;
  /** The file with the certificate to trust for `localhost`; plain DNS without. */
  readonly caFile?: string;
}

/** CoreDNS with its `forward` plugin. */
export async function startCoreDnsForwarder({ port, caFile }: Upstream): Promise<Resolver> {
  const scheme = caFile === undefined ? "dns" : "tls";
  const tls = caFile === undefined ? [] : [`  tls ${caFile}`, "  tls_servername localhost"];
  const forward = [`forward ${ZONE} ${scheme}://127.0.0.1:${port} {`, ...tls, "}"].join("\n");
  const coredns = await startCoreDns([forward], { name: "coredns-forward" });
  return { port: coredns.port, log: () => coredns.process.log(), stop: coredns.stop };
}

/** unbound with a `forward-zone`. */
export async function startUnbound({ port: upstream, caFile }: Upstream): Promise<Resolver> {
  await ensureTools();
  const folder = temporaryFolder("unbound");
  const port = await freePort();
  const address = caFile === undefined ? `127.0.0.1@${upstream}` : `127.0.0.1@${upstream}#localhost`;
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
    // Its own answers to .test would be there first, and it asks nobody on loopback unless told.
    '  local-zone: "test." nodefault',
    "  do-not-query-localhost: no",
    ...(caFile === undefined ? [] : [`  tls-cert-bundle: "${caFile}"`]),
    "forward-zone:",
    `  name: "${ZONE}"`,
    `  forward-addr: ${address}`,
    `  forward-tls-upstream: ${caFile === undefined ? "no" : "yes"}`,
  ];
  const config = join(folder, "unbound.conf");
  writeFileSync(config, `${lines.join("\n")}\n`);
  return start("unbound", findProgram("unbound")!, ["-d", "-c", config], folder, port);
}

/** dnsmasq with `server=/zone/`; it speaks plain DNS only. */
export async function startDnsmasq({ port: upstream }: Upstream): Promise<Resolver> {
  await ensureTools();
  const folder = temporaryFolder("dnsmasq");
  const port = await freePort();
  const args = [
    "--keep-in-foreground",
    "--conf-file=/dev/null",
    "--log-facility=-",
    "--no-resolv",
    "--no-hosts",
    "--pid-file=",
    "--user=",
    "--listen-address=127.0.0.1",
    "--bind-interfaces",
    `--port=${port}`,
    `--server=/${ZONE}/127.0.0.1#${upstream}`,
  ];
  return start("dnsmasq", findProgram("dnsmasq")!, args, folder, port);
}

/**
 * systemd-resolved with a routing domain, in a mount namespace of its own: neither its files nor those of this machine
 * are seen by the other. It starts as root and goes on as its own user.
 */
export async function startResolved({ port: upstream, caFile }: Upstream): Promise<Resolver> {
  const { program, libraries } = await ensureResolved();
  const folder = temporaryFolder("resolved");
  const port = await freePort();
  const config = [
    "[Resolve]",
    `DNS=127.0.0.1:${upstream}${caFile === undefined ? "" : "#localhost"}`,
    `DNSOverTLS=${caFile === undefined ? "no" : "yes"}`,
    `Domains=~${ZONE}`,
    "FallbackDNS=",
    "DNSSEC=no",
    "LLMNR=no",
    "MulticastDNS=no",
    "DNSStubListener=no",
    `DNSStubListenerExtra=127.0.0.1:${port}`,
  ];
  writeFileSync(join(folder, "resolved.conf"), `${config.join("\n")}\n`);
  const readable = caFile === undefined ? undefined : readableCopy(caFile);
  // It looks for its user by name, which only its package's installation makes.
  const script = `set -e
mount --make-rprivate /
mkdir -p /run/systemd
mount -t tmpfs tmpfs /run/systemd
mount -t tmpfs tmpfs /etc/systemd
cp "${folder}/resolved.conf" /etc/systemd/resolved.conf
if ! getent passwd systemd-resolve > /dev/null; then
  (cat /etc/passwd; echo systemd-resolve:x:65533:65533::/:/usr/sbin/nologin) > "${folder}/passwd"
  (cat /etc/group; echo systemd-resolve:x:65533:) > "${folder}/group"
  mount --bind "${folder}/passwd" /etc/passwd
  mount --bind "${folder}/group" /etc/group
fi
exec "${program}"`;
  const env = {
    SYSTEMD_LOG_TARGET: "console",
    SYSTEMD_LOG_LEVEL: "debug",
    LD_LIBRARY_PATH: libraries,
    ...(readable !== undefined && { SSL_CERT_FILE: readable.file }),
  };
  const resolver = await start(
    "systemd-resolved",
    "unshare",
    ["--mount", "sh", "-c", script],
    folder,
    port,
    env,
  );
  return {
    ...resolver,
    stop: async () => {
      await resolver.stop();
      if (readable !== undefined) removeFolder(readable.folder);
    },
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
): Promise<Resolver> {
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
  return { port, log: () => server.log(), stop };
}
