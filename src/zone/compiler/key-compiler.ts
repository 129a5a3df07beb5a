import type { ClusterFinding } from "../../merge/clusterset.ts";
import { compileClusterLocal } from "../kinds/cluster-local.ts";
import { compileClustersetService } from "../kinds/clusterset.ts";
import { compileFederatedService } from "../kinds/federation.ts";
import type { SegmentScope, TreeScope } from "../kinds/tree-scope.ts";
import type { Pace } from "../pace.ts";
import type { HeldSources } from "../reverse/held-sources.ts";
import type { CandidateSource, ReverseCandidate } from "../reverse/reverse-candidate.ts";
import { WantedAddresses } from "../reverse/wanted-addresses.ts";
import type { KeyBlock } from "../segment/blocks/key-block.ts";
import { NodeFlag } from "../segment/layout.ts";
import { RecordSets } from "../segment/record-sets.ts";
import { SegmentBuilder } from "../segment/segment-builder.ts";
import { localTree, type TreeKey } from "../segment/tree-key.ts";
import type { SourceCluster, ZoneSource } from "../zone-source.ts";
import type { PlacedHost } from "./hosts.ts";
import type { NameKey } from "./name-keys.ts";
import { type Stem, stemsOf } from "./stems.ts";
import type { PlannedTree, ZoneContext } from "./zone-context.ts";

/** What keys are compiled from. */
export interface KeySource {
  readonly context: ZoneContext;
  readonly source: ZoneSource;
  /** By cluster id. */
  readonly clusters: ReadonlyMap<string, SourceCluster>;
  readonly sources: HeldSources;
  readonly pace: Pace;
}

/** The names of a key, and what it says for the rest of the generation. */
export interface BuiltKey {
  readonly block: KeyBlock;
  readonly stems: readonly Stem[];
  readonly findings: readonly ClusterFinding[];
  /** The PTR records that it wants. */
  readonly reverse: WantedAddresses;
}

const NO_HOSTS: readonly PlacedHost[] = [];

/** Compiles the names of a key. Equal content gives equal bytes. */
export function* compileKey(from: KeySource, name: NameKey): Generator<void, BuiltKey> {
  const { context, source, clusters, pace } = from;
  const { key, locals } = name;
  const service =
    source.serviceInSteps === undefined ? source.service(key) : yield* source.serviceInSteps(key);
  const builder = new SegmentBuilder(treesOf(context, name, service !== undefined));
  const findings: ClusterFinding[] = [];
  const reverse = new WantedAddresses();
  const sources = new Map<CandidateSource, CandidateSource>();
  const addReverse = (bytes: Uint8Array, { source, label }: ReverseCandidate) => {
    const held = sources.get(source) ?? from.sources.of(source);
    sources.set(source, held);
    reverse.add(bytes, { source: held, label });
  };
  const scope = createScope(context, builder, findings, addReverse, pace);
  for (const host of context.hosts.get(key) ?? NO_HOSTS) writeHost(builder, scope.ttl, host);
  for (const clusterId of new Set(locals.map((local) => local.clusterId))) {
    const cluster = clusters.get(clusterId);
    const tree = context.treeByKey.get(localTree(clusterId));
    if (cluster?.localZone === undefined || tree === undefined) continue;
    const own = (kind: "service" | "pod") =>
      locals.flatMap((local) => (local.clusterId === clusterId && local.kind === kind ? local.key : []));
    const { localZone } = cluster;
    const zone = { ...cluster, localZone };
    yield* compileClusterLocal(treeScope(scope, tree), zone, key, own("service"), own("pod"));
  }
  if (service !== undefined)
    for (const tree of context.trees) {
      const { plan } = tree;
      if (plan.kind === "federation")
        for (const zone of plan.zones)
          yield* compileFederatedService(treeScope(scope, tree), zone, service, context.distances);
      else if (plan.kind === "clusterset") yield* compileClustersetService(treeScope(scope, tree), service);
    }
  return { block: yield* builder.block(pace), stems: stemsOf(builder), findings, reverse };
}

/** The scope of all names of a builder. */
export function createScope(
  { clusterViews, localities, options }: ZoneContext,
  builder: SegmentBuilder,
  findings: ClusterFinding[],
  addReverse: SegmentScope["addReverse"],
  pace: Pace,
): SegmentScope {
  return { builder, clusterViews, localities, ttl: options.ttl, findings, addReverse, pace };
}

/** The scope of a tree's names. */
export function treeScope(
  segment: SegmentScope,
  { key, shortestZoneBytes, canonicalZoneBytes }: PlannedTree,
): TreeScope {
  return { segment, key, apex: segment.builder.tables.tree(key), shortestZoneBytes, canonicalZoneBytes };
}

/** The trees in which a key may have names. */
function treesOf(
  { trees, treeByKey, hosts }: ZoneContext,
  { key, locals }: NameKey,
  hasService: boolean,
): TreeKey[] {
  const used = new Set<TreeKey>();
  if (hasService) for (const { key: tree, plan } of trees) if (plan.kind !== "cluster-local") used.add(tree);
  for (const { clusterId } of locals) used.add(localTree(clusterId));
  for (const { tree } of hosts.get(key) ?? NO_HOSTS) used.add(tree);
  return [...used].filter((tree) => treeByKey.has(tree));
}

/** Writes a host, whose name exists in every view, and so do the names between it and its namespace. */
function writeHost(
  builder: SegmentBuilder,
  ttl: number,
  { tree, labels, stemLabels, addresses }: PlacedHost,
): void {
  const { nodes, tables } = builder;
  const sets = new RecordSets();
  for (const bytes of addresses) sets.addAddress(bytes, ttl, 0);
  const above = labels.length - stemLabels - 1;
  let node = nodes.child(tables.tree(tree), labels.slice(above).join("."));
  nodes.addFlags(node, NodeFlag.everywhere);
  for (let index = above - 1; index >= 0; index--) {
    node = nodes.child(node, labels[index]!);
    nodes.addFlags(node, NodeFlag.everywhere);
  }
  builder.setRecords(node, sets);
}
