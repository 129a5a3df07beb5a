/** A tree of names by a stable key: `clusterset`, `local:<cluster id>`, or `federation:<zone name>`. */
export type TreeKey = string;

/** The tree of the clusterset zone and its aliases. */
export const CLUSTERSET_TREE: TreeKey = "clusterset";

/** The tree of a cluster's own zone. */
export function localTree(clusterId: string): TreeKey {
  return `local:${clusterId}`;
}

/** The tree of a federation zone. @param zone its name in lower case with the trailing dot */
export function federationTree(zone: string): TreeKey {
  return `federation:${zone}`;
}

const SERVICE_DEPTHS = [2];
const FEDERATION_DEPTHS = [5, 4, 3];

/**
 * How many labels the names of namespaces have, deepest first: `<ns>.svc`; in federation zones `<ns>.<federation>.svc`, with a region and a
 * topology zone behind it or without.
 */
export function stemDepths(tree: TreeKey): readonly number[] {
  return tree.startsWith("federation:") ? FEDERATION_DEPTHS : SERVICE_DEPTHS;
}
