import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { UsageError } from "../../../config/values.ts";
import { ClusterObjects } from "../../../worker/control/cluster-objects.ts";
import { Controller } from "../../../worker/control/controller.ts";
import { describeMissing, servedBy } from "../../../worker/control/crds.ts";
import type { ManagedObject } from "../../../worker/control/objects.ts";
import { listedKey, planChanges } from "../../../worker/control/plan.ts";
import type { GatewayAccess } from "../../../worker/gateway-client.ts";
import { GatewayRequests } from "../../../worker/gateway-requests.ts";
import type { KubernetesSource } from "../../../worker/kubernetes.ts";
import { SourceError, type SourceListener } from "../../../worker/object-source.ts";
import { FAILURES_ONCE } from "../../../worker/sync.ts";
import type { Logger } from "../process.ts";

/** Flags of `sync` for the control plane. */
export interface ControlFlags {
  /** `true`: on. `plan`: print what would change, and end. */
  readonly control?: boolean | string | undefined;
  readonly controlNamespace?: string | undefined;
  /** The name of the clusterset, if the ClusterProperties are to be written. */
  readonly clusterset?: string | undefined;
}

/** What the control plane shares with the worker that pushes. */
export interface ControlParts {
  readonly clusterId: string | undefined;
  readonly leaseSeconds: number;
  readonly gateways: readonly string[];
  readonly connection: GatewayAccess;
  readonly source: KubernetesSource;
  /** The name of what the worker reads. */
  readonly instance: () => string | undefined;
  readonly logger: Logger;
}

/**
 * Which way the control plane runs; undefined if it does not.
 * @throws {UsageError} if the flags do not go together
 */
export function readControlMode(
  { control, controlNamespace, clusterset }: ControlFlags,
  {
    clusterId,
    isManifests,
    once,
  }: { readonly clusterId: string | undefined; readonly isManifests: boolean; readonly once: boolean },
): "run" | "plan" | undefined {
  if (control === undefined || control === false) {
    if (controlNamespace !== undefined) throw new UsageError("--control-namespace needs --control");
    if (clusterset !== undefined) throw new UsageError("--clusterset needs --control");
    return undefined;
  }
  if (control !== true && control !== "plan")
    throw new UsageError(`--control takes no value, or plan; not ${JSON.stringify(control)}`);
  if (isManifests) throw new UsageError("--control writes to an API server: leave out --manifests");
  if (once) throw new UsageError("--control keeps running: leave out --once; --control=plan ends by itself");
  if (clusterId === undefined)
    throw new UsageError("--control needs --cluster-id: the gateway serves the desired state by this id");
  if (clusterset !== undefined && !/^\S{1,128}$/.test(clusterset))
    throw new UsageError("--clusterset needs a name of at most 128 characters without blanks");
  return control === "plan" ? "plan" : "run";
}

/** The control plane of the cluster that a worker reads. */
export function openControl(parts: ControlParts, { controlNamespace, clusterset }: ControlFlags): Controller {
  return new Controller({
    clusterId: parts.clusterId!,
    source: parts.source,
    gateways: openGateways(parts),
    leaseSeconds: parts.leaseSeconds,
    namespace: controlNamespace ?? podNamespace() ?? "clusterset-doh",
    identity: `${hostname()}-${randomUUID().slice(0, 8)}`,
    clusterset,
    logger: parts.logger,
  });
}

/**
 * Reads the cluster and its desired state once, and prints what `--control` would change.
 * @throws {SourceError} if the cluster cannot be read
 * @throws {GatewayError} if no gateway has the desired state
 */
export async function printPlan(
  parts: ControlParts,
  { clusterset }: ControlFlags,
  signal: AbortSignal,
): Promise<void> {
  const { clusterId, source, logger } = parts;
  const stop = new AbortController();
  const ended = AbortSignal.any([signal, stop.signal]);
  const objects = new ClusterObjects(() => undefined);
  const listed = new Map<string, ManagedObject>();
  const { promise: complete, resolve, reject } = Promise.withResolvers<void>();
  let failures = 0;
  const stopped = () => reject(new SourceError("STOPPED", "stopped before the cluster was read", false));
  ended.addEventListener("abort", stopped, { once: true });
  const listener: SourceListener = {
    upsert: (object) => {
      objects.upsert(object);
      if (object.kind !== "Namespace") listed.set(listedKey(object as never), object as never);
    },
    delete: (object) => objects.delete(object),
    changed: () => source.complete && resolve(),
    failed: (error) => (error.permanent || ++failures >= FAILURES_ONCE) && reject(error),
  };
  const reading = source.run(listener, ended);
  const gateways = openGateways(parts);
  try {
    await complete;
    const served = servedBy(source, clusterset);
    const missing = describeMissing(served);
    if (missing !== undefined) throw new UsageError(missing);
    const properties = clusterset ? { clusterset, version: served.clusterproperties! } : undefined;
    const { applied, removed, foreign } = await planChanges(
      {
        clusterId: clusterId!,
        gateways,
        objects,
        listed,
        logger,
        version: served.serviceimports!,
        properties,
        print: (line) => void process.stdout.write(`${line}\n`),
      },
      ended,
    );
    process.stdout.write(
      `${applied} to apply, ${removed} to delete, ${foreign} in the way; nothing was written\n`,
    );
  } finally {
    stop.abort();
    await reading;
    await Promise.all(gateways.map((gateway) => gateway.close()));
  }
}

function openGateways({ gateways, connection, instance }: ControlParts): GatewayRequests[] {
  return gateways.map((gateway) => new GatewayRequests({ ...connection, gateway, instance }));
}

/** The namespace of the pod; undefined outside Kubernetes. */
function podNamespace(): string | undefined {
  try {
    return readFileSync("/var/run/secrets/kubernetes.io/serviceaccount/namespace", "utf8").trim();
  } catch {
    return undefined;
  }
}
