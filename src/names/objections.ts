import type { ClusterFinding, Conflict } from "../merge/clusterset.ts";
import type { ReverseCandidate } from "../zone/reverse-candidate.ts";
import { localTree } from "../zone/tree-key.ts";
import { compilePods } from "./compile-key.ts";
import type { KeyWorld } from "./key-world.ts";

/** What there is to say of a key. */
export interface Objections {
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
}

/** What there is to say of a service of the clusterset. */
export interface ServiceObjections extends Objections {
  /** Whether it is one: a part of a cluster counts. */
  readonly isService: boolean;
  /** The addresses whose reverse names it wants for all views. */
  readonly addresses: readonly Uint8Array[];
}

/** Merges and compiles a service in the clusterset's and the federations' zones. @param key `<namespace>/<name>` */
export function objectionsToService(world: KeyWorld, key: string): ServiceObjections {
  const { trees } = world.context;
  const { conflicts, findings, hasService, reverse } = world.compile(trees[0]!, key);
  const federation = trees.find(({ plan }) => plan.kind === "federation");
  const more = federation === undefined ? [] : world.compile(federation, key).findings;
  return {
    conflicts,
    findings: [...findings, ...more],
    isService: hasService,
    addresses: reverse.flatMap(([address, candidate]) => (isForAllViews(candidate) ? [address] : [])),
  };
}

/** What is found in Services of a cluster's own zone. @param key `<namespace>/<label>`, a `localKey` */
export function findingsInZone(world: KeyWorld, clusterId: string, key: string): readonly ClusterFinding[] {
  const tree = world.context.treeByKey.get(localTree(clusterId));
  // Pods have keys of their own.
  return tree === undefined ? [] : world.compile(tree, key).findings.filter(({ kind }) => kind !== "Pod");
}

/** What is found in pods of a cluster's own zone. @param key a `podsKey` */
export function findingsInPods(world: KeyWorld, clusterId: string, key: string): readonly ClusterFinding[] {
  const tree = world.context.treeByKey.get(localTree(clusterId));
  if (tree?.plan.kind !== "cluster-local" || tree.plan.cluster.zone.pods !== "verified") return [];
  return compilePods(world.context, tree, world.entries.podsAt(clusterId, key), world.entries);
}

function isForAllViews({ source }: ReverseCandidate): boolean {
  return source.view === undefined;
}
