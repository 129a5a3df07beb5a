import type { EndpointPort, ServicePort } from "../snapshot/schema.ts";
import { RecordSets } from "./record-sets.ts";
import { portLabels } from "./service-labels.ts";
import type { ServiceScope } from "./tree-scope.ts";

/** Where a port can be reached. */
export interface PortTarget {
  readonly port: ServicePort | EndpointPort;
  /** The node of the SRV target. */
  readonly node: number;
  /** The cluster whose snapshot told of it. */
  readonly toldBy: string;
}

/**
 * Writes the SRV records of the named ports at `_<port>._<protocol>` below a service, and returns all of them,
 * for the service's own name. Unnamed ports have none.
 */
export function writePortRecords(
  scope: ServiceScope,
  serviceNode: number,
  targets: readonly PortTarget[],
  leaseGroup: number,
): RecordSets {
  const { ttl } = scope.tree.image;
  const all = new RecordSets();
  const byNode = new Map<number, RecordSets>();
  for (const { port, node, toldBy } of targets) {
    const labels = portLabels(port);
    if (labels.kind === "odd") scope.report(toldBy, labels.reason, labels.message);
    if (labels.kind !== "named") continue;
    all.addService(labels.number, node, ttl, leaseGroup);
    const portNode = scope.name(serviceNode, [labels.portLabel, labels.protocolLabel], toldBy);
    if (portNode === undefined) continue;
    const sets = byNode.get(portNode) ?? new RecordSets();
    byNode.set(portNode, sets);
    sets.addService(labels.number, node, ttl, leaseGroup);
  }
  for (const [node, sets] of byNode) scope.write(node, sets, targets[0]!.toldBy);
  return all;
}
