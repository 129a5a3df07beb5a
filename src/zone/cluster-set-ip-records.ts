import type { ClustersetAddresses } from "../merge/clusterset.ts";
import { ANY_ASKER } from "./layout.ts";
import { RecordSets } from "./record-sets.ts";
import { portLabels } from "./service-labels.ts";
import type { ServiceScope } from "./service-scope.ts";

/** Writes the names of a service with ClusterSetIP (specification 2.3): A, AAAA, SRV and PTR. */
export function compileClusterSetIP(scope: ServiceScope, node: number): void {
  const { service, zone } = scope;
  const speaker = service.toldBy[0] ?? "";
  const existence = zone.builder.leaseGroup(service.toldBy);
  const outside = addressSets(scope, node, service.outside, ANY_ASKER);
  const variants = new Map<number, RecordSets>();
  for (const [clusterId, addresses] of service.byCluster) {
    const view = zone.views.get(clusterId);
    if (view !== undefined) variants.set(view, addressSets(scope, node, addresses, view + 1));
  }
  // An SRV target must have an address (RFC 2782): where nobody has one, the names exist without records.
  const reachable = [outside, ...variants.values()].some((sets) => !sets.isEmpty);
  const services = new RecordSets();
  const byPort = new Map<number, RecordSets>();
  for (const port of service.ports) {
    const labels = portLabels(port);
    if (labels.kind === "odd") scope.report(speaker, labels.reason, labels.message);
    if (labels.kind !== "named") continue;
    if (reachable) services.addService(labels.number, node, zone.ttl, existence);
    const own = scope.name(node, [labels.portLabel, labels.protocolLabel], speaker);
    if (own === undefined) continue;
    const sets = byPort.get(own) ?? new RecordSets();
    byPort.set(own, sets);
    if (reachable) sets.addService(labels.number, node, zone.ttl, existence);
  }
  for (const [own, sets] of byPort) scope.write(own, sets);
  for (const sets of [outside, ...variants.values()]) sets.addAll(services);
  scope.write(node, outside, variants);
}

function addressSets(
  scope: ServiceScope,
  node: number,
  given: ClustersetAddresses,
  asker: number,
): RecordSets {
  const { builder, ttl } = scope.zone;
  const sets = new RecordSets();
  const group = builder.leaseGroup([...given.toldBy, ...scope.service.toldBy]);
  for (const text of given.addresses) {
    const octets = scope.address(text, given.toldBy[0] ?? "");
    if (octets === undefined) continue;
    sets.addAddress(octets, ttl, group);
    // Specification 2.3.3 speaks of clusterset IPs: load balancers and pods have reverse names of their own.
    if (given.source === "ClusterSetIP") scope.reverse(octets, node, asker, group);
  }
  return sets;
}
