import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { certificateFor } from "./certificate.ts";
import { queryUdp } from "./dns.ts";
import { freePort } from "./ports.ts";
import { ServerProcess } from "./process.ts";
import { removeFolder, temporaryFolder } from "./tools/folders.ts";
import { ensureTool } from "./tools/tools.ts";

/** How the `kubernetes` plugin of a CoreDNS is set up. */
export interface KubernetesPlugin {
  /** The kubeconfig file of the cluster that is served. */
  kubeconfig: string;
  /** The zones with the names of that cluster; the first is the one that PTR records point into. */
  zones?: string[];
  /** The clusterset zones. */
  multiclusterZones?: string[];
  /** Further lines of the plugin's block, such as `ttl 30`. */
  lines?: string[];
}

/** A CoreDNS in its own process. */
export interface CoreDns {
  /** Plain DNS over UDP and TCP on 127.0.0.1. */
  port: number;
  /** Where it answers DoH, if that was asked for, and the PEM text to check its certificate against. */
  doh?: { url: string; ca: string };
  folder: string;
  process: ServerProcess;
  /** Stops it and removes the folder. */
  stop(): Promise<void>;
}

/** The Corefile text of a `kubernetes` plugin; the reverse zones are served as well. */
export function kubernetesPlugin(options: KubernetesPlugin): string {
  const {
    kubeconfig,
    zones = ["cluster.local"],
    multiclusterZones = ["clusterset.local"],
    lines = [],
  } = options;
  const all = [...zones, ...multiclusterZones, "in-addr.arpa", "ip6.arpa"];
  const multicluster = multiclusterZones.length > 0 ? [`multicluster ${multiclusterZones.join(" ")}`] : [];
  const block = [`kubeconfig ${kubeconfig}`, ...multicluster, ...lines];
  return [`kubernetes ${all.join(" ")} {`, ...block.map((line) => `  ${line}`), "}"].join("\n");
}

/**
 * Starts a CoreDNS on a free loopback port with the given plugins, each one or several lines of a Corefile,
 * and waits until all of them are ready. With `doh` it answers the same over HTTPS on a second port.
 */
export async function startCoreDns(
  plugins: string[],
  options: { name?: string; doh?: boolean } = {},
): Promise<CoreDns> {
  const coredns = await ensureTool("coredns");
  const name = options.name ?? "coredns";
  const folder = temporaryFolder(name);
  const port = await freePort();
  const readyPort = await freePort();
  const doh = options.doh ? await dohSetup(folder) : undefined;
  const addresses = [`.:${port}`, ...(doh ? [`https://.:${doh.port}`] : [])];
  const common = [
    "bind 127.0.0.1",
    "errors",
    `ready 127.0.0.1:${readyPort}`,
    ...(doh ? [doh.tlsPlugin] : []),
  ];
  const lines = [...common, ...plugins].join("\n").split("\n");
  const corefile = join(folder, "Corefile");
  writeFileSync(
    corefile,
    [`${addresses.join(" ")} {`, ...lines.map((line) => `  ${line}`), "}", ""].join("\n"),
  );
  const process = await ServerProcess.start({
    name: "coredns",
    command: coredns,
    args: ["-conf", corefile],
    folder,
    ready: async () => {
      const { statusCode, body } = await request(`http://127.0.0.1:${readyPort}/ready`);
      await body.dump();
      // The plugins may be ready before the sockets are open, so the DNS port is asked as well.
      return statusCode === 200 && (await queryUdp(port, { name: "ready.test", type: "A" })).raw.length > 0;
    },
  });
  const stop = async () => {
    await process.stop();
    removeFolder(folder);
  };
  return { port, folder, process, stop, ...(doh ? { doh: { url: doh.url, ca: doh.ca } } : {}) };
}

async function dohSetup(
  folder: string,
): Promise<{ port: number; url: string; ca: string; tlsPlugin: string }> {
  const port = await freePort();
  const { certPath, keyPath, cert } = await certificateFor(folder);
  return {
    port,
    url: `https://127.0.0.1:${port}/dns-query`,
    ca: cert,
    tlsPlugin: `tls ${certPath} ${keyPath}`,
  };
}
