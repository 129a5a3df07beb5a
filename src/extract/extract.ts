import { equalJson } from "../snapshot/json-value.ts";
import type { ClusterSnapshot, ClusterZone, Finding } from "../snapshot/schema.ts";
import { BoundedFindings } from "./bounded-findings.ts";
import { ExtractedState } from "./extracted-state.ts";
import { compareText } from "./fields.ts";
import { FindingCollector, type Report } from "./findings.ts";
import type {
  ClusterProperty,
  EndpointSlice,
  KubernetesObject,
  Node,
  Pod,
  Service,
  ServiceExport,
  ServiceImport,
} from "./objects.ts";
import {
  CLUSTER_ID_PROPERTY,
  chooseClusterId,
  findSliceOwners,
  hasUsableName,
  identifyObject,
  type NodePlace,
  type ObjectIdentity,
  readNodePlace,
  summarizeTopology,
} from "./objects.ts";
import { PodAddresses, readPodAddresses } from "./pods.ts";
import { ServiceObjects } from "./service-objects.ts";
import { type NodeAddressType, readNodeAddresses } from "./services/local-service.ts";

/**
 * The snapshot of a cluster's objects; their order does not matter. Objects of other kinds are ignored.
 * If an object appears in several versions (an API server may serve two), one counts: the choice depends on
 * its `apiVersion`, then on its JSON text.
 * @throws {ClusterIdError} if neither the options nor the objects contain a cluster id.
 */
export function extractSnapshot(
  objects: Iterable<KubernetesObject>,
  options: ExtractOptions = {},
): ClusterSnapshot {
  const chosen = new Map<string, KubernetesObject>();
  for (const object of objects) {
    const identity = identifyObject(object);
    if (identity === undefined) continue;
    const key = JSON.stringify([identity.kind, identity.group, identity.namespace, identity.name]);
    const before = chosen.get(key);
    if (before === undefined || compareObjects(before, object) < 0) chosen.set(key, object);
  }
  const assembler = new SnapshotAssembler(options);
  for (const object of chosen.values()) assembler.upsert(object);
  return assembler.snapshot();
}

function compareObjects(left: KubernetesObject, right: KubernetesObject): number {
  return (
    compareText(String(left.apiVersion), String(right.apiVersion)) ||
    compareText(JSON.stringify(left), JSON.stringify(right))
  );
}

/** Settings that the objects do not contain. */
export interface ExtractOptions {
  /** The cluster id. Default: from the objects, see `chooseClusterId`. */
  readonly clusterId?: string | undefined;
  /** The cluster's own zone. Default: none, and no data for it. */
  readonly clusterZone?: ClusterZone | undefined;
  /** Reports the node ports of exported Services, with the nodes' addresses of this type. Default: no. */
  readonly nodeAddresses?: NodeAddressType | undefined;
}

/**
 * Keeps a cluster's objects, and the state that they yield. A changed object costs the extraction of its
 * service.
 */
export class SnapshotAssembler {
  /** Follows the objects with each `refresh`; in between it may have a part of their changes. */
  readonly state: ExtractedState;
  readonly #givenId: string | undefined;
  readonly #services = new Map<string, ServiceObjects>();
  readonly #dirty = new Set<ServiceObjects>();
  readonly #clusterZone: ClusterZone | undefined;
  /** The services of each slice: two if it has a label of each kind. */
  readonly #sliceServices = new Map<string, readonly ServiceObjects[]>();
  readonly #servicesIn = new Map<string, Set<ServiceObjects>>();
  readonly #kubernetesNamespaces = new Map<string, KubernetesObject>();
  readonly #nodes = new Map<string, NodePlace>();
  readonly #nodeAddressType: NodeAddressType | undefined;
  readonly #nodeAddresses = new Map<string, readonly string[]>();
  readonly #clusterProperties = new Map<string, ClusterProperty>();

  readonly #pods: PodAddresses;
  readonly #findings: BoundedFindings;
  readonly #strays: StrayFindings;
  #topologyStale = false;

  constructor(options: ExtractOptions = {}) {
    this.#givenId = options.clusterId;
    this.#clusterZone = options.clusterZone;
    this.#nodeAddressType = options.nodeAddresses;
    this.state = new ExtractedState(options.clusterZone);
    const namespaceExists = (name: string) => this.#kubernetesNamespaces.has(name);
    this.#pods = new PodAddresses(this.state, namespaceExists);
    this.#findings = new BoundedFindings(this.state);
    this.#strays = new StrayFindings(this.#findings, namespaceExists);
  }

  /** Adds or replaces an object. False for kinds that a snapshot does not use. */
  upsert(object: KubernetesObject): boolean {
    const identity = this.#identify(object);
    if (identity === undefined) return false;
    this.#strays.forget(identity);
    if (!hasUsableName(identity)) {
      this.#strays.inspect(identity, (report) =>
        report("InvalidName", "the name is not valid for a Kubernetes object"),
      );
      return true;
    }
    this.#place(identity, object);
    return true;
  }

  /** Removes an object; reads only its kind, API group, namespace and name. */
  delete(object: KubernetesObject): boolean {
    const identity = this.#identify(object);
    if (identity === undefined) return false;
    this.#strays.forget(identity);
    if (hasUsableName(identity)) this.#place(identity, undefined);
    return true;
  }

  /**
   * Brings the state up to date with the objects. Costs what the changed objects touch.
   * @throws {ClusterIdError} if the cluster has no id.
   */
  refresh(): void {
    const clusterId = this.#chooseClusterId();
    this.state.identify(clusterId);
    this.#refreshServices();
    this.#findings.refresh(clusterId);
    if (this.#topologyStale) {
      const topology = summarizeTopology(this.#nodes.values());
      if (!equalJson(topology, this.state.entry("topology", ""))) this.state.setTopology(topology);
      this.#topologyStale = false;
    }
  }

  /**
   * The snapshot of the current objects.
   * @throws {ClusterIdError} if the cluster has no id.
   */
  snapshot(): ClusterSnapshot {
    this.refresh();
    return this.state.toSnapshot();
  }

  // A cluster has many pods, and only verified pod names need them.
  #identify(object: KubernetesObject): ObjectIdentity | undefined {
    const identity = identifyObject(object);
    return identity?.kind === "Pod" && this.#clusterZone?.pods !== "verified" ? undefined : identity;
  }

  #chooseClusterId(): string {
    return chooseClusterId(
      this.#givenId,
      this.#clusterProperties.get(CLUSTER_ID_PROPERTY)?.spec?.value,
      this.#kubernetesNamespaces.get("kube-system")?.metadata?.uid,
    );
  }

  #place(identity: ObjectIdentity, object: KubernetesObject | undefined): void {
    const { kind, group, namespace, name } = identity;
    switch (kind) {
      case "Namespace":
        this.#placeNamespace(name, object);
        break;
      case "Node":
        this.#placeNode(name, object);
        this.#placeNodeAddresses(name, object as Node | undefined);
        break;
      case "ClusterProperty":
        setOrDelete(this.#clusterProperties, name, object as ClusterProperty | undefined);
        break;
      case "Service":
        this.#serviceOf(namespace, name).service = object as Service | undefined;
        break;
      case "ServiceExport":
        setOrDelete(this.#serviceOf(namespace, name).exports, group, object as ServiceExport | undefined);
        break;
      case "ServiceImport":
        setOrDelete(this.#serviceOf(namespace, name).imports, group, object as ServiceImport | undefined);
        break;
      case "Pod":
        this.#placePod(identity, object as Pod | undefined);
        break;
      case "EndpointSlice":
        this.#placeSlice(identity, object as EndpointSlice | undefined);
        break;
    }
  }

  #placeNamespace(name: string, object: KubernetesObject | undefined): void {
    const existed = this.#kubernetesNamespaces.has(name);
    setOrDelete(this.#kubernetesNamespaces, name, object);
    const exists = object !== undefined;
    if (existed === exists) return;
    this.state.set("namespaces", name, exists ? {} : undefined);
    for (const service of this.#servicesIn.get(name) ?? []) this.#dirty.add(service);
    this.#pods.setNamespace(name, exists);
    this.#strays.setNamespace(name, exists);
  }

  #placeNode(name: string, object: KubernetesObject | undefined): void {
    const place = object === undefined ? undefined : readNodePlace(object.metadata?.labels);
    if (equalJson(place, this.#nodes.get(name))) return;
    setOrDelete(this.#nodes, name, place);
    this.#topologyStale = true;
  }

  #placeNodeAddresses(name: string, node: Node | undefined): void {
    const type = this.#nodeAddressType;
    if (type === undefined) return;
    const addresses = node && readNodeAddresses(node, type);
    if (equalJson(addresses, this.#nodeAddresses.get(name))) return;
    setOrDelete(this.#nodeAddresses, name, addresses);
    for (const service of this.#services.values()) if (service.exports.size > 0) this.#dirty.add(service);
  }

  #placePod(identity: ObjectIdentity, pod: Pod | undefined): void {
    const addresses =
      pod === undefined ? [] : this.#strays.inspect(identity, (report) => readPodAddresses(report, pod));
    this.#pods.set(identity.namespace, identity.name, addresses);
  }

  #placeSlice(identity: ObjectIdentity, slice: EndpointSlice | undefined): void {
    const { namespace, name } = identity;
    const key = `${namespace}/${name}`;
    for (const before of this.#sliceServices.get(key) ?? []) {
      before.forgetSlice(name);
      this.#dirty.add(before);
    }
    this.#sliceServices.delete(key);
    if (slice === undefined) return;
    const { owners, missingLabel } = findSliceOwners(slice);
    if (missingLabel !== undefined)
      this.#strays.inspect(identity, (report) =>
        report("NoServiceName", `has no label ${missingLabel}; the slice is left out`),
      );
    const services = owners
      .filter(({ side }) => side !== "foreign" || this.#clusterZone !== undefined)
      .map(({ side, service: owner }) => {
        const service = this.#serviceOf(namespace, owner);
        service.slices[side].set(name, { namespace, name, slice });
        return service;
      });
    this.#sliceServices.set(key, services);
  }

  /** The objects of a namespaced name, marked for the next extraction. */
  #serviceOf(namespace: string, name: string): ServiceObjects {
    const key = `${namespace}/${name}`;
    let service = this.#services.get(key);
    if (service === undefined) {
      service = new ServiceObjects(namespace, name);
      this.#services.set(key, service);
      this.#servicesIn.set(namespace, (this.#servicesIn.get(namespace) ?? new Set()).add(service));
    }
    this.#dirty.add(service);
    return service;
  }

  #refreshServices(): void {
    const refreshed: ServiceObjects[] = [];
    const nodes = this.#nodeAddressType && this.#nodeAddresses;
    for (const service of this.#dirty) {
      const before = service.refresh(
        this.#kubernetesNamespaces.has(service.namespace),
        this.#clusterZone !== undefined,
        nodes,
      );
      if (before.findings !== service.extract.findings) {
        for (const finding of before.findings) this.#findings.delete(...finding);
        refreshed.push(service);
      }
      const key = `${service.namespace}/${service.name}`;
      this.state.set("exports", key, service.extract.exported);
      this.state.set("imports", key, service.extract.imported);
      this.state.set("services", key, service.extract.local);
      if (service.empty) this.#dropService(key, service);
    }
    // After the loop above: a slice that moved takes its finding from one service to the other.
    for (const { extract } of refreshed)
      for (const finding of extract.findings) this.#findings.set(...finding);
    this.#dirty.clear();
  }

  #dropService(key: string, service: ServiceObjects): void {
    this.#services.delete(key);
    const neighbours = this.#servicesIn.get(service.namespace);
    neighbours?.delete(service);
    if (neighbours?.size === 0) this.#servicesIn.delete(service.namespace);
  }
}

function setOrDelete<Value>(map: Map<string, Value>, key: string, value: Value | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

type FindingSet = readonly (readonly [key: string, finding: Finding])[];

/** Findings about objects without a service; they count while the object's namespace exists. */
class StrayFindings {
  readonly #findings: BoundedFindings;
  readonly #namespaceExists: (namespace: string) => boolean;
  readonly #kept = new Map<string, { readonly namespace: string; readonly findings: FindingSet }>();

  constructor(findings: BoundedFindings, namespaceExists: (namespace: string) => boolean) {
    this.#findings = findings;
    this.#namespaceExists = namespaceExists;
  }

  /** Keeps the findings that `inspect` reports about an object; the caller forgets earlier findings first. */
  inspect<Result>(identity: ObjectIdentity, inspect: (report: Report) => Result): Result {
    const { kind, namespace, name } = identity;
    const collector = new FindingCollector();
    const result = inspect(collector.about(namespace === "" ? { kind, name } : { kind, namespace, name }));
    const findings = collector.collect();
    if (findings.length === 0) return result;
    this.#kept.set(objectKey(identity), { namespace, findings });
    if (namespace === "" || this.#namespaceExists(namespace))
      for (const finding of findings) this.#findings.set(...finding);
    return result;
  }

  /** Removes the findings about an object. */
  forget(identity: ObjectIdentity): void {
    const key = objectKey(identity);
    for (const finding of this.#kept.get(key)?.findings ?? []) this.#findings.delete(...finding);
    this.#kept.delete(key);
  }

  /** Shows or hides the findings of a namespace that was created or deleted. */
  setNamespace(name: string, exists: boolean): void {
    for (const { namespace, findings } of this.#kept.values())
      if (namespace === name)
        for (const finding of findings) this.#findings[exists ? "set" : "delete"](...finding);
  }
}

function objectKey({ kind, group, namespace, name }: ObjectIdentity): string {
  return `${kind}|${group}|${namespace}|${name}`;
}
