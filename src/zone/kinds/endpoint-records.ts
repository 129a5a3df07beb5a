import type { EndpointPort } from "../../snapshot/schema.ts";
import { RecordSets } from "../record-sets.ts";
import { type PortTarget, writePortRecords } from "./port-records.ts";
import { addressLabel, isHostLabel } from "./service-labels.ts";
import type { ReverseWish, ServiceScope } from "./tree-scope.ts";

/** An endpoint of a headless service, with the node of its own name. */
export interface PlacedEndpoint {
  readonly bytes: Uint8Array;
  readonly ports: readonly EndpointPort[];
  readonly reportedBy: string;
  /** Undefined if the endpoint cannot have a name. */
  readonly node: number | undefined;
  /** Its reverse name. */
  readonly reverse: Omit<ReverseWish, "clusters">;
}

/**
 * The label of an endpoint: its hostname, else its address (definition of hostname in both
 * specifications, section 2.1). A hostname that cannot be a label is a finding.
 */
export function endpointLabel(
  scope: ServiceScope,
  hostname: string | undefined,
  bytes: Uint8Array,
  reportedBy: string,
): string {
  if (hostname === undefined || hostname === "") return addressLabel(bytes);
  if (isHostLabel(hostname)) return hostname;
  scope.report(
    reportedBy,
    "InvalidHostname",
    `the hostname ${JSON.stringify(hostname)} cannot be a DNS label: the name uses the address instead`,
  );
  return addressLabel(bytes);
}

/** Writes the SRV records of endpoints, and A, AAAA and PTR of each; returns the SRV records for the service's name. */
export function writeEndpointRecords(
  scope: ServiceScope,
  serviceNode: number,
  endpoints: readonly PlacedEndpoint[],
  leaseGroup: number,
): RecordSets {
  const targets: PortTarget[] = [];
  for (const { node, ports, reportedBy } of endpoints) {
    if (node !== undefined) for (const port of ports) targets.push({ port, node, reportedBy });
  }
  const services = writePortRecords(scope, serviceNode, targets, leaseGroup);
  writeHosts(scope, endpoints);
  return services;
}

function writeHosts(scope: ServiceScope, endpoints: readonly PlacedEndpoint[]): void {
  const { names, ttl } = scope.tree.context;
  const byNode = new Map<number, PlacedEndpoint[]>();
  for (const endpoint of endpoints) {
    if (endpoint.node === undefined) continue;
    const sharing = byNode.get(endpoint.node);
    if (sharing === undefined) byNode.set(endpoint.node, [endpoint]);
    else sharing.push(endpoint);
  }
  for (const [node, sharing] of byNode) {
    const clusters = [...new Set(sharing.map(({ reportedBy }) => reportedBy))];
    const group = names.leaseGroup(clusters);
    const sets = new RecordSets();
    for (const { bytes, reverse } of sharing) {
      sets.addAddress(bytes, ttl, group);
      scope.reverse(bytes, node, { ...reverse, clusters });
    }
    scope.write(node, sets, sharing[0]!.reportedBy);
  }
}
