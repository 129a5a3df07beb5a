import { findingsKeyOf, Kind } from "../database/places.ts";
import type { ServiceAccount } from "../merge/account.ts";
import type { ClusterFinding } from "../merge/clusterset.ts";
import { countParts } from "../merge/merge-key.ts";
import { compareFindings } from "../merge/order.ts";
import { declareService } from "../merge/service/service.ts";
import { nameOf, namespaceOf } from "../merge/service-key.ts";
import { present } from "../zone/world.ts";
import { mergeEntries } from "./compile-key.ts";
import type { KeyEntries } from "./entries.ts";
import type { KeyWorld } from "./key-world.ts";

const NO_ENTRIES: KeyEntries = { contributions: [], clusters: new Set(), parts: [] };

/** How the services of a world come about, one by one. Keys are `<namespace>/<name>`. */
export class Accounts {
  readonly world: KeyWorld;

  constructor(world: KeyWorld) {
    this.world = world;
  }

  /** How a service comes about, by the steps that merge it. */
  of(key: string): ServiceAccount {
    const { rules } = this.world;
    const entries = this.#entriesOf(key);
    const { service, likeOutside, conflicts } = mergeEntries(key, entries, rules);
    const counted = this.#countedOf(key, entries);
    const name = { namespace: namespaceOf(key), name: nameOf(key) };
    return {
      parts: entries.contributions.filter(
        ({ exported, imported }) => exported !== undefined || imported !== undefined,
      ),
      declared: counted.length === 0 ? undefined : declareService(name, counted, rules.grants),
      service,
      likeOutside,
      conflicts,
    };
  }

  /** Whether a cluster has a part in a service that counts. */
  has(key: string): boolean {
    return this.#countedOf(key, this.#entriesOf(key)).length > 0;
  }

  /** Services that a live cluster exports, whether or not its export counts, in order. */
  exportsOf(clusterId: string): Iterable<string> {
    const { entries, context } = this.world;
    return context.clusterViews.has(clusterId) ? entries.keysOf(clusterId, Kind.export) : [];
  }

  /** Characters of what clusters report of a service. */
  charactersOf(key: string): number {
    return this.world.entries.charactersOf(key);
  }

  /** Services in which clusters have a part, of one namespace or of all, in order. */
  keys(namespace?: string): Iterable<string> {
    return this.world.entries.serviceKeys(namespace);
  }

  /** Whether the cluster of a view lacks a namespace: then the clusterset has no names in it there. @param view its index */
  isLacking(view: number, namespace: string): boolean {
    return present(this.world.isLacking(this.world.context.trees[0]!, view, namespace));
  }

  /** The clusters that have a namespace. */
  clustersWith(namespace: string): string[] {
    const { entries } = this.world;
    return entries
      .clusters()
      .flatMap(({ clusterId }) => (entries.hasNamespace(clusterId, namespace) ? clusterId : []));
  }

  /** What clusters report, and what merging and compiling find, of objects with a name: by cluster id, kind, reason and message. */
  findingsOf(key: string): ClusterFinding[] {
    const world = this.world;
    const { entries, context } = world;
    const bucket = findingsKeyOf(key);
    const findings = entries.clusters().flatMap(({ clusterId }) => entries.findingsAt(clusterId, bucket));
    const federation = context.trees.find(({ plan }) => plan.kind === "federation");
    for (const tree of context.trees)
      if (tree.plan.kind !== "federation" || tree === federation)
        findings.push(...world.unitOf(tree, key).findings);
    findings.push(...world.reverseLosses(key));
    return findings.filter(({ namespace, name }) => `${namespace}/${name}` === key).sort(compareFindings);
  }

  #entriesOf(key: string): KeyEntries {
    return this.world.entries.service(namespaceOf(key), nameOf(key)) ?? NO_ENTRIES;
  }

  #countedOf(key: string, { contributions, clusters }: KeyEntries) {
    return countParts(key, { contributions, clusters }, this.world.rules.pins).contributions;
  }
}
