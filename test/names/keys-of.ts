import { findingsKey, localKey, namespaceKey, podsKey } from "../../src/database/places.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";

/** The keys of all entries of a snapshot, as the log names them. */
export function keysOf({
  namespaces,
  exports,
  imports,
  services,
  pods,
  findings,
}: ClusterSnapshot): string[] {
  return [
    ...Object.keys(namespaces).map(namespaceKey),
    ...Object.keys({ ...exports, ...imports }),
    ...Object.entries(services).map(([key, service]) => localKey(key, service)),
    ...Object.keys(pods).map(podsKey),
    ...Object.keys(findings).map(findingsKey),
  ];
}
