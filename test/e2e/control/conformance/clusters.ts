import { readFileSync } from "node:fs";
import { startSyncedClusters } from "../../harness/synced-clusters.ts";
import type { ApiServer } from "../../servers/kubernetes/api-server.ts";
import { startControllerManager } from "../../servers/kubernetes/controller-manager.ts";
import { startKubeProxy } from "../../servers/kubernetes/kube-proxy.ts";
import { startKwok } from "../../servers/kubernetes/kwok.ts";
import { type NodeNetwork, startNodeNetwork } from "../../servers/kubernetes/node-network.ts";
import { runPods } from "../../servers/kubernetes/pod-processes.ts";

const contexts = ["cluster-a", "cluster-b"] as const;
/** The name of one of the two clusters. */
export type ClusterName = (typeof contexts)[number];
const NODE = "node-1";

/** Two whole clusters whose workers are control planes, behind one gateway that answers their pods. */
export interface Clusters {
  contexts: readonly string[];
  /** With a context for the administrator of each cluster. */
  kubeconfig: string;
  servers: Readonly<Record<ClusterName, ApiServer>>;
  networks: Readonly<Record<ClusterName, NodeNetwork>>;
}

/** Starts all of it in this process's network namespace, which must be made for it. */
export async function startClusters(): Promise<Clusters> {
  const networks = { "cluster-a": await startNodeNetwork(1), "cluster-b": await startNodeNetwork(2) };
  const listen = contexts.map((view) => ({ address: `${networks[view].router}:53`, view }));
  const { servers } = await startSyncedClusters(
    contexts,
    (started) => Promise.all(contexts.map((name) => complete(started[name], networks[name]))),
    {
      control: true,
      // etcd 3.4 has no progress notifications, without which kwok's watches end at once.
      apiServer: { args: ["--feature-gates=WatchList=false"] },
      gateway: { config: { access: { public: true }, dns: { listen } } },
      args: () => ["--cluster-zone", "cluster.local"],
    },
  );
  return { contexts, kubeconfig: administrators(servers), servers, networks };
}

/** Adds to an API server what makes it a cluster. */
async function complete(server: ApiServer, network: NodeNetwork): Promise<void> {
  await startControllerManager(server);
  await startKwok(server, { name: NODE, podCidrs: network.podCidrs, shell: network.shell });
  await startKubeProxy(server, NODE, network);
  runPods(server, network);
}

function administrators(servers: Readonly<Record<ClusterName, ApiServer>>): string {
  const access = contexts.map((name) => {
    const { clusters, users } = JSON.parse(readFileSync(servers[name].kubeconfig(), "utf8")) as {
      clusters: { cluster: object }[];
      users: { user: object }[];
    };
    return { name, cluster: clusters[0]!.cluster, user: users[0]!.user };
  });
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: access.map(({ name, cluster }) => ({ name, cluster })),
    users: access.map(({ name, user }) => ({ name, user })),
    contexts: contexts.map((name) => ({ name, context: { cluster: name, user: name } })),
    "current-context": contexts[0],
  });
}
