import { ABOUT_GROUP, CLUSTER_ID_PROPERTY } from "../../extract/objects.ts";
import type { KubernetesSource } from "../kubernetes.ts";
import type { SyncLogger } from "../object-source.ts";
import { isManaged, MULTICLUSTER_GROUP, mark } from "./objects.ts";
import type { ReconcileContext } from "./reconcile.ts";

/**
 * The version in which the API server serves each resource that the control plane writes; undefined while its
 * CRD is missing.
 */
export interface ServedVersions {
  readonly serviceimports: string | undefined;
  readonly serviceexports: string | undefined;
  /** Only looked at where ClusterProperties are written. */
  readonly clusterproperties?: string | undefined;
}

const NEWEST = "v1beta1";
const MCS_CRDS = "https://raw.githubusercontent.com/kubernetes-sigs/mcs-api/v0.5.2/config/crd";
/** No release of that project has the file. */
const ABOUT_CRDS =
  "https://raw.githubusercontent.com/kubernetes-sigs/about-api/2e06e60c3555205e5d8eb803ee3ee297ef6ecaec/config/crd";
const GROUPS: Readonly<Record<keyof ServedVersions, readonly [group: string, crds: string]>> = {
  serviceimports: [MULTICLUSTER_GROUP, MCS_CRDS],
  serviceexports: [MULTICLUSTER_GROUP, MCS_CRDS],
  clusterproperties: [ABOUT_GROUP, ABOUT_CRDS],
};

/** The command that installs or updates a CRD, as it is published. */
export function applyCrd(resource: keyof ServedVersions): string {
  const [group, crds] = GROUPS[resource];
  return `kubectl apply --server-side --filename ${crds}/${group}_${resource}.yaml`;
}

/** @param clusterset the name of the clusterset, if the ClusterProperties are to be written */
export function servedBy(source: KubernetesSource, clusterset: string | undefined): ServedVersions {
  return {
    serviceimports: source.versionOf("serviceimports", MULTICLUSTER_GROUP),
    serviceexports: source.versionOf("serviceexports", MULTICLUSTER_GROUP),
    ...(clusterset && { clusterproperties: source.versionOf("clusterproperties", ABOUT_GROUP) }),
  };
}

/** What is missing, and what to apply; undefined if the API server serves everything. */
export function describeMissing(served: ServedVersions): string | undefined {
  const missing = resourcesOf(served).filter((resource) => served[resource] === undefined);
  if (missing.length === 0) return undefined;
  const names = missing.map((resource) => `${resource}.${GROUPS[resource][0]}`).join(" and ");
  return `the API server does not serve ${names}: ${missing.map(applyCrd).join(" && ")}`;
}

/** Logs which versions are used and which CRDs are missing. */
export function logServed(served: ServedVersions, logger: SyncLogger): void {
  const missing = describeMissing(served);
  if (missing !== undefined) logger.warn({ ...served }, missing);
  const older = resourcesOf(served).filter((one) => (served[one] ?? NEWEST) < NEWEST);
  if (older.length > 0)
    logger.warn(
      { ...served },
      `older CRDs may lack fields, which are then left out; to update them: ${older.map(applyCrd).join(" && ")}`,
    );
  if (missing === undefined) logger.info({ ...served }, "uses these versions of its CRDs");
}

function resourcesOf(served: ServedVersions): (keyof ServedVersions)[] {
  return (Object.keys(GROUPS) as (keyof ServedVersions)[]).filter((resource) => resource in served);
}

/** The key under which ClusterProperties are worked on: no service has one without a slash. */
export const PROPERTIES_KEY = "clusterproperties";

/**
 * Writes the ClusterProperties that say which cluster of which clusterset this is (KEP-2149), for clusters
 * whose operator wants them written: those that are missing or ours with another value. Somebody else's
 * stays, even with another value.
 * @param version in which the API server serves them
 * @throws {ApiError}
 */
export async function reconcileProperties(
  {
    clusterId,
    writes,
    signal,
    foreign,
  }: Pick<ReconcileContext, "clusterId" | "writes" | "signal" | "foreign">,
  clusterset: string,
  version: string,
): Promise<void> {
  const values = { [CLUSTER_ID_PROPERTY]: clusterId, "clusterset.k8s.io": clusterset };
  for (const [name, value] of Object.entries(values)) {
    const wanted = mark({
      apiVersion: `${ABOUT_GROUP}/${version}`,
      kind: "ClusterProperty",
      metadata: { namespace: "", name },
      spec: { value },
    });
    const held = await writes.read(wanted, signal);
    const { value: now } = (held?.spec ?? {}) as { readonly value?: unknown };
    if (now === value) continue;
    if (held !== undefined && !isManaged(held)) foreign(held);
    else await writes.apply(wanted, signal);
  }
}
