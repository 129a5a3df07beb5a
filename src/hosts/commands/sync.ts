import { runSyncWorker } from "../../sync/worker.ts";
import type { Logger } from "../node/logger.ts";
import { readCertificates } from "../node/tls.ts";
import { readToken } from "../node/token-credentials.ts";
import { UsageError } from "../settings/usage-error.ts";
import { type ClusterZoneFlags, readClusterZone } from "./cluster-zone.ts";

/** Seconds. Watches on which nothing happens are confirmed about every 30 seconds. */
const LEAST_STALE_AFTER = 60;

/** Flags of `sync`. */
export interface SyncFlags extends ClusterZoneFlags {
  readonly gateway: readonly string[];
  readonly tokenFile: string;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly manifests?: string | undefined;
  readonly clusterId?: string | undefined;
  readonly caFile?: string | undefined;
  /** Seconds. */
  readonly lease?: number | undefined;
  /** Seconds. */
  readonly staleAfter?: number | undefined;
  readonly once?: boolean | undefined;
}

/**
 * Runs a sync worker until the signal is aborted, or until it has pushed once.
 * @throws {UsageError} where the flags do not allow it
 */
export async function sync(flags: SyncFlags, logger: Logger, signal: AbortSignal): Promise<void> {
  const { manifests, kubeconfig, context, clusterId, lease, staleAfter, tokenFile } = flags;
  if (manifests !== undefined && (kubeconfig ?? context) !== undefined)
    throw new UsageError("--manifests reads no API server: leave out --kubeconfig and --context");
  if (staleAfter !== undefined && staleAfter < LEAST_STALE_AFTER)
    throw new UsageError(
      `--stale-after must be at least ${LEAST_STALE_AFTER}: that long a quiet API server may be silent`,
    );
  const clusterZone = readClusterZone(flags);
  const gateways = flags.gateway.map(readGatewayUrl);
  const ca = flags.caFile === undefined ? undefined : await readCertificates(flags.caFile);
  // A missing token is told at once.
  await readToken(tokenFile);
  await runSyncWorker({
    source:
      manifests === undefined
        ? {
            kind: "kubernetes",
            ...(kubeconfig !== undefined && { kubeconfig }),
            ...(context !== undefined && { context }),
          }
        : { kind: "manifests", directory: manifests, watch: flags.once !== true },
    ...(clusterId !== undefined && { clusterId }),
    ...(clusterZone !== undefined && { clusterZone }),
    gateways,
    // Read anew for each request: a mounted Secret changes under a running worker.
    token: () => readToken(tokenFile),
    ...(lease !== undefined && { leaseSeconds: lease }),
    ...(staleAfter !== undefined && { staleAfterSeconds: staleAfter }),
    ...(ca !== undefined && { ca }),
    once: flags.once === true,
    signal,
    logger,
  });
}

function readGatewayUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== "" || url.username !== "")
    throw new UsageError(`--gateway ${JSON.stringify(text)} is no address such as https://doh.example:8443`);
  return url.href.replace(/\/+$/, "");
}
