import {
  ABSENT_CLUSTER,
  type ClusterFinding,
  type ClustersetService,
  type Conflict,
} from "../merge/clusterset.ts";
import { type MergeRules, mergeKey } from "../merge/index/merge-key.ts";
import { drain } from "../snapshot/drain.ts";
import type { PlacedHost } from "../zone/compiler/hosts.ts";
import type { PlannedTree, ZoneContext } from "../zone/compiler/zone-context.ts";
import { compileClusterLocal } from "../zone/kinds/cluster-local.ts";
import { compileClustersetService } from "../zone/kinds/clusterset.ts";
import { compileFederatedService } from "../zone/kinds/federation.ts";
import type { SegmentScope, TreeScope } from "../zone/kinds/tree-scope.ts";
import type { Pace } from "../zone/pace.ts";
import type { ReverseCandidate } from "../zone/reverse/reverse-candidate.ts";
import { RecordSets } from "../zone/segment/record-sets.ts";
import type { CompiledKey } from "./compiled-key.ts";
import type { EntryReader, KeyEntries, WorldCluster } from "./entries.ts";
import { KeyBuilder } from "./key-builder.ts";

/** The names of a key in one kind of zone, with what compiling it found. */
export interface CompiledUnit {
  /** Undefined where the key has no names. */
  readonly key: CompiledKey | undefined;
  /** The clusters that have a part in it, one that does not count too. */
  readonly clusters: readonly string[];
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
  /** The PTR records that its addresses want, by address. */
  readonly reverse: readonly (readonly [address: Uint8Array, candidate: ReverseCandidate])[];
}

/** What a service is merged to, and what there is to say of it. */
export interface MergedEntries {
  /** Clusters whose view is that of clients outside, where that of others is not. */
  readonly likeOutside: readonly string[];
  readonly service: ClustersetService | undefined;
  /** The clusters that have a part in it, one that does not count too. */
  readonly clusters: readonly string[];
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
}

const NO_HOSTS: readonly PlacedHost[] = [];
/** A key is compiled in one turn. */
const NO_PACE = { isOver: () => false } as unknown as Pace;

/**
 * Merges what clusters have of a service. `byCluster` has the clusters with addresses of their own, and `ABSENT_CLUSTER` for all others: so it does not
 * depend on which other clusters there are.
 */
export function mergeEntries(
  key: string,
  { contributions, clusters }: KeyEntries,
  rules: MergeRules,
): MergedEntries {
  const isThere = (clusterId: string) => clusters.has(clusterId);
  const own = contributions.filter(
    ({ clusterId, imported, managed }) => (imported ?? managed) !== undefined && isThere(clusterId),
  );
  const viewers = own.map(({ clusterId }) => clusterId);
  const merged = drain(
    mergeKey(
      { contributions: () => contributions, isThere, viewers: () => [...viewers, ABSENT_CLUSTER] },
      key,
      rules,
      true,
    ),
  );
  const { service } = merged;
  const hasInside = service?.byCluster.has(ABSENT_CLUSTER) === true;
  const parts = contributions.map(({ clusterId }) => clusterId);
  return {
    ...merged,
    clusters: parts,
    likeOutside: hasInside ? viewers.filter((one) => !service.byCluster.has(one)) : [],
  };
}

/** Compiles the names of a service in the clusterset's zones. */
export function compileClustersetKey(context: ZoneContext, key: string, merged: MergedEntries): CompiledUnit {
  const { service } = merged;
  const hosts = context.hosts.get(key) ?? NO_HOSTS;
  const trees = context.trees.filter(({ plan }) => plan.kind === "clusterset");
  const unit = new Unit(context, trees, hosts, new Set(service?.byCluster.keys()));
  for (const clusterId of merged.likeOutside) unit.addView(clusterId);
  if (service !== undefined) drain(compileClustersetService(unit.tree(trees[0]!), service));
  return unit.finish(merged);
}

/** Compiles the names of a service in all federation zones. */
export function compileFederationKey(context: ZoneContext, key: string, merged: MergedEntries): CompiledUnit {
  const { service } = merged;
  const hosts = context.hosts.get(key) ?? NO_HOSTS;
  const trees = context.trees.filter(({ plan }) => plan.kind === "federation");
  const unit = new Unit(context, trees, hosts, context.clusterViews);
  for (const tree of trees)
    for (const zone of tree.plan.kind === "federation" && service !== undefined ? tree.plan.zones : [])
      drain(compileFederatedService(unit.tree(tree), zone, service!, context.distances));
  return unit.finish(merged);
}

/** Compiles the names of a key in a cluster's own zone. */
export function compileLocalKey(
  context: ZoneContext,
  tree: PlannedTree,
  { clusterId, zone, ...cluster }: WorldCluster,
  key: string,
  entries: EntryReader,
): CompiledUnit {
  const slash = key.indexOf("/");
  const [namespace, label] = [key.slice(0, slash), key.slice(slash + 1)];
  const unit = new Unit(context, [tree], context.hosts.get(key) ?? NO_HOSTS, context.clusterViews);
  const services = entries.localServices(clusterId, namespace, label);
  const pods = zone?.pods === "verified" ? entries.localPods(clusterId, namespace, label) : [];
  const namespaces = new Set(entries.hasNamespace(clusterId, namespace) ? [namespace] : []);
  const localZone = { zone: zone!, services, pods: new Set(pods) };
  const source = { clusterId, ...cluster, namespaces, localZone };
  drain(compileClusterLocal(unit.tree(tree), source, key, [...services.keys()], pods));
  return unit.finish({ clusters: [clusterId], conflicts: [], findings: [] });
}

/** Compiles into some trees. */
class Unit {
  readonly #builder: KeyBuilder;
  readonly #scope: SegmentScope;
  readonly #findings: ClusterFinding[] = [];
  readonly #reverse: [Uint8Array, ReverseCandidate][] = [];

  /** @param clusterViews clusters with a view of their own */
  constructor(
    { options, localities }: ZoneContext,
    trees: readonly PlannedTree[],
    hosts: readonly PlacedHost[],
    clusterViews: ReadonlySet<string>,
  ) {
    const keys = trees.map(({ key }) => key);
    this.#builder = new KeyBuilder(keys);
    this.#scope = {
      builder: this.#builder,
      clusterViews,
      localities,
      ttl: options.ttl,
      findings: this.#findings,
      addReverse: (bytes, candidate) => this.#reverse.push([bytes, candidate]),
      pace: NO_PACE,
    };
    // The name of a host is not a service's.
    for (const { tree, labels, addresses } of hosts) {
      const apex = keys.indexOf(tree);
      if (apex < 0) continue;
      const node = labels.reduceRight((parent, label) => this.#builder.child(parent, label), apex);
      const sets = new RecordSets();
      for (const bytes of addresses) sets.addAddress(bytes, options.ttl, 0);
      this.#builder.setRecords(node, sets);
    }
  }

  /** Adds a view that has no records of its own. */
  addView(name: string): void {
    this.#builder.tables.view(name);
  }

  tree({ key, shortestZoneBytes, canonicalZoneBytes }: PlannedTree): TreeScope {
    const apex = this.#builder.tables.tree(key);
    return { segment: this.#scope, key, apex, shortestZoneBytes, canonicalZoneBytes };
  }

  finish({
    clusters,
    conflicts,
    findings,
  }: Pick<MergedEntries, "clusters" | "conflicts" | "findings">): CompiledUnit {
    const key = this.#builder.isEmpty ? undefined : this.#builder.finish();
    return { key, clusters, conflicts, findings: [...findings, ...this.#findings], reverse: this.#reverse };
  }
}
