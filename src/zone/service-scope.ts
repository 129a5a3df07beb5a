import { usableAddress } from "../dns/address.ts";
import { MAX_NAME_BYTES } from "../dns/codes.ts";
import type { ClusterFinding, ClustersetService } from "../merge/clusterset.ts";
import type { ImageBuilder } from "./image-builder.ts";
import type { RecordSets } from "./record-sets.ts";

/** What is needed to compile services, the same for all of them. */
export interface ZoneScope {
  readonly builder: ImageBuilder;
  /** View index by cluster id. */
  readonly views: ReadonlyMap<string, number>;
  /** TTL index of records. */
  readonly ttl: number;
  /** Octets of the shortest zone and of the canonical one. */
  readonly shortestZoneBytes: number;
  readonly canonicalZoneBytes: number;
  readonly findings: ClusterFinding[];
}

/** Compiles one service: knows where its names hang and whom its findings concern. */
export class ServiceScope {
  readonly zone: ZoneScope;
  readonly service: ClustersetService;
  readonly namespaceIndex: number;
  readonly #reported = new Set<string>();

  constructor(zone: ZoneScope, service: ClustersetService) {
    this.zone = zone;
    this.service = service;
    this.namespaceIndex = zone.builder.namespace(service.namespace);
  }

  /** The node of `labels` (leftmost first) below `parent`; undefined, with a finding, where the name is too long. */
  name(parent: number, labels: readonly string[], clusterId: string): number | undefined {
    const { builder, shortestZoneBytes } = this.zone;
    let added = labels.length;
    for (const label of labels) added += label.length;
    if (builder.nodes.nameBytes(parent) + added + shortestZoneBytes > MAX_NAME_BYTES) {
      this.report(
        clusterId,
        "NameTooLong",
        `a name that starts with ${JSON.stringify(labels[0])} would be longer than 253 octets (KEP-1645, DNS): it is not served`,
      );
      return undefined;
    }
    let node = parent;
    for (let index = labels.length - 1; index >= 0; index--)
      node = builder.nodes.child(node, labels[index]!, this.namespaceIndex);
    return node;
  }

  /** The octets of an address, or undefined with a finding. */
  address(text: string, clusterId: string): Uint8Array | undefined {
    const octets = usableAddress(text);
    if (octets === undefined)
      this.report(
        clusterId,
        "InvalidAddress",
        `${JSON.stringify(text)} is no address that can be answered with: it is left out`,
      );
    return octets;
  }

  /** Writes the sets of a node unless there are none. */
  write(node: number, sets: RecordSets, variants?: ReadonlyMap<number, RecordSets>): void {
    if (!sets.isEmpty || (variants !== undefined && variants.size > 0))
      this.zone.builder.setRecords(node, sets, variants);
  }

  /** Adds the PTR record of an address, where its target fits the canonical zone. */
  reverse(octets: Uint8Array, node: number, asker: number, leaseGroup: number): void {
    const { builder, ttl, canonicalZoneBytes } = this.zone;
    if (builder.nodes.nameBytes(node) + canonicalZoneBytes <= MAX_NAME_BYTES)
      builder.reverse.add(octets, { asker, ttl, leaseGroup, node });
  }

  /** Records a finding on this service, once for each cluster, reason and message. */
  report(clusterId: string, reason: string, message: string): void {
    const key = `${clusterId} ${reason} ${message}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    const { namespace, name } = this.service;
    this.zone.findings.push({ clusterId, reason, kind: "Service", namespace, name, message });
  }
}
