import { findingsKeyOf } from "../database/places.ts";
import { formatAddress } from "../dns/address.ts";
import { parseName, RecordType, readFoldedName } from "../dns/name.ts";
import type { Steps } from "../dns/steps.ts";
import type { ServiceAccount } from "../merge/account.ts";
import { lackingIn, type Restrictions, restrictionsOf, withoutExports } from "../merge/audience.ts";
import type { ClusterFinding, Conflict } from "../merge/clusterset.ts";
import type { Contribution } from "../merge/declaration.ts";
import { countParts } from "../merge/merge-key.ts";
import { compareFindings, compareText, distinctFindings, nameOf, namespaceOf } from "../merge/order.ts";
import { type DeclaredService, declareService } from "../merge/service.ts";
import type { ReverseCandidate } from "../zone/kinds/tree-scope.ts";
import { CLUSTERSET_TREE, localTree } from "../zone/name-tree.ts";
import {
  findSet,
  fixedDataBytes,
  isLocalityView,
  read16,
  recordCount,
  recordsOf,
  unlessMissing,
  type World,
} from "../zone/world.ts";
import { compilePods, mergeViews } from "./compile-key.ts";
import { CompiledKey } from "./compiled-key.ts";
import type { KeyEntries } from "./entries.ts";
import type { KeyWorld } from "./key-world.ts";
import { reverseLosses } from "./reverse-losses.ts";
import type { ServiceListing } from "./service-listing.ts";

/** What a cluster has in a service. */
export interface ServicePart {
  readonly clusterId: string;
  /** `counted`: its export is served. `refused`: it is not. */
  readonly exported: "counted" | "refused" | undefined;
  readonly imported: boolean;
}

/** Which services are listed. */
export interface ServiceSearch {
  /** Words that `<service>.<namespace>` must contain, without regard to case. Empty for all services. */
  readonly words: readonly string[];
  /** A cluster id; undefined for outside. */
  readonly view: string | undefined;
  /** The number of matches to skip. */
  readonly offset: number;
  readonly most: number;
}

/** The most addresses of a service that are listed. */
const MOST_ADDRESSES = 4;
/** Services of one step. */
const SERVICES_AT_ONCE = 256;
const UNDERSCORE = 0x5f;
const PORT = /^_[^.]+\._[^.]+$/;

/**
 * The services of the clusterset zone that match a search, and in how many that match it clusters have a
 * part, in steps. Those that are listed are compiled. Leases are not applied.
 */
export function* listServices(
  world: KeyWorld,
  { words, view, offset, most }: ServiceSearch,
): Steps<{ readonly total: number; readonly services: readonly ServiceListing[] }> {
  const [tree] = world.context.trees;
  const viewIndex = world.frame.viewOf(view);
  const accounts = new Accounts(world);
  const wanted = words.map((word) => word.toLowerCase());
  const services: ServiceListing[] = [];
  let total = 0;
  let read = 0;
  for (const key of world.entries.serviceKeys()) {
    if (++read % SERVICES_AT_ONCE === 0) yield;
    const text = `${nameOf(key)}.${namespaceOf(key)}`.toLowerCase();
    if (!wanted.every((word) => text.includes(word))) continue;
    if (world.isLacking(tree!, viewIndex, namespaceOf(key))) continue;
    if (view !== undefined && !accounts.has(key, view)) continue;
    total++;
    if (total <= offset || services.length >= most) continue;
    const unit = yield* world.unitInSteps(tree!, key);
    // No part counts.
    if (!unit.hasService) total--;
    else {
      const { conflicts } = view === undefined ? unit : accounts.of(key, view);
      services.push({ ...listingOf(unit.key, key, view), hasConflict: conflicts.length > 0 });
    }
    yield;
  }
  return { total, services };
}

/**
 * A service in one view; undefined if it has no name there, or is not in memory.
 * @param key `<namespace>/<name>` @param view a cluster id; undefined for outside
 */
export function serviceAt(
  world: Pick<World, "frame" | "locate">,
  key: string,
  view: string | undefined,
): ServiceListing | undefined {
  const { frame } = world;
  const zone = frame.trees[0]!.canonicalZone;
  const name = readFoldedName(parseName(`${textOf(key)}.${zone.name}`), 0)!;
  const found = unlessMissing(() => world.locate(zone, 0, name, frame.viewOf(view)));
  if (found === undefined || found === "missing" || !(found.names instanceof CompiledKey)) return undefined;
  return listingOf(found.names, key, view);
}

function textOf(key: string): string {
  return `${nameOf(key)}.${namespaceOf(key)}.svc`;
}

function listingOf(names: CompiledKey | undefined, key: string, view: string | undefined): ServiceListing {
  const addresses: string[] = [];
  const clusters = new Set<string>();
  const ports: { name: string; number: number }[] = [];
  const own = textOf(key).toLowerCase();
  let addressCount = 0;
  for (const node of names?.nodesOf(CLUSTERSET_TREE, view) ?? []) {
    const { bytes, leaseGroups } = names!;
    // A headless service has a node for each endpoint.
    if (names!.firstByteOf(node) !== UNDERSCORE && names!.nameBytes(node) !== own.length + 1) continue;
    const text = names!.textOf(node);
    const list = names!.setListOf(node, names!.viewOf(view));
    if (list === 0) continue;
    const prefix = text.toLowerCase().endsWith(`.${own}`) ? text.slice(0, -own.length - 1) : undefined;
    if (prefix !== undefined && PORT.test(prefix)) {
      const set = findSet(bytes, list, RecordType.SRV);
      if (set !== 0) ports.push({ name: prefix, number: read16(bytes, recordsOf(bytes, set)) });
    }
    if (text.toLowerCase() !== own) continue;
    for (const type of [RecordType.A, RecordType.AAAA]) {
      const set = findSet(bytes, list, type);
      if (set === 0) continue;
      const count = recordCount(bytes, set);
      addressCount += count;
      for (const cluster of leaseGroups[names!.leaseGroupOf(set)] ?? []) clusters.add(cluster);
      let at = recordsOf(bytes, set);
      for (let left = count; left > 0 && addresses.length < MOST_ADDRESSES; left--) {
        addresses.push(formatAddress(bytes.subarray(at, at + fixedDataBytes(type))));
        at += fixedDataBytes(type);
      }
    }
  }
  return {
    namespace: namespaceOf(key),
    name: nameOf(key),
    addresses,
    addressCount,
    ports: ports.sort((one, other) => compareText(one.name, other.name)),
    clusters: [...clusters].sort(),
  };
}

const NO_ENTRIES: KeyEntries = { contributions: [], clusters: new Set(), parts: [] };

/** How the services of a world come about, one by one. Keys are `<namespace>/<name>`. */
export class Accounts {
  readonly world: KeyWorld;

  constructor(world: KeyWorld) {
    this.world = world;
  }

  /**
   * How a service comes about in a view, by the steps that merge it.
   * @param view its name; undefined for outside
   */
  of(key: string, view?: string): ServiceAccount {
    const { rules } = this.world;
    const entries = this.#entriesOf(key, view);
    const { service, likeOutside, conflicts } = mergeViews(key, entries, rules);
    return {
      parts: entries.contributions.filter(hasPart),
      declared: this.#declaredOf(key, entries),
      service,
      likeOutside,
      conflicts,
    };
  }

  /**
   * What clusters have in a service in a view, in order of cluster id.
   * @param view its name; undefined for outside
   */
  partsOf(key: string, view?: string): ServicePart[] {
    const entries = this.#entriesOf(key, view);
    const declared = this.#declaredOf(key, entries);
    const exporters = new Set(
      declared?.isExported === true ? declared.declarations.map(({ clusterId }) => clusterId) : [],
    );
    return entries.contributions.flatMap(({ clusterId, exported, imported }) => {
      if (exported === undefined && imported === undefined) return [];
      const kind = exporters.has(clusterId) ? "counted" : "refused";
      return { clusterId, exported: exported && kind, imported: imported !== undefined };
    });
  }

  /**
   * Whether a cluster has a part in a service that counts in a view.
   * @param view its name; undefined for outside
   */
  has(key: string, view: string | undefined): boolean {
    return this.#countedOf(key, this.#entriesOf(key, view)).length > 0;
  }

  /** The exports of a service to some clusters only. */
  restrictionsOf(key: string): Restrictions {
    return restrictionsOf(key, this.#entriesOf(key), this.world.rules.pins);
  }

  /** The clusters whose exports of a service a view lacks. @param view its name */
  lackedBy(key: string, view: string): ReadonlySet<string> {
    return lackingIn(this.restrictionsOf(key), view);
  }

  /**
   * Whether the cluster of a view lacks a namespace: then the clusterset has no names in it there.
   * @param view its index
   */
  isLacking(view: number, namespace: string): boolean {
    return this.world.isLacking(this.world.context.trees[0]!, view, namespace);
  }

  /** The clusters that have a namespace. */
  clustersWith(namespace: string): string[] {
    const { entries } = this.world;
    return entries
      .clusters()
      .flatMap(({ clusterId }) => (entries.hasNamespace(clusterId, namespace) ? clusterId : []));
  }

  /**
   * What clusters report, and what merging and compiling find, of objects with a name: by cluster id, kind,
   * reason and message. A view lacks those of clusters whose part it does not have. @param view its name;
   * undefined for outside
   */
  *findingsOf(key: string, view?: string): Steps<ClusterFinding[]> {
    const world = this.world;
    const { entries, context } = world;
    const bucket = findingsKeyOf(key);
    const findings = entries.clusters().flatMap(({ clusterId }) => entries.findingsAt(clusterId, bucket));
    const federation = context.trees.find(({ plan }) => plan.kind === "federation");
    for (const tree of context.trees) {
      yield;
      if (tree.plan.kind !== "federation" || tree === federation)
        findings.push(...(yield* world.unitInSteps(tree, key)).findings);
    }
    const entriesOfAll = this.#entriesOf(key);
    const all = entriesOfAll.contributions;
    const seen = this.#inView(key, entriesOfAll, view).contributions;
    // Lost reverse names name services of others, which the view may lack.
    if (seen === all) findings.push(...(yield* reverseLosses(world, key)));
    const hidden = new Set(seen === all ? [] : all.map(({ clusterId }) => clusterId));
    for (const one of seen) if (hasPart(one) || one.clusterId === view) hidden.delete(one.clusterId);
    const own = findings.filter(
      ({ clusterId, namespace, name }) => `${namespace}/${name}` === key && !hidden.has(clusterId),
    );
    return distinctFindings(own.sort(compareFindings));
  }

  #entriesOf(key: string, view?: string): KeyEntries {
    const entries = this.world.entries.service(namespaceOf(key), nameOf(key)) ?? NO_ENTRIES;
    return this.#inView(key, entries, view);
  }

  /** Entries without the exports that a view lacks; the same object where it lacks none. */
  #inView(key: string, entries: KeyEntries, view: string | undefined): KeyEntries {
    if (view === undefined || isLocalityView(view)) return entries;
    const { rules } = this.world;
    const lacking = lackingIn(restrictionsOf(key, entries, rules.pins), view);
    return lacking.size === 0
      ? entries
      : { ...entries, contributions: withoutExports(entries.contributions, lacking, rules.grants) };
  }

  /** Undefined where no part counts. */
  #declaredOf(key: string, entries: KeyEntries): DeclaredService | undefined {
    const counted = this.#countedOf(key, entries);
    const name = { namespace: namespaceOf(key), name: nameOf(key) };
    return counted.length === 0 ? undefined : declareService(name, counted, this.world.rules.grants);
  }

  #countedOf(key: string, { contributions, clusters }: KeyEntries) {
    return countParts(key, { contributions, clusters }, this.world.rules.pins).contributions;
  }
}

function hasPart({ exported, imported }: Contribution): boolean {
  return exported !== undefined || imported !== undefined;
}

/** What there is to say of a key. */
export interface Objections {
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
}

/**
 * Conflicts and findings without those of exports that a view lacks.
 * @param view its name; undefined for outside
 */
export function* objectionsIn(
  accounts: Accounts,
  view: string | undefined,
  all: Objections,
): Steps<Objections> {
  if (view === undefined) return all;
  const conflicts: Conflict[] = [];
  const findings: ClusterFinding[] = [];
  for (const conflict of all.conflicts) {
    yield;
    const key = `${conflict.namespace}/${conflict.name}`;
    if (accounts.lackedBy(key, view).size === 0) conflicts.push(conflict);
    else
      conflicts.push(
        ...accounts.of(key, view).conflicts.filter(({ property }) => property === conflict.property),
      );
  }
  for (const finding of all.findings) {
    yield;
    const { namespace, name, clusterId } = finding;
    if (namespace === undefined || !accounts.lackedBy(`${namespace}/${name}`, view).has(clusterId))
      findings.push(finding);
  }
  return { conflicts, findings };
}

/** What there is to say of a service of the clusterset. */
interface ServiceObjections extends Objections {
  /** Whether it is one: a part of a cluster counts. */
  readonly isService: boolean;
  /** The addresses whose reverse names it wants for all views. */
  readonly addresses: readonly Uint8Array[];
}

/**
 * Merges and compiles a service in the clusterset's and the federations' zones.
 * @param key `<namespace>/<name>`
 */
export function* objectionsToService(world: KeyWorld, key: string): Steps<ServiceObjections> {
  const { trees } = world.context;
  const { conflicts, findings, hasService, reverse } = yield* world.compile(trees[0]!, key);
  const federation = trees.find(({ plan }) => plan.kind === "federation");
  const more = federation === undefined ? [] : (yield* world.compile(federation, key)).findings;
  return {
    conflicts,
    findings: [...findings, ...more],
    isService: hasService,
    addresses: reverse.flatMap(([address, candidate]) => (isForAllViews(candidate) ? [address] : [])),
  };
}

/** What is found in Services of a cluster's own zone. @param key `<namespace>/<label>`, a `localKey` */
export function* findingsInZone(
  world: KeyWorld,
  clusterId: string,
  key: string,
): Steps<readonly ClusterFinding[]> {
  const tree = world.context.treeByKey.get(localTree(clusterId));
  if (tree === undefined) return [];
  // Pods have keys of their own.
  return (yield* world.compile(tree, key)).findings.filter(({ kind }) => kind !== "Pod");
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
