import { type FoldedName, labelText, MAX_NAME_BYTES } from "../dns/name.ts";
import { ABSENT_CLUSTER } from "../merge/clusterset.ts";
import { nameOf, namespaceOf } from "../merge/order.ts";
import { addressLabel, isKeyLabel, isObjectLabel } from "../zone/kinds/endpoint-records.ts";
import type { ReverseCandidate } from "../zone/kinds/tree-scope.ts";
import { localTree, stemDepths } from "../zone/name-tree.ts";
import {
  Frame,
  type LeasedTtl,
  type Location,
  type PtrTarget,
  type World,
  type Zone,
} from "../zone/world.ts";
import { createContext, type PlannedTree, type ZoneContext } from "../zone/zone-context.ts";
import type { ZoneCluster, ZoneOptions } from "../zone/zone-plan.ts";
import { type CompiledUnit, compileFixedNames } from "./compile-key.ts";
import type { CompiledKey } from "./compiled-key.ts";
import type { AddressClaim } from "./entries.ts";
import { candidatesFor, reverseName } from "./reverse-names.ts";

/** The kind of zone of a unit: `clusterset`, `federation` or that of `localTree`. */
export function unitKind({ plan, key }: PlannedTree): string {
  return plan.kind === "cluster-local" ? key : plan.kind;
}

/**
 * Finds names in zones, wherever the names of keys are from. Throws a `MissingPart` for what is not in
 * memory.
 */
export abstract class ZoneWorld<Unit extends { readonly key: CompiledKey | undefined }> implements World {
  serial: number;
  readonly frame: Frame;
  readonly context: ZoneContext;
  /** The live clusters, by id. */
  protected readonly clusters: ReadonlyMap<string, ZoneCluster>;
  /** Names that exist whatever clusters report. */
  readonly fixed: CompiledKey;

  /**
   * @param clusters the live ones @param lapsed those whose lease expired
   * @throws {NameError} if a zone name is malformed. @throws {RangeError} if two kinds claim one zone, or an
   * address is none
   */
  constructor(clusters: readonly ZoneCluster[], settings: ZoneOptions, lapsed: readonly string[]) {
    this.serial = settings.serial;
    this.clusters = new Map(clusters.map((cluster) => [cluster.clusterId, cluster]));
    this.context = createContext(clusters, settings);
    const { trees, zones, localities } = this.context;
    this.frame = new Frame({
      trees,
      zones,
      views: [
        ...clusters.map(({ clusterId }) => clusterId),
        ABSENT_CLUSTER,
        ...localities.map(([view]) => view),
      ],
      lapsed,
      negativeTtl: settings.negativeTtl,
    });
    this.fixed = compileFixedNames(this.context);
  }

  /** The names of a key in one kind of zone. */
  protected abstract namesOf(planned: PlannedTree, namespace: string, label: string): Unit;
  /** The PTR records that the addresses of a key want, those of one address at least. */
  protected abstract reverseOf(
    planned: PlannedTree,
    namespace: string,
    label: string,
    address: Uint8Array,
  ): Pick<CompiledUnit, "reverse" | "hasAudiences">;
  /** Whether a live cluster has a namespace. */
  protected abstract hasNamespace(clusterId: string, namespace: string): boolean;
  /**
   * Whether a tree has names of services in a namespace; those of federations count as having them where
   * clusters report a service.
   */
  protected abstract hasServiceNames(planned: PlannedTree, namespace: string): boolean;
  /** The services for which live clusters report an address. */
  protected abstract claimsOn(address: Uint8Array): readonly AddressClaim[];

  abstract locate(zone: Zone, tree: number, name: FoldedName, view: number): Location | undefined;

  /** Finds a name. @param units takes the units on which the outcome depends; none if it depends on more */
  protected search(
    zone: Zone,
    tree: number,
    name: FoldedName,
    view: number,
    units: Unit[],
  ): Location | undefined {
    const planned = this.context.trees[tree]!;
    const labels = name.labels - zone.labels;
    const end = name.length - zone.wire.length;
    const { bytes } = name;
    for (const depth of stemDepths(planned.key)) {
      if (labels <= depth) continue;
      const label = labelText(name, labels - depth - 1);
      const namespace = labelText(name, labels - depth);
      if (!isKeyLabel(namespace) || !isKeyLabel(label)) continue;
      const unit = this.namesOf(planned, namespace, label);
      units.push(unit);
      const { key } = unit;
      if (key === undefined) continue;
      const node = key.find(key.treeOf(planned.key, this.frame.viewName(view)), bytes, 0, end);
      if (node < 0) continue;
      if (!this.isLacking(planned, view, namespace)) return { names: key, node };
    }
    const node = this.fixed.find(tree, bytes, 0, end);
    if (node >= 0) return { names: this.fixed, node };
    if (planned.plan.kind !== "federation" && labels !== 2) return undefined;
    units.length = 0;
    return this.#hasNamesBelow(planned, name, labels, view) ? this.#empty(tree) : undefined;
  }

  apex(tree: number): Location {
    return { names: this.fixed, node: this.fixed.find(tree, NO_BYTES, 0, 0) };
  }

  nameServer(tree: number): Location {
    return { names: this.fixed, node: this.fixed.find(tree, NAME_SERVER, 0, NAME_SERVER.length) };
  }

  podNames(zone: Zone, tree: number, name: FoldedName): LeasedTtl | undefined {
    const { plan } = this.context.trees[tree]!;
    // Section 2.6 of DNS-based service discovery, deprecated: pods have names of any address.
    if (plan.kind !== "cluster-local" || plan.cluster.zone.pods !== "insecure") return undefined;
    if (name.labels - zone.labels !== 3 || labelText(name, 2) !== "pod") return undefined;
    const { clusterId } = plan.cluster;
    if (!this.#hasNamespace(clusterId, labelText(name, 1))) return undefined;
    return leasedTtl([clusterId], this.context.options.ttl);
  }

  ptrTarget(address: Uint8Array, view: number): PtrTarget | undefined {
    const candidate = reverseName(
      this.claimsOn(address),
      (claim) => this.candidatesOf(claim, address, view),
      this.frame.viewName(view),
    );
    if (candidate === undefined) return undefined;
    const { namespace, tree, ttl, clusters } = candidate.source;
    const planned = this.context.treeByKey.get(tree)!;
    if (this.isLacking(planned, view, namespace)) return undefined;
    const zone = planned.canonicalZone;
    const name = Uint8Array.of(...nameOfCandidate(candidate, address), ...zone.wire);
    // Candidates may come from the network.
    if (name.length > MAX_NAME_BYTES) return undefined;
    return { ...leasedTtl(clusters, ttl), name, zone };
  }

  /** The PTR records that a claim's service wants for the address in a view. */
  protected candidatesOf(
    claim: AddressClaim,
    address: Uint8Array,
    view: number,
  ): readonly ReverseCandidate[] {
    const planned = this.treeOfClaim(claim);
    if (planned === undefined) return [];
    const [namespace, label] = [namespaceOf(claim.key), nameOf(claim.key)];
    const unit = this.reverseOf(planned, namespace, label, address);
    const candidates = candidatesFor(unit.reverse, address);
    if (!unit.hasAudiences || candidates.length === 0) return candidates;
    return this.visible(candidates, this.namesOf(planned, namespace, label), planned, address, view);
  }

  /** The candidates whose names have the address in a view. Where all views have the same exports, all do. */
  visible(
    candidates: readonly ReverseCandidate[],
    { key }: { readonly key: CompiledKey | undefined },
    planned: PlannedTree,
    address: Uint8Array,
    view: number,
  ): readonly ReverseCandidate[] {
    const viewName = this.frame.viewName(view);
    return candidates.filter(
      (one) => key?.hasAddress(planned.key, nameOfCandidate(one, address), address, viewName) === true,
    );
  }

  /** The tree that has the names of a claim's service; undefined if none has. */
  treeOfClaim({ key, basis, clusterId }: Omit<AddressClaim, "order">): PlannedTree | undefined {
    if (!isKeyLabel(namespaceOf(key)) || !isKeyLabel(nameOf(key))) return undefined;
    return basis === "local" ? this.context.treeByKey.get(localTree(clusterId)) : this.context.trees[0]!;
  }

  /** Whether the cluster of a view lacks a namespace: then the clusterset has no names in it there. */
  isLacking({ plan }: PlannedTree, view: number, namespace: string): boolean {
    const cluster = this.frame.viewName(view);
    if (plan.kind !== "clusterset" || cluster === undefined || !this.clusters.has(cluster)) return false;
    return !this.hasNamespace(cluster, namespace);
  }

  #hasNamespace(clusterId: string, namespace: string): boolean {
    return isObjectLabel(namespace) && this.hasNamespace(clusterId, namespace);
  }

  /**
   * Whether a name, which has no records, exists since others end with it, whichever of them a view has: a
   * namespace is no secret.
   */
  #hasNamesBelow(planned: PlannedTree, name: FoldedName, labels: number, view: number): boolean {
    const { plan } = planned;
    const texts = Array.from({ length: labels }, (_, index) => labelText(name, index));
    if (plan.kind === "federation") {
      const place = this.#placeOf(planned, texts);
      if (place === undefined) return false;
      // Without a namespace that is decided by topology alone: a search would go through the services of all
      // namespaces.
      return place.namespace === undefined || this.hasServiceNames(planned, place.namespace);
    }
    const [namespace, parent] = texts;
    if (!isKeyLabel(namespace!)) return false;
    if (plan.kind === "clusterset")
      return (
        parent === "svc" &&
        !this.isLacking(planned, view, namespace!) &&
        this.hasServiceNames(planned, namespace!)
      );
    const { clusterId, zone } = plan.cluster;
    if (parent === "pod") return zone.pods !== "disabled" && this.#hasNamespace(clusterId, namespace!);
    return parent === "svc" && this.hasServiceNames(planned, namespace!);
  }

  /**
   * What a name of a federation zone that is shorter than a service may be:
   * `[[<ns>.]<federation>.]svc[.<zone>].<region>`, or the end of it; undefined where it is none of them.
   */
  #placeOf(
    { plan }: PlannedTree,
    labels: readonly string[],
  ): { readonly namespace: string | undefined } | undefined {
    const svc = labels.lastIndexOf("svc");
    const place = labels.slice(svc + 1);
    const region = place.at(-1);
    if (place.length > 2 || svc > 2) return undefined;
    const clusters = [...this.clusters.values()];
    if (region !== undefined && !clusters.some((one) => (one.region ?? "").toLowerCase() === region))
      return undefined;
    const federation = svc > 0 ? labels[svc - 1] : undefined;
    const federations = plan.kind === "federation" ? plan.zones : [];
    if (federation !== undefined && !federations.some((one) => one.federation.toLowerCase() === federation))
      return undefined;
    const namespace = svc === 2 ? labels[0]! : undefined;
    return namespace === undefined || isKeyLabel(namespace) ? { namespace } : undefined;
  }

  /** A name without records. */
  #empty(tree: number): Location {
    return { names: this.fixed, node: this.fixed.find(tree, SVC, 0, SVC.length) };
  }
}

/** The terms of a record that depends on clusters. */
function leasedTtl(clusters: readonly string[], ttl: number): LeasedTtl {
  return { leased: { leaseGroups: [[], clusters] }, leaseGroup: 1, ttl };
}

function nameOfCandidate({ label, source }: ReverseCandidate, address: Uint8Array): Uint8Array {
  return wireName([label ?? addressLabel(address), ...source.above]);
}

function wireName(labels: readonly string[]): Uint8Array {
  return Uint8Array.from(labels.flatMap((label) => [...wireOf(label)]));
}

const NO_BYTES = new Uint8Array();
const SVC = wireOf("svc");
const NAME_SERVER = Uint8Array.of(...wireOf("ns"), ...wireOf("dns"));

function wireOf(label: string): Uint8Array {
  return Uint8Array.of(label.length, ...Array.from(label, (character) => character.charCodeAt(0)));
}
