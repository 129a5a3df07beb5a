import { type ApiServer, startApiServer } from "../servers/kubernetes/api-server.ts";
import { kubeconfigOfControl, kubeconfigOfWorker } from "./infra.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "./processes.ts";

/** API servers with a worker each, and the gateway that they push to. */
export interface SyncedClusters<ClusterId extends string> {
  readonly servers: Readonly<Record<ClusterId, ApiServer>>;
  readonly workers: Readonly<Record<ClusterId, SyncProcess>>;
  readonly gateway: GatewayProcess;
  /** Ends all of it, workers first. */
  stop(): Promise<void>;
}

/**
 * Starts an API server for each cluster id and a gateway, applies what `fill` applies, then starts the
 * workers with the rights of infra/kubernetes.
 */
export async function startSyncedClusters<const ClusterId extends string>(
  clusterIds: readonly ClusterId[],
  fill: (servers: Readonly<Record<ClusterId, ApiServer>>) => Promise<unknown>,
  {
    apiServer = {},
    gateway: more = {},
    control = false,
    args = () => [],
    env = {},
  }: {
    apiServer?: Parameters<typeof startApiServer>[0];
    gateway?: Parameters<typeof startGateway>[0];
    /** Whether the workers are control planes, too, with the rights of that component. */
    control?: boolean;
    /** Further flags of the workers. */
    args?: (clusterId: ClusterId) => string[];
    /** Further variables of their environment. */
    env?: Readonly<Record<string, string>>;
  } = {},
): Promise<SyncedClusters<ClusterId>> {
  const [gateway, ...started] = await Promise.all([
    startGateway({ clusters: [...clusterIds], ...(control && { control: [...clusterIds] }), ...more }),
    ...clusterIds.map((name) => startApiServer({ name, ...apiServer })),
  ]);
  const servers = byCluster(clusterIds, (_, index) => started[index]!);
  const stopAll = async () => {
    await Promise.all([gateway.stop(), ...started.map((server) => server.stop())]);
  };
  try {
    await fill(servers);
    const kubeconfigs = await Promise.all(
      started.map((server) => (control ? kubeconfigOfControl(server) : kubeconfigOfWorker(server))),
    );
    const workers = byCluster(clusterIds, (clusterId, index) =>
      startSync({
        clusterId,
        kubeconfig: kubeconfigs[index]!,
        gateways: [gateway],
        args: [...(control ? ["--control"] : []), ...args(clusterId)],
        env,
      }),
    );
    return {
      servers,
      workers,
      gateway,
      async stop() {
        await Promise.all(Object.values<SyncProcess>(workers).map((worker) => worker.stop()));
        await stopAll();
      },
    };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

function byCluster<ClusterId extends string, Value>(
  clusterIds: readonly ClusterId[],
  make: (clusterId: ClusterId, index: number) => Value,
): Record<ClusterId, Value> {
  return Object.fromEntries(clusterIds.map((id, index) => [id, make(id, index)])) as Record<ClusterId, Value>;
}
