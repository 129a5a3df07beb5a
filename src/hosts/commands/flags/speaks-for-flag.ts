import { grantsOf, SpeaksFor } from "../../../config/access/push-credentials.ts";
import { UsageError } from "../../../config/values.ts";
import type { Grants } from "../../../merge/grants.ts";

/** The grants of an entry of `push.credentials` for `serve`. */
export interface Grant {
  readonly clusterId: string;
  readonly speaksFor: "*" | string[];
}

/** `--speaks-for CLUSTER=*` or `--speaks-for CLUSTER=CLUSTER,…`. @throws {UsageError} for an invalid grant */
export function readGrant(text: string): Grant {
  const [, clusterId, clusters] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  const speaksFor = SpeaksFor.safeParse(clusters === "*" ? clusters : (clusters?.split(",") ?? []));
  if (clusterId !== undefined && speaksFor.success) return { clusterId, speaksFor: speaksFor.data };
  throw new UsageError(`--speaks-for ${JSON.stringify(text)} is not a grant such as hub=* or hub=east,west`);
}

/** The grants, which must be for clusters of `clusters`. @throws {UsageError} for another one */
export function grantsFor(grants: readonly Grant[], clusters: readonly string[]): Grants {
  for (const { clusterId } of grants)
    if (!clusters.includes(clusterId))
      throw new UsageError(
        `--speaks-for ${clusterId}: ${JSON.stringify(clusterId)} is not one of the clusters: ${clusters.join(", ")}`,
      );
  return grantsOf(grants);
}
