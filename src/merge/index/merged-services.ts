import { drain } from "../../snapshot/drain.ts";
import { tableOf } from "../../snapshot/lines/held-state.ts";
import type { ClusterFinding, ClustersetService, Conflict } from "../clusterset.ts";
import type { Grants } from "../grants.ts";
import { compareFindings, compareKeys } from "../order.ts";
import { createPinTable, type Pins } from "../pins.ts";
import { type AddressSource, DEFAULT_OUTSIDE_ORDER } from "../service/addresses.ts";
import type { Contribution } from "../service/declaration.ts";
import { type DeclaredService, declareService } from "../service/service.ts";
import { sizeOfService } from "../service/size.ts";
import { nameOf, namespaceOf } from "../service-key.ts";
import type { Visibility } from "../visibility/visibility.ts";
import { createEntryFilter, type EntryFilter } from "../visibility/visible.ts";
import { KeptServices } from "./kept-services.ts";
import { countParts, type MergedKey, type MergeRules, mergeKey } from "./merge-key.ts";
import {
  addChange,
  localOf,
  nothingPending,
  type ResumedServices,
  type ScopeChange,
} from "./scope-change.ts";
import type { IndexWatcher, ServiceIndex } from "./service-index.ts";
import { countAll, type ServiceCounts, VisibleCounts } from "./visible-counts.ts";
import { VisibleIndex } from "./visible-index.ts";

/** How services are merged. */
export interface MergeOptions {
  /** The first source from which the oldest export with an address has one counts. Default: ClusterSetIP, LoadBalancer, Endpoint. */
  readonly outsideOrder?: readonly AddressSource[];
  /** For which other clusters importers speak. Default: each for all. */
  readonly grants?: Grants;
  /** What clusters may export, and whose export decides. Default: anything, and the oldest. */
  readonly pins?: Pins | undefined;
}

/** How a service comes about: what `service` is merged from. */
export interface ServiceAccount {
  /** The parts of clusters in it, in order of cluster id; those that do not count included. */
  readonly parts: readonly Contribution[];
  /** Undefined where no part counts. */
  readonly declared: DeclaredService | undefined;
  readonly service: ClustersetService | undefined;
}

/**
 * Ports, endpoints and addresses of the services that are kept merged, in about 5 MB; others are merged again when they are read. A first
 * compilation of 100,000 endpoints, loaded from rows, takes 5.8 s of CPU time if each service is merged twice, and 5.3 s if once (medians of 3).
 */
const MOST_KEPT = 32_768;
/** The same between compilations: the services of some segments. */
const MOST_KEPT_AFTER = 8192;

/** The services of one scope, merged from an index: after a change those that it touches alone. */
export class MergedServices implements IndexWatcher {
  /** What is merged from. */
  readonly visible: VisibleIndex;
  readonly filter: EntryFilter | undefined;
  readonly #index: ServiceIndex;
  readonly #rules: MergeRules;
  readonly #counts: Pick<VisibleCounts, "of" | "update">;
  /** `sizeOfService` of every service; its complement (`~`) for headless ones, as of when they were merged: they are the same for all importers. */
  readonly #sizes = new Map<string, number>();
  readonly #kept: KeptServices;
  /** Of the few services that have any. */
  readonly #conflicts = new Map<string, readonly Conflict[]>();
  readonly #findings = new Map<string, readonly ClusterFinding[]>();
  #pending = nothingPending();
  #withAbsent = false;
  #listed:
    | { readonly conflicts: readonly Conflict[]; readonly findings: readonly ClusterFinding[] }
    | undefined;

  /**
   * @param mostKept ports, endpoints and addresses of the services that are kept merged
   * @throws {RangeError} for a visibility that contradicts itself, or has a range that is none
   */
  constructor(
    index: ServiceIndex,
    visibility: Visibility,
    options: MergeOptions = {},
    mostKept: number = MOST_KEPT,
  ) {
    this.#kept = new KeptServices(mostKept);
    const { outsideOrder = DEFAULT_OUTSIDE_ORDER, grants, pins } = options;
    this.#rules = { outsideOrder, grants, pins: createPinTable(pins) };
    this.#index = index;
    this.filter = createEntryFilter(visibility);
    this.visible = new VisibleIndex(index, this.filter);
    this.#counts = this.filter?.hidesNoService === false ? new VisibleCounts(this.visible) : countAll(index);
    index.watch(this);
  }

  /** Whether there is a view of clusters that are not live. */
  get withAbsent(): boolean {
    return this.#withAbsent;
  }

  set withAbsent(withAbsent: boolean) {
    if (withAbsent === this.#withAbsent) return;
    this.#withAbsent = withAbsent;
    this.#kept.shrinkTo(0);
    this.#pending.clusters = true;
    for (const key of this.#index.keys()) this.#pending.services.add(key);
  }

  /** Whether something changed since the services were last settled. */
  get hasChanged(): boolean {
    const { clusters, findings, services, local } = this.#pending;
    return clusters || findings || services.size > 0 || local.size > 0;
  }

  /** `<namespace>/<name>` of every service. */
  keys(): Iterable<string> {
    return this.#sizes.keys();
  }

  get size(): number {
    return this.#sizes.size;
  }

  /** A service, merged when it is read, in one turn. */
  service(key: string): ClustersetService | undefined {
    return drain(this.serviceInSteps(key));
  }

  /** A service, merged when it is asked for, in steps. */
  *serviceInSteps(key: string): Generator<void, ClustersetService | undefined> {
    if (!this.#sizes.has(key)) return undefined;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const { service } = yield* mergeKey(this.visible, key, this.#rules, this.#withAbsent);
    this.#kept.keep(key, service);
    return service;
  }

  /** `sizeOfService` of a service, which is not merged for it. */
  sizeOf(key: string): number | undefined {
    const size = this.#sizes.get(key);
    return size !== undefined && size < 0 ? ~size : size;
  }

  /** What `resume` needs of a service; undefined where there is none. */
  noteOf(key: string): number | undefined {
    return this.#sizes.get(key);
  }

  /** Whether there are conflicts or findings of a service. */
  isReported(key: string): boolean {
    return this.#conflicts.has(key) || this.#findings.has(key);
  }

  /** The keys with conflicts or findings; those with both twice. */
  *reportedKeys(): Generator<string> {
    yield* this.#conflicts.keys();
    yield* this.#findings.keys();
  }

  /**
   * Goes on from services that another process merged from what the index has, in steps. Nothing has changed then but for `reported`.
   * @param sizes `noteOf` every service @param reported keys that may have conflicts and findings
   */
  *resume({ sizes, reported, withAbsent }: ResumedServices): Generator<void> {
    for (const key of this.#index.keys()) {
      this.#counts.update(key);
      yield;
    }
    for (const [key, size] of sizes) this.#sizes.set(key, size);
    this.#withAbsent = withAbsent;
    this.#pending = { ...nothingPending(), clusters: true, services: new Set(reported) };
  }

  /** `<namespace>/<name>` of each export of a cluster that exists, served or not, in no order. */
  *exportsOf(clusterId: string): Generator<string> {
    if (this.filter?.hasCluster(clusterId) === false) return;
    for (const key of this.#index.clusters.get(clusterId)?.state.keys("exports") ?? [])
      if (this.filter?.hasNamespace(namespaceOf(key)) !== false) yield key;
  }

  /** How many exports and imports of a cluster exist. */
  countsOf(clusterId: string): ServiceCounts {
    return this.#counts.of(clusterId);
  }

  /** How a service comes about, by the steps that merge it. */
  accountOf(key: string): ServiceAccount {
    const { pins, grants } = this.#rules;
    const { contributions } = countParts(this.visible, key, pins);
    const service = { namespace: namespaceOf(key), name: nameOf(key) };
    return {
      parts: this.visible
        .contributions(key)
        .filter(({ exported, imported }) => exported !== undefined || imported !== undefined),
      declared: contributions.length === 0 ? undefined : declareService(service, contributions, grants),
      service: this.service(key),
    };
  }

  /** The conflicts of a service. */
  conflictsOf(key: string): readonly Conflict[] {
    return this.#conflicts.get(key) ?? [];
  }

  /** What a cluster contributes to a service, in a namespace that it has. */
  contributionOf(clusterId: string, key: string): Contribution | undefined {
    if (!this.visible.isThere(clusterId, key)) return undefined;
    return this.visible.contributions(key).find((one) => one.clusterId === clusterId);
  }

  /** Merges what changed, a service a step, or several for one with many endpoints. What is not merged for an error has changed the next time, too. */
  *settle(): Generator<void, ScopeChange> {
    const settled = this.#pending;
    this.#pending = nothingPending();
    let isDone = false;
    try {
      for (const key of settled.services) {
        this.#counts.update(key);
        this.#take(key, yield* mergeKey(this.visible, key, this.#rules, this.#withAbsent));
        yield;
      }
      isDone = true;
    } finally {
      if (!isDone) this.postpone(settled);
    }
    this.#listed = undefined;
    return settled;
  }

  /** Has what was settled change again: it was not compiled. */
  postpone(change: ScopeChange): void {
    addChange(this.#pending, change);
  }

  /** Lets most services go that are kept merged: what was settled is compiled. */
  compiled(): void {
    this.#kept.shrinkTo(MOST_KEPT_AFTER);
  }

  /** Sorted by service, and by cluster id, namespace, name, kind, reason and message. */
  list(): { readonly conflicts: readonly Conflict[]; readonly findings: readonly ClusterFinding[] } {
    this.#listed ??= {
      conflicts: [...this.#conflicts.keys()].sort(compareKeys).flatMap((key) => this.#conflicts.get(key)!),
      findings: [...this.#reported(), ...[...this.#findings.values()].flat()].sort(compareFindings),
    };
    return this.#listed;
  }

  serviceChanged(key: string, clusterId: string): void {
    if (this.filter?.hasCluster(clusterId) === false) return;
    if (this.filter?.hasNamespace(namespaceOf(key)) === false) return;
    this.#kept.drop(key);
    this.#pending.services.add(key);
  }

  /**
   * A cluster that joins has namespaces in which others have headless services. With those merged and compiled again, the first pushes of 100 clusters
   * with 3,000 services in 30 namespaces take 49 s of CPU time to compile; without, 23 s (busy machine).
   */
  importersChanged(key: string, clusterId: string): void {
    const isHeadless = (this.#sizes.get(key) ?? 0) < 0;
    if (!isHeadless) this.serviceChanged(key, clusterId);
  }

  clusterChanged(clusterId: string): void {
    if (this.filter?.hasCluster(clusterId) === false) return;
    this.visible.namespacesChanged();
    this.#pending.clusters = true;
  }

  localChanged(clusterId: string, collection: "services" | "pods", key: string): void {
    if (this.filter?.hasCluster(clusterId) === false) return;
    if (this.filter?.hasNamespace(namespaceOf(key)) === false) return;
    localOf(this.#pending, clusterId)[collection].add(key);
  }

  findingChanged(clusterId: string): void {
    if (this.filter?.hasCluster(clusterId) !== false) this.#pending.findings = true;
  }

  #take(key: string, { service, conflicts, findings }: MergedKey): void {
    if (service === undefined) this.#sizes.delete(key);
    else {
      const size = sizeOfService(service);
      this.#sizes.set(key, service.type === "Headless" ? ~size : size);
    }
    this.#kept.keep(key, service);
    if (conflicts.length === 0) this.#conflicts.delete(key);
    else this.#conflicts.set(key, conflicts);
    if (findings.length === 0) this.#findings.delete(key);
    else this.#findings.set(key, findings);
  }

  /** The findings that clusters reported. */
  *#reported(): Generator<ClusterFinding> {
    for (const clusterId of this.visible.clusterIds())
      for (const finding of Object.values(tableOf(this.#index.clusters.get(clusterId)!.state, "findings")))
        if (this.filter?.hasFinding(finding) !== false) yield { ...finding, clusterId };
  }
}
