import { ABOUT_GROUP } from "../../extract/identity.ts";
import type { SyncLogger } from "../../sync/object-source.ts";
import { MULTICLUSTER_GROUP } from "../objects/service-import.ts";

/** The version in which the API server serves each resource that the control plane writes; undefined while its CRD is missing. */
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

/** What is missing, and what to apply; undefined if the API server serves everything. */
export function describeMissing(served: ServedVersions): string | undefined {
  const missing = resourcesOf(served).filter((resource) => served[resource] === undefined);
  if (missing.length === 0) return undefined;
  const names = missing.map((resource) => `${resource}.${GROUPS[resource][0]}`).join(" and ");
  return `the API server does not serve ${names}: ${missing.map(applyCrd).join(" && ")}`;
}

/** Logs which versions are used and which CRDs are missing, when that changes. */
export class ServedLog {
  readonly #logger: SyncLogger;
  #last = "";

  constructor(logger: SyncLogger) {
    this.#logger = logger;
  }

  /** @returns whether something is served otherwise than before */
  report(served: ServedVersions): boolean {
    const now = JSON.stringify(resourcesOf(served).map((resource) => [resource, served[resource]]));
    if (now === this.#last) return false;
    this.#last = now;
    const missing = describeMissing(served);
    if (missing !== undefined) this.#logger.warn({ ...served }, missing);
    const older = resourcesOf(served).filter((one) => (served[one] ?? NEWEST) < NEWEST);
    if (older.length > 0)
      this.#logger.warn(
        { ...served },
        `older CRDs may lack fields, which are then left out; to update them: ${older.map(applyCrd).join(" && ")}`,
      );
    if (missing === undefined) this.#logger.info({ ...served }, "uses these versions of its CRDs");
    return true;
  }
}

function resourcesOf(served: ServedVersions): (keyof ServedVersions)[] {
  return (Object.keys(GROUPS) as (keyof ServedVersions)[]).filter((resource) => resource in served);
}
