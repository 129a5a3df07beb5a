import { parseListenAddress, UsageError } from "../../config/values.ts";
import type { NodeAddressType } from "../../extract/services/local-service.ts";
import { INSTANCE_NAME } from "../../snapshot/schema.ts";
import type { Controller } from "../../worker/control/controller.ts";
import { KubernetesSource } from "../../worker/kubernetes.ts";
import { ManifestSource } from "../../worker/manifest-source.ts";
import { DEFAULT_LEASE_SECONDS, openSyncWorker } from "../../worker/sync.ts";
import type { Logger } from "../node/process.ts";
import { type ControlFlags, openControl, printPlan, readControlMode } from "../node/worker/control.ts";
import { startWorkerServer } from "../node/worker/worker-server.ts";
import { type GatewayFlags, readAccess, readGatewayUrl } from "./flags.ts";
import { type ClusterZoneFlags, readClusterZone } from "./offline-world.ts";

/** Seconds. A watch without events is confirmed about every 30 seconds. */
const LEAST_STALE_AFTER = 60;

/** Flags of `sync`. */
interface SyncFlags extends ClusterZoneFlags, ControlFlags, GatewayFlags {
  readonly gateway: readonly string[];
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly manifests?: string | undefined;
  readonly allowBroken?: boolean | undefined;
  readonly clusterId?: string | undefined;
  readonly instance?: string | undefined;
  readonly nodeAddresses?: NodeAddressType | undefined;
  /** Seconds. */
  readonly lease?: number | undefined;
  /** Seconds. */
  readonly staleAfter?: number | undefined;
  readonly once?: boolean | undefined;
  /** `HOST:PORT` for probes and metrics. */
  readonly listen?: string | undefined;
}

/**
 * Runs a sync worker until the signal is aborted, or until it has pushed once.
 * @throws {UsageError} if the flags are invalid
 */
export async function sync(flags: SyncFlags, logger: Logger, signal: AbortSignal): Promise<void> {
  const { manifests, kubeconfig, context, clusterId, nodeAddresses, lease, staleAfter } = flags;
  if (manifests !== undefined && (kubeconfig ?? context) !== undefined)
    throw new UsageError("--manifests reads no API server: leave out --kubeconfig and --context");
  if (flags.instance !== undefined && !INSTANCE_NAME.test(flags.instance))
    throw new UsageError("--instance must have 1 to 64 characters of A-Z a-z 0-9 . _ -");
  if (flags.allowBroken === true && manifests === undefined)
    throw new UsageError("--allow-broken is for --manifests");
  if (kubeconfig === "" || context === "")
    throw new UsageError(
      "--kubeconfig and --context need a value: an empty one may be a variable that is not set",
    );
  if (staleAfter !== undefined && staleAfter < LEAST_STALE_AFTER)
    throw new UsageError(
      `--stale-after must be at least ${LEAST_STALE_AFTER} seconds: a quiet API server may be silent for so long`,
    );
  // In Kubernetes it comes from a ConfigMap, where it is easily forgotten.
  if (clusterId?.trim() === "")
    throw new UsageError(
      "--cluster-id is empty: give the cluster id that the gateway's push.credentials have for this token; the manifests take it from clusterId in the ConfigMap sync-worker",
    );
  const listen = flags.listen === undefined ? undefined : parseListenAddress(flags.listen);
  if (listen !== undefined && flags.once === true)
    throw new UsageError("--listen is for a worker that keeps running: leave out --once");
  const isManifests = manifests !== undefined;
  const mode = readControlMode(flags, { clusterId, isManifests, once: flags.once === true });
  const clusterZone = readClusterZone(flags);
  const gateways = flags.gateway.map(readGateway);
  const connection = await readAccess(flags);
  if (connection.token === undefined && connection.clientCertificate === undefined)
    throw new UsageError(
      "the gateways need a credential of this cluster: give --token-file or --client-cert-file",
    );
  const leaseSeconds = lease ?? DEFAULT_LEASE_SECONDS;
  const once = flags.once === true;
  const source =
    manifests === undefined
      ? new KubernetesSource({
          kubeconfig,
          context,
          // The control plane writes the ClusterProperties.
          clusterIdGiven: clusterId !== undefined && flags.clusterset === undefined,
          pods: clusterZone?.pods === "verified",
          nodeAddresses: nodeAddresses !== undefined,
          logger,
        })
      : new ManifestSource({ directory: manifests, watch: !once, allowBroken: flags.allowBroken, logger });
  let control: Controller | undefined;
  if (mode !== undefined && source instanceof KubernetesSource) {
    const instance = () => flags.instance ?? source.instance;
    const parts = { clusterId, leaseSeconds, gateways, connection, source, instance, logger };
    if (mode === "plan") return printPlan(parts, flags, signal);
    control = openControl(parts, flags);
  }
  const worker = openSyncWorker({
    source,
    clusterId,
    instance: flags.instance,
    clusterZone,
    nodeAddresses,
    gateways,
    ...connection,
    follower: control,
    leaseSeconds,
    staleAfterSeconds: staleAfter,
    once,
    signal,
    logger,
  });
  const status = () => ({ ...worker.status(), ...(control !== undefined && { control: control.status() }) });
  const server = listen && (await startWorkerServer(listen, status));
  if (server !== undefined)
    logger.info({ event: "listening", port: server.port }, "serving /healthz, /readyz and /metrics");
  try {
    const stop = new AbortController();
    const controlling = control?.run(AbortSignal.any([signal, stop.signal]));
    await worker.run().finally(() => stop.abort());
    await controlling;
  } finally {
    await server?.close();
  }
}

function readGateway(text: string): string {
  const hint = text === "" ? "; the manifests take it from gateway in the ConfigMap sync-worker" : "";
  return readGatewayUrl("--gateway", text, hint).href.replace(/\/+$/, "");
}
