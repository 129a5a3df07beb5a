import { type FoldedName, labelStart } from "../dns/folded-name.ts";
import type { MergeRules } from "../merge/index/merge-key.ts";
import type { MergeOptions } from "../merge/merge.ts";
import { createPinTable } from "../merge/pins.ts";
import { DEFAULT_OUTSIDE_ORDER } from "../merge/service/addresses.ts";
import { drain } from "../snapshot/drain.ts";
import { compileFrame } from "../zone/compiler/trunk-compiler.ts";
import { createContext, type PlannedTree, type ZoneContext } from "../zone/compiler/zone-context.ts";
import type { Frame, Zone } from "../zone/generation/frame.ts";
import { addressLabel, isHostLabel, isObjectLabel } from "../zone/kinds/service-labels.ts";
import { DEFAULT_ZONE_OPTIONS, type ZoneOptions } from "../zone/options.ts";
import { compareCandidates, type ReverseCandidate } from "../zone/reverse/reverse-candidate.ts";
import { claimOf } from "../zone/reverse/reverse-order.ts";
import { POD_NAMES } from "../zone/segment/layout.ts";
import { findSet } from "../zone/segment/record-block.ts";
import { localTree, stemDepths } from "../zone/segment/tree-key.ts";
import type { Location, Names, PtrTarget, World } from "../zone/world.ts";
import {
  type CompiledUnit,
  compileClustersetKey,
  compileFederationKey,
  compileLocalKey,
  type MergedEntries,
  mergeEntries,
} from "./compile-key.ts";
import type { CompiledKey } from "./compiled-key.ts";
import type { AddressClaim, EntryReader, WorldCluster } from "./entries.ts";
import { compileFixedNames } from "./fixed-names.ts";

/** Keeps compiled units by `<kind of zone> <namespace>/<label>`; the kind is `clusterset`, `federation` or that of `localTree`. */
export interface UnitCache {
  get(key: string): CompiledUnit | undefined;
  set(key: string, unit: CompiledUnit): void;
}

const NO_MERGED: MergedEntries = {
  likeOutside: [],
  clusters: [],
  service: undefined,
  conflicts: [],
  findings: [],
};
const EMPTY: CompiledUnit = { key: undefined, clusters: [], conflicts: [], findings: [], reverse: [] };
/** The most services that are searched for a name below another one. With more services the other one counts as existing. */
const MOST_SEARCHED = 1000;

/**
 * Answers from what clusters reported, in one scope: a key is compiled when a query first needs it. Made anew when a cluster joins or leaves, or its
 * topology or the settings of its own zone change.
 */
export class KeyWorld implements World {
  serial: number;
  readonly frame: Frame;
  readonly context: ZoneContext;
  readonly #entries: EntryReader;
  readonly #rules: MergeRules;
  readonly #cache: UnitCache;
  readonly #clusters: ReadonlyMap<string, WorldCluster>;
  /** Names that exist whatever clusters report. */
  readonly #fixed: CompiledKey;

  /**
   * @param cache of this scope alone; it may outlive the world
   * @throws {NameError} if a zone name is malformed. @throws {RangeError} if two kinds claim one zone, or an address is none
   */
  constructor(
    entries: EntryReader,
    options: Partial<ZoneOptions>,
    { outsideOrder = DEFAULT_OUTSIDE_ORDER, grants, pins }: MergeOptions,
    cache: UnitCache,
  ) {
    const settings = { ...DEFAULT_ZONE_OPTIONS, ...options };
    this.serial = settings.serial;
    this.#entries = entries;
    this.#rules = { outsideOrder, grants, pins: createPinTable(pins) };
    this.#cache = cache;
    const clusters = entries.clusters();
    this.#clusters = new Map(clusters.map((cluster) => [cluster.clusterId, cluster]));
    const source = {
      clusters: clusters.map(({ zone, ...cluster }) => ({
        ...cluster,
        namespaces: new Set<string>(),
        localZone: zone && { zone, services: new Map(), pods: new Set<string>() },
      })),
      withAbsent: true,
      serviceKeys: () => [],
      service: () => undefined,
      sizeOf: () => undefined,
    };
    this.context = createContext(source, settings);
    this.frame = drain(compileFrame(this.context, source));
    this.#fixed = compileFixedNames(this.context);
  }

  locate(zone: Zone, tree: number, name: FoldedName, view: number): Location | undefined {
    const planned = this.context.trees[tree]!;
    const labels = name.labels - zone.labels;
    const end = name.length - zone.wire.length;
    const { bytes } = name;
    for (const depth of stemDepths(planned.key)) {
      if (labels <= depth) continue;
      const namespace = labelText(name, labels - depth);
      const label = labelText(name, labels - depth - 1);
      const { key } = this.#unit(planned, namespace, label);
      if (key === undefined) continue;
      const node = key.find(key.trees.indexOf(planned.key), bytes, 0, end);
      if (node >= 0 && !this.#isLacking(planned, view, namespace)) return { names: key, node };
    }
    const node = this.#fixed.find(tree, bytes, 0, end);
    if (node >= 0) return { names: this.#fixed, node };
    return this.#hasNamesBelow(planned, name, labels, view) ? this.#empty(tree) : undefined;
  }

  apex(tree: number): Location {
    return { names: this.#fixed, node: this.#fixed.find(tree, NO_BYTES, 0, 0) };
  }

  nameServer(tree: number): Location {
    return { names: this.#fixed, node: this.#fixed.find(tree, NAME_SERVER, 0, NAME_SERVER.length) };
  }

  podNames(zone: Zone, tree: number, name: FoldedName): { names: Names; set: number } | undefined {
    const { plan } = this.context.trees[tree]!;
    if (plan.kind !== "cluster-local" || plan.cluster.localZone.zone.pods !== "insecure") return undefined;
    if (name.labels - zone.labels !== 3 || labelText(name, 2) !== "pod") return undefined;
    if (!this.#hasNamespace(plan.cluster.clusterId, labelText(name, 1))) return undefined;
    const node = this.#fixed.find(tree, POD, 0, POD.length);
    return {
      names: this.#fixed,
      set: findSet(this.#fixed.bytes, this.#fixed.setListOf(node, -1), POD_NAMES),
    };
  }

  ptrTarget(address: Uint8Array, view: number): PtrTarget | undefined {
    const claims = this.#entries.claimsOn(address);
    if (claims.length === 0) return undefined;
    const cluster = this.frame.viewName(view);
    const candidate =
      (cluster && this.#ownCandidate(address, claims, cluster)) || this.#firstCandidate(address, claims);
    if (candidate === undefined) return undefined;
    const { namespace, tree, ttl, clusters, above } = candidate.source;
    const planned = this.context.treeByKey.get(tree)!;
    if (this.#isLacking(planned, view, namespace)) return undefined;
    return {
      leased: { leaseGroups: [[], clusters] },
      leaseGroup: 1,
      ttl,
      name: wireName([candidate.label ?? addressLabel(address), ...above]),
      zone: this.frame.treeByKey.get(tree)!.canonicalZone,
    };
  }

  /** The candidate for the view of a cluster alone that wins there. */
  #ownCandidate(
    address: Uint8Array,
    claims: readonly AddressClaim[],
    cluster: string,
  ): ReverseCandidate | undefined {
    const candidates: ReverseCandidate[] = [];
    const own = this.context.treeByKey.get(localTree(cluster));
    for (const { key, isLocal, clusterId } of claims) {
      if (clusterId !== cluster) continue;
      const planned = isLocal ? own : this.context.trees[0]!;
      for (const candidate of planned === undefined ? [] : this.#candidates(planned, key, address))
        if (candidate.source.view === cluster) candidates.push(candidate);
    }
    return candidates.sort(compareCandidates)[0];
  }

  /** The candidate of the cluster that reported the address first. */
  #firstCandidate(address: Uint8Array, claims: readonly AddressClaim[]): ReverseCandidate | undefined {
    let first: Ordered | undefined;
    const clusters = new Set<string>();
    let isLost = false;
    for (const { key, isLocal, clusterId, order } of claims) {
      if (isLocal) continue;
      for (const candidate of this.#candidates(this.context.trees[0]!, key, address)) {
        const { source } = candidate;
        const place = source.claimants.indexOf(clusterId);
        if (source.view !== undefined || place < 0) continue;
        clusters.add(clusterId);
        isLost ||= order < 0;
        const own = { candidate, order, place, claim: claimOf(clusterId, source.namespace, source.name) };
        if (first === undefined || comesBefore(own, first)) first = own;
      }
    }
    // A lost order decides nothing: the address has a reverse name only while one cluster alone claims it.
    return isLost && clusters.size > 1 ? undefined : first?.candidate;
  }

  *#candidates(planned: PlannedTree, key: string, address: Uint8Array): Generator<ReverseCandidate> {
    const slash = key.indexOf("/");
    for (const [bytes, candidate] of this.#unit(planned, key.slice(0, slash), key.slice(slash + 1)).reverse)
      if (isSameAddress(bytes, address)) yield candidate;
  }

  /** What a key has in one kind of zone. */
  #unit(planned: PlannedTree, namespace: string, label: string): CompiledUnit {
    const { plan } = planned;
    const kind = plan.kind === "cluster-local" ? planned.key : plan.kind;
    const id = `${kind} ${namespace}/${label}`;
    const cached = this.#cache.get(id);
    if (cached !== undefined) return cached;
    const unit =
      isKeyLabel(namespace) && isKeyLabel(label) ? this.#compile(planned, namespace, label) : EMPTY;
    this.#cache.set(id, unit);
    return unit;
  }

  #compile(planned: PlannedTree, namespace: string, label: string): CompiledUnit {
    const { plan } = planned;
    const key = `${namespace}/${label}`;
    if (plan.kind === "cluster-local") {
      const cluster = this.#clusters.get(plan.cluster.clusterId)!;
      return compileLocalKey(this.context, planned, cluster, key, this.#entries);
    }
    const entries = this.#entries.service(namespace, label);
    if (entries === undefined && !this.context.hosts.has(key)) return EMPTY;
    const merged = entries === undefined ? NO_MERGED : mergeEntries(key, entries, this.#rules);
    const compile = plan.kind === "federation" ? compileFederationKey : compileClustersetKey;
    return compile(this.context, key, merged);
  }

  /** Whether the cluster of a view lacks a namespace: then the clusterset has no names in it there. */
  #isLacking({ plan }: PlannedTree, view: number, namespace: string): boolean {
    const cluster = this.frame.viewName(view);
    if (plan.kind !== "clusterset" || cluster === undefined || !this.#clusters.has(cluster)) return false;
    return !this.#entries.hasNamespace(cluster, namespace);
  }

  #hasNamespace(clusterId: string, namespace: string): boolean {
    return isObjectLabel(namespace) && this.#entries.hasNamespace(clusterId, namespace);
  }

  /** Whether a name, which has no records, exists since others end with it. */
  #hasNamesBelow(planned: PlannedTree, name: FoldedName, labels: number, view: number): boolean {
    const { plan } = planned;
    const texts = Array.from({ length: labels }, (_, index) => labelText(name, index));
    const suffix = texts.join(".");
    if (plan.kind === "federation") return this.#hasPlace(planned, texts, suffix);
    const [namespace, parent] = texts;
    if (labels !== 2 || !isKeyLabel(namespace!)) return false;
    if (plan.kind === "clusterset")
      return (
        parent === "svc" &&
        !this.#isLacking(planned, view, namespace!) &&
        this.#hasAny(planned, this.#entries.serviceKeys(namespace), suffix)
      );
    const { clusterId, localZone } = plan.cluster;
    if (parent === "pod")
      return localZone.zone.pods !== "disabled" && this.#hasNamespace(clusterId, namespace!);
    return parent === "svc" && this.#hasAny(planned, this.#entries.localKeys(clusterId, namespace!), suffix);
  }

  /** Whether a name of a federation zone that is shorter than a service has services below: `[[<ns>.]<federation>.]svc[.<zone>].<region>`, or the end of it. */
  #hasPlace(planned: PlannedTree, labels: readonly string[], suffix: string): boolean {
    const svc = labels.lastIndexOf("svc");
    const place = labels.slice(svc + 1);
    const region = place.at(-1);
    const isPlace = region === undefined || this.#regions().has(region);
    if (place.length > 2 || svc > 2 || !isPlace) return false;
    const namespace = svc === 2 ? labels[0] : undefined;
    return this.#hasAny(planned, this.#entries.serviceKeys(namespace), suffix);
  }

  #regions(): ReadonlySet<string> {
    return new Set(Array.from(this.#clusters.values(), ({ region = "" }) => region.toLowerCase()));
  }

  #hasAny(planned: PlannedTree, keys: Iterable<string>, suffix: string): boolean {
    let count = 0;
    for (const key of keys) {
      if (++count > MOST_SEARCHED) return true;
      const slash = key.indexOf("/");
      const { key: compiled } = this.#unit(planned, key.slice(0, slash), key.slice(slash + 1).toLowerCase());
      if (compiled?.hasNameBelow(planned.key, suffix) === true) return true;
    }
    return false;
  }

  /** A name without records. */
  #empty(tree: number): Location {
    return { names: this.#fixed, node: this.#fixed.find(tree, SVC, 0, SVC.length) };
  }
}

interface Ordered {
  readonly candidate: ReverseCandidate;
  readonly order: number;
  /** Among the clusters that claim the address for one service. */
  readonly place: number;
  readonly claim: string;
}

/** The cluster that first reported an address comes first; of those that did so together the one with the oldest part in its service, then by name. */
function comesBefore(one: Ordered, other: Ordered): boolean {
  const [{ since }, { since: otherSince }] = [one.candidate.source, other.candidate.source];
  if (one.order !== other.order) return one.order < other.order;
  // Infinity is as old as Infinity.
  if (since !== otherSince) return since < otherSince;
  return one.place === other.place ? one.claim < other.claim : one.place < other.place;
}

function isSameAddress(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

function wireName(labels: readonly string[]): Uint8Array {
  return Uint8Array.from(labels.flatMap((label) => [...wireOf(label)]));
}

const NO_BYTES = new Uint8Array();
const SVC = wireOf("svc");
const POD = wireOf("pod");
const NAME_SERVER = Uint8Array.of(...wireOf("ns"), ...wireOf("dns"));

function wireOf(label: string): Uint8Array {
  return Uint8Array.of(label.length, ...Array.from(label, (character) => character.charCodeAt(0)));
}

/** A label of a name in text, by its index from the left; each byte becomes the character with its number. */
function labelText(name: FoldedName, index: number): string {
  const { bytes } = name;
  const start = labelStart(name, index);
  let text = "";
  for (let at = start + 1; at <= start + bytes[start]!; at++) text += String.fromCharCode(bytes[at]!);
  return text;
}

/** Whether a label may be part of a key: one of a host name, perhaps with underscores. */
function isKeyLabel(label: string): boolean {
  return isHostLabel(label.replaceAll("_", "x"));
}
