import { RecordType } from "../../dns/codes.ts";
import { ABSENT_CLUSTER } from "../../merge/clusterset.ts";
import { Frame } from "../generation/frame.ts";
import { Trunk } from "../generation/generation.ts";
import { CLUSTER_LOCAL_DNS_VERSION, type LocalCluster } from "../kinds/cluster-local.ts";
import { CLUSTERSET_DNS_VERSION } from "../kinds/clusterset.ts";
import { isObjectLabel } from "../kinds/service-labels.ts";
import type { TreeScope } from "../kinds/tree-scope.ts";
import { Pace } from "../pace.ts";
import { joinBlocks } from "../segment/blocks/join-blocks.ts";
import { hashBlob, hashInSteps } from "../segment/hash.ts";
import { NodeFlag, POD_NAMES } from "../segment/layout.ts";
import { RecordSets } from "../segment/record-sets.ts";
import { Segment } from "../segment/segment.ts";
import { SegmentBuilder } from "../segment/segment-builder.ts";
import type { ZoneSource } from "../zone-source.ts";
import { addressOf, type PlacedHost } from "./hosts.ts";
import { createScope, treeScope } from "./key-compiler.ts";
import type { Stem } from "./stems.ts";
import type { PlannedTree, ZoneContext } from "./zone-context.ts";

/** TTL of the schema version record in seconds, as both specifications print it (2.2). */
const DNS_VERSION_TTL = 28800;
/** What a namespace costs, in units of a pace. */
const STEM_UNITS = 8;

/** Compiles zones, views and namespaces, in a step for each cluster. */
export function* compileFrame(
  { plan, trees, localities, options }: ZoneContext,
  source: ZoneSource,
): Generator<void, Frame> {
  const { clusters, withAbsent } = source;
  const names = new Set<string>();
  for (const { namespaces } of clusters) {
    for (const namespace of namespaces.keys()) names.add(namespace);
    yield;
  }
  const byId = new Map(clusters.map(({ clusterId, namespaces }) => [clusterId, namespaces]));
  const bytes = yield* Frame.write(
    {
      trees: trees.map(({ key }) => key),
      zones: plan.zones,
      views: [
        ...clusters.map(({ clusterId }) => clusterId),
        ...(withAbsent ? [ABSENT_CLUSTER] : []),
        ...localities.map(([view]) => view),
      ],
      namespaces: [...names].sort(),
      podNames: clusters.some(({ localZone }) => localZone?.zone.pods === "insecure"),
      negativeTtl: options.negativeTtl,
    },
    (view, namespace) => byId.get(view)?.has(namespace) === false,
  );
  return Frame.load(bytes, hashBlob(bytes));
}

/** Compiles all names that are shorter than a service: the apexes, what every zone has, and the namespaces. In steps of some namespaces. */
export function* compileTrunk(
  context: ZoneContext,
  frame: Frame,
  stems: readonly Stem[],
): Generator<void, Trunk> {
  const pace = new Pace();
  const builder = new SegmentBuilder(context.trees.map(({ key }) => key));
  const scope = createScope(context, builder, [], () => {}, pace);
  const records = new Map<number, RecordSets>();
  const setsAt = (node: number) => {
    const sets = records.get(node) ?? new RecordSets();
    records.set(node, sets);
    return sets;
  };
  for (const tree of context.trees) compileZoneItself(context, builder, treeScope(scope, tree), tree, setsAt);
  for (const host of context.hosts.get("") ?? []) {
    const sets = setsAt(hostNode(builder, host));
    for (const address of host.addresses) sets.addAddress(address, scope.ttl, 0);
  }
  for (const [node, sets] of records) builder.setRecords(node, sets);
  for (const { tree, labels, isEverywhere } of stems) {
    if (pace.isOver(STEM_UNITS)) yield;
    const planned = context.treeByKey.get(tree);
    if (planned === undefined) continue;
    const node = stemNode(builder, builder.tables.tree(planned.key), labels);
    if (isEverywhere) builder.nodes.addFlags(node, NodeFlag.everywhere);
  }
  const block = yield* builder.block(pace, true);
  const { bytes } = yield* joinBlocks([block], pace, block.source.trees);
  yield;
  return new Trunk(frame, Segment.load(bytes, yield* hashInSteps(bytes)));
}

/** Collects the records that do not depend on services. */
function compileZoneItself(
  { options }: ZoneContext,
  builder: SegmentBuilder,
  scope: TreeScope,
  { plan }: PlannedTree,
  setsAt: (node: number) => RecordSets,
): void {
  const { ttl } = scope.segment;
  const { nodes } = builder;
  if (plan.kind !== "federation") {
    const version = plan.kind === "clusterset" ? CLUSTERSET_DNS_VERSION : CLUSTER_LOCAL_DNS_VERSION;
    const text = Uint8Array.from(version, (character) => character.charCodeAt(0));
    const rdata = Uint8Array.of(text.length, ...text);
    const sets = setsAt(nodes.child(scope.apex, "dns-version"));
    sets.addRdata(RecordType.TXT, rdata, DNS_VERSION_TTL, 0);
  }
  const nameServer = setsAt(nodes.child(nodes.child(scope.apex, "dns"), "ns"));
  for (const address of options.nameServerAddresses) nameServer.addAddress(addressOf(address), ttl, 0);
  // An empty zone still answers NODATA, not NXDOMAIN, at the parent name of all services.
  nodes.child(scope.apex, "svc");
  if (plan.kind === "cluster-local") compilePods(builder, scope, plan.cluster, setsAt);
}

/** Section 2.6 of DNS-based service discovery, deprecated: `<ns>.pod`, with a marker where pods have names of any address. */
function compilePods(
  builder: SegmentBuilder,
  tree: TreeScope,
  { clusterId, namespaces, localZone }: LocalCluster,
  setsAt: (node: number) => RecordSets,
): void {
  const { pods } = localZone.zone;
  if (pods === "disabled") return;
  const { ttl } = tree.segment;
  builder.nodes.child(tree.apex, "pod");
  for (const namespace of [...namespaces.keys()].sort()) {
    if (!isObjectLabel(namespace)) continue;
    const node = stemNode(builder, tree.apex, [namespace, "pod"]);
    if (pods === "insecure") setsAt(node).addMarker(POD_NAMES, ttl, builder.tables.leaseGroup([clusterId]));
  }
}

/** The node of a namespace in a tree, by the labels of its name. */
function stemNode({ nodes }: SegmentBuilder, apex: number, labels: readonly string[]): number {
  const node = labels.reduceRight((parent, label) => nodes.child(parent, label), apex);
  nodes.addFlags(node, NodeFlag.stem);
  return node;
}

/** The node of a host whose name has no namespace. */
function hostNode({ nodes, tables }: SegmentBuilder, { tree, labels }: PlacedHost): number {
  return labels.reduceRight((parent, label) => {
    const node = nodes.child(parent, label);
    nodes.addFlags(node, NodeFlag.everywhere);
    return node;
  }, tables.tree(tree));
}
