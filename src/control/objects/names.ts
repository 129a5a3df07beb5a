import { createHash } from "node:crypto";

/**
 * The label that marks every object of the control plane, and its value; what lacks it is never written. The value is also the slices'
 * `managed-by` and the field manager of every write.
 */
export { MANAGED_BY_LABEL as MANAGED_BY, OWN_MANAGER as MANAGER } from "../../extract/identity.ts";
/** Keeps other controllers of EndpointSlices away from ours. */
export const SLICE_MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
/** The annotation of a ServiceImport that names its derived Service (read by Cilium's Gateway API, cilium/cilium#28769). */
export const DERIVED_SERVICE = "multicluster.kubernetes.io/derived-service";
/** The annotation with the hash of what was applied last: fields that are no longer wanted show by it. */
export const APPLIED = "clusterset-doh.dev/applied";

const LONGEST_LABEL = 63;
/** With which the names of derived Services begin. */
export const DERIVED_PREFIX = "clusterset-";

/** The name of the Service that carries a ServiceImport's cluster IPs: `clusterset-<name>`, with a hash if that is too long for a DNS label. */
export function derivedServiceName(service: string): string {
  const name = DERIVED_PREFIX + service;
  if (name.length <= LONGEST_LABEL) return name;
  return `${name.slice(0, LONGEST_LABEL - 9)}-${shortHash(service)}`;
}

/** The name of an EndpointSlice: `<service>-<hash of service and source cluster>-<slice>`. */
export function endpointSliceName(service: string, cluster: string, slice: string): string {
  return `${service}-${shortHash(`${service}\0${cluster}`)}-${slice}`;
}

/** Eight hexadecimal digits of a SHA-256. */
export function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
