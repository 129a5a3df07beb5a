import { usableAddress } from "../dns/address.ts";
import { MAX_NAME_BYTES } from "../dns/codes.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import type { ImageBuilder } from "./image/image-builder.ts";
import type { Origin } from "./kinds/distances.ts";
import type { RecordSets } from "./record-sets.ts";
import { claimOf } from "./reverse/reverse-order.ts";
import type { ReverseTarget } from "./reverse/reverse-table.ts";

/** The context that all zones of an image share. */
export interface ImageScope {
  readonly builder: ImageBuilder;
  /** View index by cluster id. */
  readonly views: ReadonlyMap<string, number>;
  /** The views of clients outside with a locality; their indices follow those of clusters. */
  readonly localities: readonly (readonly [view: number, origin: Origin])[];
  /** TTL index of records. */
  readonly ttl: number;
  readonly findings: ClusterFinding[];
}

/** One tree of names with the lengths of its zones. */
export interface TreeScope {
  readonly image: ImageScope;
  /** The node of its apex. */
  readonly apex: number;
  /** The lengths in bytes of its shortest zone and of its canonical one. */
  readonly shortestZoneBytes: number;
  readonly canonicalZoneBytes: number;
}

/** The object whose names are compiled; findings name it. */
export interface Subject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Compiles the names of one service in one tree; data that cannot be served becomes a finding. */
export class ServiceScope {
  readonly tree: TreeScope;
  readonly #subject: Subject;
  /** Index + 1 of the namespace that views must have for the names to exist, or 0. */
  readonly #namespaceIndex: number;
  readonly #reported = new Set<string>();
  /** By the clusters that make them. */
  readonly #claims = new Map<string, number>();

  constructor(tree: TreeScope, subject: Subject, namespaceIndex: number) {
    this.tree = tree;
    this.#subject = subject;
    this.#namespaceIndex = namespaceIndex;
  }

  /** The node of `labels` (leftmost first) below `parent`; undefined, with a finding, if the name is too long. */
  name(parent: number, labels: readonly string[], clusterId: string): number | undefined {
    const { shortestZoneBytes, image } = this.tree;
    const { nodes } = image.builder;
    const added = labels.reduce((sum, label) => sum + 1 + label.length, 0);
    if (nodes.nameBytes(parent) + added + shortestZoneBytes > MAX_NAME_BYTES) {
      this.report(
        clusterId,
        "NameTooLong",
        `a name that starts with ${JSON.stringify(labels[0])} would be longer than 253 bytes (RFC 1035 section 2.3.4): it is not served`,
      );
      return undefined;
    }
    return labels.reduceRight((node, label) => nodes.child(node, label, this.#namespaceIndex), parent);
  }

  /** The bytes of an address, or undefined with a finding. */
  address(text: string, clusterId: string): Uint8Array | undefined {
    const octets = usableAddress(text);
    if (octets === undefined)
      this.report(
        clusterId,
        "InvalidAddress",
        `${JSON.stringify(text)} is not a usable address: it is left out`,
      );
    return octets;
  }

  /** Writes the sets of a node, if any. The name of an earlier object stays that object's. */
  write(node: number, sets: RecordSets, toldBy: string, variants?: ReadonlyMap<number, RecordSets>): void {
    if (sets.isEmpty && (variants === undefined || variants.size === 0)) return;
    const { builder } = this.tree.image;
    if (!builder.nodes.hasRecords(node)) builder.setRecords(node, sets, variants);
    else
      this.report(
        toldBy,
        "NameClash",
        `${builder.nodes.describe(node)} (below the zone) belongs to an older object: this object is not served there`,
      );
  }

  /** Adds the PTR record of an address, where its target fits the canonical zone. */
  reverse(octets: Uint8Array, target: Omit<ReverseTarget, "ttl">): void {
    const { canonicalZoneBytes, image } = this.tree;
    const { builder, ttl } = image;
    if (builder.nodes.nameBytes(target.node) + canonicalZoneBytes <= MAX_NAME_BYTES)
      builder.reverse.add(octets, { ...target, ttl });
  }

  /** The number of the claim that clusters, the oldest first, make on addresses of the service. @param since Unix milliseconds */
  claim(clusters: readonly string[], since: number): number {
    const { namespace, name } = this.#subject;
    const key = clusters.join(" ");
    let claim = this.#claims.get(key);
    if (claim === undefined) {
      const claims = clusters.map((cluster) => claimOf(cluster, namespace, name));
      claim = this.tree.image.builder.claims.add({ claims, since });
      this.#claims.set(key, claim);
    }
    return claim;
  }

  /** Records a finding on the subject, once for each cluster, reason and message. */
  report(clusterId: string, reason: string, message: string): void {
    const key = `${clusterId} ${reason} ${message}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.tree.image.findings.push({ clusterId, reason, ...this.#subject, message });
  }
}
