import type { ClusterFinding } from "../../merge/clusterset.ts";
import { compileClusterLocal } from "../kinds/cluster-local.ts";
import { compileClustersetService } from "../kinds/clusterset.ts";
import { compileFederatedService } from "../kinds/federation.ts";
import type { SegmentScope, TreeScope } from "../kinds/tree-scope.ts";
import type { ReverseCandidate } from "../reverse/reverse-candidate.ts";
import { type AddressKey, addressKey } from "../reverse/reverse-order.ts";
import { hashBlob } from "../segment/hash.ts";
import { NodeFlag } from "../segment/layout.ts";
import { RecordSets } from "../segment/record-sets.ts";
import { Segment } from "../segment/segment.ts";
import { SegmentBuilder } from "../segment/segment-builder.ts";
import { localTree, type TreeKey } from "../segment/tree-key.ts";
import type { SourceCluster, ZoneSource } from "../zone-source.ts";
import type { PlacedHost } from "./hosts.ts";
import type { NameKey } from "./name-keys.ts";
import { type Stem, stemsOf } from "./stems.ts";
import type { PlannedTree, ZoneContext } from "./zone-context.ts";

/** A compiled segment, and what it says for the rest of the generation. */
export interface CompiledSegment {
  readonly segment: Segment;
  readonly findings: readonly ClusterFinding[];
  /** The namespaces that its names are in. */
  readonly stems: readonly Stem[];
  /** By key of names: the PTR records that it wants. */
  readonly reverse: ReadonlyMap<string, ReadonlyMap<AddressKey, readonly ReverseCandidate[]>>;
}

const NO_HOSTS: readonly PlacedHost[] = [];

/** Compiles the names of some keys. Equal content gives equal bytes. */
export function compileSegment(
  context: ZoneContext,
  source: ZoneSource,
  clusters: ReadonlyMap<string, SourceCluster>,
  given: Iterable<NameKey>,
): CompiledSegment {
  const keys = [...given].sort((one, other) => (one.key < other.key ? -1 : 1));
  const builder = new SegmentBuilder(treesOf(context, source, keys));
  const findings: ClusterFinding[] = [];
  const reverse = new Map<string, Map<AddressKey, ReverseCandidate[]>>();
  let own: Map<AddressKey, ReverseCandidate[]>;
  const scope = createScope(context, builder, findings, (octets, candidate) => {
    const address = addressKey(octets);
    const others = own.get(address);
    if (others === undefined) own.set(address, [candidate]);
    else others.push(candidate);
  });
  for (const key of keys) {
    own = new Map();
    compileKey(context, source, clusters, scope, key);
    reverse.set(key.key, own);
  }
  const stems = stemsOf(builder);
  const bytes = builder.finish();
  return { segment: Segment.load(bytes, hashBlob(bytes)), findings, stems, reverse };
}

/** The scope of all names of a segment. */
export function createScope(
  { clusterViews, localities, options }: ZoneContext,
  builder: SegmentBuilder,
  findings: ClusterFinding[],
  addReverse: SegmentScope["addReverse"],
): SegmentScope {
  return { builder, clusterViews, localities, ttl: options.ttl, findings, addReverse };
}

/** The scope of a tree's names. */
export function treeScope(
  segment: SegmentScope,
  { key, shortestZoneBytes, canonicalZoneBytes }: PlannedTree,
): TreeScope {
  return { segment, key, apex: segment.builder.tables.tree(key), shortestZoneBytes, canonicalZoneBytes };
}

/** The trees in which keys may have names, in an order of their own. */
function treesOf(
  { trees, treeByKey, hosts }: ZoneContext,
  source: ZoneSource,
  keys: readonly NameKey[],
): TreeKey[] {
  const used = new Set<TreeKey>();
  if (keys.some(({ key }) => source.sizeOf(key) !== undefined))
    for (const { key, plan } of trees) if (plan.kind !== "cluster-local") used.add(key);
  for (const { key, locals } of keys) {
    for (const { clusterId } of locals) used.add(localTree(clusterId));
    for (const { tree } of hosts.get(key) ?? NO_HOSTS) used.add(tree);
  }
  return [...used].filter((key) => treeByKey.has(key)).sort();
}

function compileKey(
  context: ZoneContext,
  source: ZoneSource,
  clusters: ReadonlyMap<string, SourceCluster>,
  segment: SegmentScope,
  { key, locals }: NameKey,
): void {
  for (const host of context.hosts.get(key) ?? NO_HOSTS) writeHost(segment, host);
  const clusterIds = new Set(locals.map(({ clusterId }) => clusterId));
  for (const clusterId of clusterIds) {
    const cluster = clusters.get(clusterId);
    const tree = context.treeByKey.get(localTree(clusterId));
    if (cluster?.localZone === undefined || tree === undefined) continue;
    const own = (kind: "service" | "pod") =>
      locals.flatMap((local) => (local.clusterId === clusterId && local.kind === kind ? local.key : []));
    const { localZone } = cluster;
    compileClusterLocal(treeScope(segment, tree), { ...cluster, localZone }, own("service"), own("pod"));
  }
  const service = source.service(key);
  if (service === undefined) return;
  for (const tree of context.trees) {
    const { plan } = tree;
    if (plan.kind === "federation")
      for (const zone of plan.zones)
        compileFederatedService(treeScope(segment, tree), zone, service, context.distances);
    else if (plan.kind === "clusterset") compileClustersetService(treeScope(segment, tree), service);
  }
}

function writeHost(segment: SegmentScope, host: PlacedHost): void {
  const { builder, ttl } = segment;
  const sets = new RecordSets();
  for (const octets of host.addresses) sets.addAddress(octets, ttl, 0);
  builder.setRecords(hostNode(builder, host), sets);
}

/** The node of a host, whose name exists in every view. */
export function hostNode(
  { nodes, tables }: SegmentBuilder,
  { tree, labels, stemLabels }: PlacedHost,
): number {
  let node = tables.tree(tree);
  for (let index = labels.length - 1; index >= 0; index--) {
    node = nodes.child(node, labels[index]!);
    const isStem = labels.length - index === stemLabels;
    nodes.addFlags(node, isStem ? NodeFlag.everywhere | NodeFlag.stem : NodeFlag.everywhere);
  }
  return node;
}
