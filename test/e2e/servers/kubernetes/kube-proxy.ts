import { request } from "undici";
import { FaultProxy } from "../network.ts";
import { freePort } from "../ports.ts";
import { ServerProcess } from "../process.ts";
import { ensureTool } from "../tools/tools.ts";
import type { ApiServer } from "./api-server.ts";
import type { NodeNetwork } from "./node-network.ts";

/** Starts a kube-proxy with nftables in the network of a node. */
export async function startKubeProxy(
  server: ApiServer,
  nodeName: string,
  network: NodeNetwork,
): Promise<ServerProcess> {
  const program = await ensureTool("kube-proxy");
  // The API server listens on this machine's loopback interface.
  const way = await FaultProxy.start(Number(new URL(server.url).port), network.router);
  const kubeconfig = server.kubeconfig(undefined, { host: network.router, port: way.port });
  const health = `${network.address}:${await freePort()}`;
  const [command, ...args] = network.namespace.command(
    program,
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${nodeName}`,
    "--proxy-mode=nftables",
    `--healthz-bind-address=${health}`,
    `--metrics-bind-address=${network.address}:${await freePort()}`,
    // These are settings of the whole machine.
    "--conntrack-max-per-core=0",
    "--conntrack-tcp-timeout-established=0s",
    "--conntrack-tcp-timeout-close-wait=0s",
    "--feature-gates=WatchListClient=false",
  );
  return ServerProcess.start({
    name: "kube-proxy",
    command,
    args,
    folder: server.folder,
    ready: async () => {
      const { statusCode, body } = await request(`http://${health}/healthz`);
      await body.dump();
      return statusCode === 200;
    },
  });
}
