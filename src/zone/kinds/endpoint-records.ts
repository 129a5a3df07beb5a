import type { EndpointPort } from "../../snapshot/schema.ts";
import { ENDPOINT_UNITS } from "../pace.ts";
import { RecordSets } from "../segment/record-sets.ts";
import { type PortTarget, writePortRecords } from "./port-records.ts";
import { addressLabel, isHostLabel } from "./service-labels.ts";
import type { ReverseWish, ServiceScope } from "./tree-scope.ts";

/** What it costs to find the endpoints that share a name with one. */
const PLACE_UNITS = ENDPOINT_UNITS >> 2;

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
export function* writeEndpointRecords(
  scope: ServiceScope,
  serviceNode: number,
  endpoints: readonly PlacedEndpoint[],
  leaseGroup: number,
): Generator<void, RecordSets> {
  const { pace } = scope.tree.segment;
  const targets: PortTarget[] = [];
  for (const { node, ports, reportedBy } of endpoints) {
    if (pace.isOver(1 + ports.length)) yield;
    if (node !== undefined) for (const port of ports) targets.push({ port, node, reportedBy });
  }
  const services = yield* writePortRecords(scope, serviceNode, targets, leaseGroup);
  yield* writeHosts(scope, endpoints);
  return services;
}

function* writeHosts(scope: ServiceScope, endpoints: readonly PlacedEndpoint[]): Generator<void> {
  const { builder, ttl, pace } = scope.tree.segment;
  const byNode = new Map<number, PlacedEndpoint[]>();
  for (const endpoint of endpoints) {
    if (pace.isOver(PLACE_UNITS)) yield;
    if (endpoint.node === undefined) continue;
    const sharing = byNode.get(endpoint.node);
    if (sharing === undefined) byNode.set(endpoint.node, [endpoint]);
    else sharing.push(endpoint);
  }
  for (const [node, sharing] of byNode) {
    const clusters = [...new Set(sharing.map(({ reportedBy }) => reportedBy))];
    const group = builder.tables.leaseGroup(clusters);
    const sets = new RecordSets();
    for (const { bytes, reverse } of sharing) {
      if (pace.isOver(ENDPOINT_UNITS)) yield;
      sets.addAddress(bytes, ttl, group);
      scope.reverse(bytes, node, { ...reverse, clusters });
    }
    scope.write(node, sets, sharing[0]!.reportedBy);
  }
}
