import { isClusterId } from "../snapshot/cluster-id.ts";
import { compareText, quote, readLabel, readText } from "./fields.ts";

/** The ClusterProperty that names a cluster within its clusterset (KEP-2149). */
export const CLUSTER_ID_PROPERTY = "cluster.clusterset.k8s.io";

/** The cluster has no valid id to push with. */
export class ClusterIdError extends Error {
  readonly code: "CLUSTER_ID_UNKNOWN" | "CLUSTER_ID_INVALID";

  constructor(code: "CLUSTER_ID_UNKNOWN" | "CLUSTER_ID_INVALID", message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * The id of a cluster: the given one, else the value of the ClusterProperty `cluster.clusterset.k8s.io`,
 * else the UID of the namespace kube-system.
 * @throws {ClusterIdError} if none exists, or the first one is not a cluster id.
 */
export function chooseClusterId(
  given: string | undefined,
  property: unknown,
  kubeSystemUid: unknown,
): string {
  const sources: [unknown, string][] = [
    [given, "the cluster id given"],
    [property, `the ClusterProperty ${CLUSTER_ID_PROPERTY}`],
    [kubeSystemUid, "the UID of the namespace kube-system"],
  ];
  for (const [value, source] of sources) {
    if (value === undefined || value === null) continue;
    if (typeof value === "string" && isClusterId(value)) return value;
    throw new ClusterIdError(
      "CLUSTER_ID_INVALID",
      `${source} is ${quote(value)}, which is not a cluster id: one RFC 1123 label, or two joined by a dot. Correct it, or give a cluster id (--cluster-id)`,
    );
  }
  throw new ClusterIdError(
    "CLUSTER_ID_UNKNOWN",
    `the cluster has no id: it has neither a ClusterProperty ${CLUSTER_ID_PROPERTY} nor a namespace kube-system with a UID. Give one (--cluster-id)`,
  );
}

/** The region and zone of a node, from its well-known labels. */
export interface NodePlace {
  readonly region: string | undefined;
  readonly zone: string | undefined;
}

const MOST_LABEL = 63;
const MOST_ZONES = 1000;

/** Reads a node's region and zone; label values that no API server accepts count as absent. */
export function readNodePlace(labels: unknown): NodePlace {
  const read = (key: string) => {
    const value = readText(readLabel(labels, key));
    return value !== undefined && value.length <= MOST_LABEL ? value : undefined;
  };
  return { region: read("topology.kubernetes.io/region"), zone: read("topology.kubernetes.io/zone") };
}

/**
 * The topology of a cluster: the region of most nodes (the first by name if several have as many), and all
 * zones, sorted. Undefined if no node has such labels.
 */
export function summarizeTopology(
  places: Iterable<NodePlace>,
): { region?: string; zones?: string[] } | undefined {
  const regions = new Map<string, number>();
  const zones = new Set<string>();
  for (const { region, zone } of places) {
    if (region !== undefined) regions.set(region, (regions.get(region) ?? 0) + 1);
    if (zone !== undefined) zones.add(zone);
  }
  if (regions.size === 0 && zones.size === 0) return undefined;
  const [most] = [...regions].sort(
    ([left, leftNodes], [right, rightNodes]) => rightNodes - leftNodes || compareText(left, right),
  );
  return {
    ...(most === undefined ? {} : { region: most[0] }),
    ...(zones.size === 0 ? {} : { zones: [...zones].sort(compareText).slice(0, MOST_ZONES) }),
  };
}
