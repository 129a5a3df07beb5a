import { join } from "node:path";
import { Agent, request } from "undici";
import { freePort } from "../ports.ts";
import { ServerProcess } from "../process.ts";
import { ensureTool } from "../tools/tools.ts";
import type { ApiServer } from "./api-server.ts";

/** What namespaces, Deployments, StatefulSets and EndpointSlices need; no controller of nodes. */
const controllers = [
  "deployment-controller",
  "replicaset-controller",
  "statefulset-controller",
  "endpointslice-controller",
  "namespace-controller",
  "garbage-collector-controller",
  "serviceaccount-controller",
];

export async function startControllerManager(server: ApiServer): Promise<ServerProcess> {
  const program = await ensureTool("kube-controller-manager");
  const port = await freePort();
  const agent = new Agent({ connect: { rejectUnauthorized: false } });
  const process = await ServerProcess.start({
    name: "kube-controller-manager",
    command: program,
    args: [
      `--kubeconfig=${server.kubeconfig()}`,
      `--controllers=${controllers.join(",")}`,
      "--leader-elect=false",
      "--bind-address=127.0.0.1",
      `--secure-port=${port}`,
      `--cert-dir=${join(server.folder, "controller-manager")}`,
      // etcd 3.4 has no progress notifications, without which lists by watch take up to 75 s.
      "--feature-gates=WatchListClient=false",
    ],
    folder: server.folder,
    ready: async () => {
      const { statusCode, body } = await request(`https://127.0.0.1:${port}/healthz`, { dispatcher: agent });
      await body.dump();
      return statusCode === 200;
    },
  });
  await agent.close();
  return process;
}
