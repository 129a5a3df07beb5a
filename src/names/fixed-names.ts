import { RecordType } from "../dns/codes.ts";
import { addressOf } from "../zone/hosts.ts";
import { CLUSTER_LOCAL_DNS_VERSION } from "../zone/kinds/cluster-local.ts";
import { CLUSTERSET_DNS_VERSION } from "../zone/kinds/clusterset.ts";
import { NameTree } from "../zone/name-tree.ts";
import { POD_NAMES } from "../zone/record-block.ts";
import { RecordSets } from "../zone/record-sets.ts";
import type { ZoneContext } from "../zone/zone-context.ts";
import type { CompiledKey } from "./compiled-key.ts";
import { writeKey } from "./write-key.ts";

/** TTL of the schema version record in seconds, as both specifications print it (2.2). */
const DNS_VERSION_TTL = 28800;

/** Compiles the names of all trees that exist whatever clusters report: apexes, name servers, schema versions, and hosts of the gateway. */
export function compileFixedNames({ trees, hosts, options }: ZoneContext): CompiledKey {
  const names = new NameTree(trees.map(({ key }) => key));
  const { ttl } = options;
  const records = new Map<number, RecordSets>();
  const setsAt = (node: number) => {
    const sets = records.get(node) ?? new RecordSets();
    records.set(node, sets);
    return sets;
  };
  for (const [apex, { plan }] of trees.entries()) {
    if (plan.kind !== "federation") {
      const version = plan.kind === "clusterset" ? CLUSTERSET_DNS_VERSION : CLUSTER_LOCAL_DNS_VERSION;
      const text = Uint8Array.from(version, (character) => character.charCodeAt(0));
      const rdata = Uint8Array.of(text.length, ...text);
      setsAt(names.child(apex, "dns-version")).addRdata(RecordType.TXT, rdata, DNS_VERSION_TTL, 0);
    }
    const nameServer = setsAt(names.child(names.child(apex, "dns"), "ns"));
    for (const address of options.nameServerAddresses) nameServer.addAddress(addressOf(address), ttl, 0);
    // An empty zone still answers NODATA, not NXDOMAIN, at the parent name of all services.
    names.child(apex, "svc");
    if (plan.kind !== "cluster-local" || plan.cluster.zone.pods === "disabled") continue;
    const pods = names.child(apex, "pod");
    const leaseGroup = names.leaseGroup([plan.cluster.clusterId]);
    // Section 2.6 of DNS-based service discovery, deprecated: pods have names of any address.
    if (plan.cluster.zone.pods === "insecure") setsAt(pods).addMarker(POD_NAMES, ttl, leaseGroup);
  }
  for (const { tree, labels, addresses } of [...hosts.values()].flat()) {
    const node = labels.reduceRight((parent, label) => names.child(parent, label), names.apex(tree));
    for (const address of addresses) setsAt(node).addAddress(address, ttl, 0);
  }
  for (const [node, sets] of records) if (!sets.isEmpty) names.setRecords(node, sets);
  return writeKey(names, true);
}
