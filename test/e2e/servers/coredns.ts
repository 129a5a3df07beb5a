import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "undici";
import { certificateFor } from "./certificate.ts";
import { queryUdp } from "./dns.ts";
import { freePort } from "./ports.ts";
import { ServerProcess } from "./process.ts";
import { removeFolder, temporaryFolder } from "./tools/folders.ts";
import { ensureTool } from "./tools/tools.ts";

export type CoreDns = Awaited<ReturnType<typeof startCoreDns>>;

/** The Corefile text of a `kubernetes` plugin. @param lines further ones of its block, such as `ttl 30` */
export function kubernetesPlugin({ kubeconfig, lines = [] }: { kubeconfig: string; lines?: string[] }) {
  const block = [`kubeconfig ${kubeconfig}`, "multicluster clusterset.local", ...lines];
  const zones = "cluster.local clusterset.local in-addr.arpa ip6.arpa";
  return [`kubernetes ${zones} {`, ...block.map((line) => `  ${line}`), "}"].join("\n");
}

/** Starts a CoreDNS with these plugins (lines of a Corefile) on loopback. @param options `doh`: HTTPS, too */
export async function startCoreDns(plugins: string[], options: { name?: string; doh?: boolean } = {}) {
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
  return { port, folder, process, stop, doh };
}

async function dohSetup(folder: string) {
  const port = await freePort();
  const { certPath, keyPath, cert } = await certificateFor(folder);
  const url = `https://127.0.0.1:${port}/dns-query`;
  return { port, url, ca: cert, tlsPlugin: `tls ${certPath} ${keyPath}` };
}
