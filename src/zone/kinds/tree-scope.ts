import { usableAddress } from "../../dns/address.ts";
import { MAX_NAME_BYTES } from "../../dns/name.ts";
import type { ClusterFinding } from "../../merge/clusterset.ts";
import { compareText } from "../../merge/order.ts";
import type { NameTree } from "../name-tree.ts";
import type { RecordSets, TreeKey, Zone } from "../world.ts";
import type { ZoneCluster } from "../zone-plan.ts";

/** What candidates of one service have in common. */
export interface CandidateSource {
  readonly namespace: string;
  readonly name: string;
  readonly tree: TreeKey;
  /** The view that the record is for; undefined for all views without a record of their own. */
  readonly view: string | undefined;
  /**
   * Which candidate for one view wins: a cluster IP of the cluster's own zone (0), an endpoint in it (1), an
   * address of the clusterset (2); in a cluster's own view its cluster-local reverse names win (specification
   * 2.3.3, Limitations).
   */
  readonly rank: 0 | 1 | 2;
  /**
   * Unix milliseconds: among candidates of one rank the oldest wins; decides between claims that are new
   * together.
   */
  readonly since: number;
  /** In seconds. */
  readonly ttl: number;
  /** The clusters on whose leases the record depends. */
  readonly clusters: readonly string[];
  /** The labels of the name after its first one. */
  readonly above: readonly string[];
  /**
   * The clusters that claim the address, the oldest first; none for a record of one view, which concerns its
   * own cluster alone.
   */
  readonly claimants: readonly string[];
}

/** A PTR record that a service wants for an address. */
export interface ReverseCandidate {
  readonly source: CandidateSource;
  /** The first label of its name; undefined for the address with dashes. */
  readonly label: string | undefined;
}

/** Whether two lists have the same texts. */
function areSameTexts(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((text, index) => text === other[index]));
}

/**
 * The order of candidates for one view: the first one wins. An endpoint that its cluster gives a hostname is
 * called so (Kerberos, Kafka).
 */
export function compareCandidates(left: ReverseCandidate, right: ReverseCandidate): number {
  const { source: one } = left;
  const { source: other } = right;
  return (
    one.rank - other.rank ||
    Number(left.label === undefined) - Number(right.label === undefined) ||
    compareNumbers(one, other) ||
    compareServices(one, other)
  );
}

function compareNumbers(one: CandidateSource, other: CandidateSource): number {
  if (one.since === other.since) return 0;
  return one.since < other.since ? -1 : 1;
}

function compareServices(one: CandidateSource, other: CandidateSource): number {
  return compareText(one.namespace, other.namespace) || compareText(one.name, other.name);
}

/** What all names of a key are compiled with. */
export interface KeyContext {
  readonly names: NameTree;
  /** The clusters that have a view. */
  readonly clusterViews: ReadonlySet<string>;
  /** The views of clients outside with a locality, by their names. */
  readonly localities: readonly (readonly [view: string, origin: Origin])[];
  /** TTL of records in seconds. */
  readonly ttl: number;
  readonly findings: ClusterFinding[];
  /** Takes the PTR records that services want. */
  readonly addReverse: (bytes: Uint8Array, candidate: ReverseCandidate) => void;
}

/** One tree of names with the lengths of its zones. */
export interface TreeScope {
  readonly context: KeyContext;
  readonly key: TreeKey;
  /** The node of its apex. */
  readonly apex: number;
  /** The length in bytes of its shortest zone. */
  readonly shortestZoneBytes: number;
  readonly canonicalZone: Zone;
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
  readonly #reported = new Set<string>();
  /**
   * Endpoints of one cluster come one after the other, so that nearly all have the source of the one before.
   */
  #lastSource: CandidateSource | undefined;

  constructor(tree: TreeScope, subject: Subject) {
    this.tree = tree;
    this.#subject = subject;
  }

  /** The node of a name with one label below a namespace, which is given by its labels, joined by dots. */
  top(namespace: string, label: string): number {
    return this.tree.context.names.child(this.tree.apex, `${label}.${namespace}`);
  }

  /**
   * The node of `labels` (leftmost first) below a node, or below a namespace as in `top`; undefined, with a
   * finding, if the name is too long.
   */
  name(parent: number | string, labels: readonly string[], clusterId: string): number | undefined {
    const { shortestZoneBytes, context } = this.tree;
    const { names } = context;
    const above = typeof parent === "string" ? parent.length + 1 : names.nameBytes(parent);
    const added = labels.reduce((sum, label) => sum + 1 + label.length, 0);
    if (above + added + shortestZoneBytes > MAX_NAME_BYTES) {
      this.report(
        clusterId,
        "NameTooLong",
        `a name that starts with ${JSON.stringify(labels[0])} would be longer than 253 bytes (RFC 1035 section 2.3.4): it is not served`,
      );
      return undefined;
    }
    let index = labels.length;
    let node = typeof parent === "string" ? this.top(parent, labels[--index]!) : parent;
    while (index > 0) node = names.child(node, labels[--index]!);
    return node;
  }

  /** The bytes of an address, or undefined with a finding. */
  address(text: string, clusterId: string): Uint8Array | undefined {
    const bytes = usableAddress(text);
    if (bytes === undefined)
      this.report(
        clusterId,
        "InvalidAddress",
        `${JSON.stringify(text)} is not a usable address: it is left out`,
      );
    return bytes;
  }

  /** Writes the sets of a node, if any. The name of an earlier object stays that object's. */
  write(
    node: number,
    sets: RecordSets,
    reportedBy: string,
    variants?: ReadonlyMap<number, RecordSets>,
  ): void {
    if (sets.isEmpty && (variants === undefined || variants.size === 0)) return;
    const { names } = this.tree.context;
    if (!names.hasRecords(node)) names.setRecords(node, sets, variants);
    else
      this.report(
        reportedBy,
        "NameClash",
        `${names.labels(node).join(".")} (below the zone) belongs to an older object: this object is not served there`,
      );
  }

  /** Wants the PTR record of an address for a name, where that name fits the canonical zone. */
  reverse(bytes: Uint8Array, node: number, target: ReverseWish): void {
    const { canonicalZone, context } = this.tree;
    if (context.names.nameBytes(node) + canonicalZone.wire.length > MAX_NAME_BYTES) return;
    context.addReverse(bytes, { source: this.#sourceOf(target), label: target.label });
  }

  #sourceOf(wish: ReverseWish): CandidateSource {
    const last = this.#lastSource;
    if (last !== undefined && isSourceOf(last, wish)) return last;
    const { label: _, claimants = [], ...own } = wish;
    const { key: tree, context } = this.tree;
    const { namespace, name } = this.#subject;
    this.#lastSource = { namespace, name, tree, ttl: context.ttl, ...own, claimants };
    return this.#lastSource;
  }

  /** Records a finding on the subject, once for each cluster, reason and message. */
  report(clusterId: string, reason: string, message: string): void {
    const key = `${clusterId} ${reason} ${message}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.tree.context.findings.push({ clusterId, reason, ...this.#subject, message });
  }
}

/** What a service says of a PTR record that it wants. */
export interface ReverseWish extends Pick<CandidateSource, "view" | "rank" | "since" | "clusters" | "above"> {
  readonly label: string | undefined;
  /**
   * The clusters that claim the address for all views, the oldest first. Default: the record is that of one
   * view.
   */
  readonly claimants?: readonly string[] | undefined;
}

function isSourceOf(source: CandidateSource, wish: ReverseWish): boolean {
  return (
    source.view === wish.view &&
    source.rank === wish.rank &&
    source.since === wish.since &&
    areSameTexts(source.clusters, wish.clusters) &&
    areSameTexts(source.above, wish.above) &&
    areSameTexts(source.claimants, wish.claimants ?? [])
  );
}

/** The region and zones of a cluster's nodes, from its snapshot. */
interface ClusterLocality {
  readonly region: string | undefined;
  readonly zones: readonly string[];
}

/** The origin of a query: a source cluster, or a locality outside. */
export interface Origin extends ClusterLocality {
  readonly clusterId: string | undefined;
}

/** Orders clusters by their distance from the origin of a query. */
export class Distances {
  readonly #localities: ReadonlyMap<string, ClusterLocality>;

  constructor(clusters: readonly ZoneCluster[]) {
    this.#localities = new Map(
      clusters.map(({ clusterId, region, zones }) => [clusterId, { region, zones }]),
    );
  }

  /** The region and zones of a cluster; empty if its snapshot has no topology. */
  localityOf(clusterId: string): ClusterLocality {
    return this.#localities.get(clusterId) ?? { region: undefined, zones: [] };
  }

  /** The origin of queries from a source cluster. */
  originOf(clusterId: string): Origin {
    return { clusterId, ...this.localityOf(clusterId) };
  }

  /**
   * The distance of a cluster (or an endpoint in `zone`) from an origin: 0 the same cluster, 1 the same zone,
   * 2 the same region, 3 anywhere (federated service discovery, Objective).
   */
  distance(here: Origin, clusterId: string, zone?: string): 0 | 1 | 2 | 3 {
    if (here.clusterId === clusterId) return 0;
    const there = this.localityOf(clusterId);
    if (here.region === undefined || here.region !== there.region) return 3;
    const zones = zone === undefined ? there.zones : [zone];
    return zones.some((one) => here.zones.includes(one)) ? 1 : 2;
  }
}
