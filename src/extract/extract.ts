import { equalJson } from "../snapshot/json-value.ts";
import type { ClusterSnapshot, ClusterZone } from "../snapshot/schema.ts";
import { BoundedFindings } from "./bounded-findings.ts";
import { ExtractedState } from "./extracted-state.ts";
import { setOrDelete } from "./fields.ts";
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
 * The snapshot of a cluster's objects, each of which is there once; their order does not matter. Objects of
 * other kinds are ignored.
 * @throws {ClusterIdError} if neither the options nor the objects contain a cluster id.
 */
export function extractSnapshot(
  objects: Iterable<KubernetesObject>,
  options: ExtractOptions = {},
): ClusterSnapshot {
  const assembler = new SnapshotAssembler(options);
  for (const object of objects) assembler.upsert(object);
  return assembler.snapshot();
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
  readonly #kubernetesNamespaces = new Map<string, KubernetesObject>();
  readonly #nodes = new Map<string, NodePlace>();
  readonly #nodeAddressType: NodeAddressType | undefined;
  readonly #nodeAddresses = new Map<string, readonly string[]>();
  readonly #clusterProperties = new Map<string, ClusterProperty>();

  readonly #pods: PodAddresses;
  readonly #findings: BoundedFindings;
  #topologyStale = false;

  constructor(options: ExtractOptions = {}) {
    this.#givenId = options.clusterId;
    this.#clusterZone = options.clusterZone;
    this.#nodeAddressType = options.nodeAddresses;
    this.state = new ExtractedState(options.clusterZone);
    this.#pods = new PodAddresses(this.state);
    this.#findings = new BoundedFindings(this.state);
  }

  /** Adds or replaces an object. False for kinds that a snapshot does not use. */
  upsert(object: KubernetesObject): boolean {
    return this.#change(object, object);
  }

  /** Removes an object; reads only its kind, API group, namespace and name. */
  delete(object: KubernetesObject): boolean {
    return this.#change(object, undefined);
  }

  /**
   * Brings the state up to date with the objects. Costs what the changed objects touch.
   * @throws {ClusterIdError} if the cluster has no id.
   */
  refresh(): void {
    const clusterId = this.#chooseClusterId();
    this.#refreshServices();
    this.#findings.refresh(clusterId);
    this.state.identify(clusterId);
    if (this.#topologyStale) this.state.set("topology", "", summarizeTopology(this.#nodes.values()));
    this.#topologyStale = false;
  }

  /**
   * The snapshot of the current objects.
   * @throws {ClusterIdError} if the cluster has no id.
   */
  snapshot(): ClusterSnapshot {
    this.refresh();
    return this.state.toSnapshot();
  }

  /** @param object undefined if `named` is removed */
  #change(named: KubernetesObject, object: KubernetesObject | undefined): boolean {
    const identity = identifyObject(named);
    if (identity === undefined) return false;
    // A cluster has many pods, and only verified pod names need them.
    if (identity.kind === "Pod" && this.#clusterZone?.pods !== "verified") return false;
    if (hasUsableName(identity)) this.#place(identity, object);
    else
      this.#inspect(identity, (report) => {
        if (object !== undefined) report("InvalidName", "the name is not valid for a Kubernetes object");
      });
    return true;
  }

  /** Keeps the findings that `inspect` reports about an object itself, in place of earlier ones. */
  #inspect<Result>(identity: ObjectIdentity, inspect: (report: Report) => Result): Result {
    const { kind, group, namespace, name } = identity;
    const collector = new FindingCollector();
    const result = inspect(collector.about(namespace === "" ? { kind, name } : { kind, namespace, name }));
    this.#findings.set(namespace, `${kind}/${group}/${name}`, collector.collect());
    return result;
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
        setOrDelete(this.#kubernetesNamespaces, name, object);
        this.state.set("namespaces", name, object && {});
        break;
      case "Node":
        this.#placeNode(name, object && readNodePlace(object.metadata?.labels));
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

  #placeNode(name: string, place: NodePlace | undefined): void {
    // Kubelets report their node's status all the time.
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
    const addresses = this.#inspect(identity, (report) => (pod ? readPodAddresses(report, pod) : []));
    this.#pods.set(identity.namespace, identity.name, addresses);
  }

  #placeSlice(identity: ObjectIdentity, slice: EndpointSlice | undefined): void {
    const { namespace, name } = identity;
    const key = `${namespace}/${name}`;
    for (const before of this.#sliceServices.get(key) ?? []) {
      before.forgetSlice(name);
      this.#dirty.add(before);
    }
    const { owners, missingLabel } = slice ? findSliceOwners(slice) : { owners: [] };
    this.#inspect(identity, (report) => {
      if (missingLabel !== undefined)
        report("NoServiceName", `has no label ${missingLabel}; the slice is left out`);
    });
    const services = owners
      .filter(({ side }) => side !== "foreign" || this.#clusterZone !== undefined)
      .map(({ side, service: owner }) => {
        const service = this.#serviceOf(namespace, owner);
        service.slices[side].set(name, { namespace, name, slice: slice! });
        return service;
      });
    setOrDelete(this.#sliceServices, key, services.length === 0 ? undefined : services);
  }

  /** The objects of a namespaced name, marked for the next extraction. */
  #serviceOf(namespace: string, name: string): ServiceObjects {
    const key = `${namespace}/${name}`;
    let service = this.#services.get(key);
    if (service === undefined) {
      service = new ServiceObjects(namespace, name);
      this.#services.set(key, service);
    }
    this.#dirty.add(service);
    return service;
  }

  #refreshServices(): void {
    const nodes = this.#nodeAddressType && this.#nodeAddresses;
    for (const service of this.#dirty) {
      const { namespace, name } = service;
      const { exported, imported, local, findings } = service.extract(this.#clusterZone !== undefined, nodes);
      const key = `${namespace}/${name}`;
      this.state.set("exports", key, exported);
      this.state.set("imports", key, imported);
      this.state.set("services", key, local);
      this.#findings.set(namespace, name, findings);
      if (service.empty) this.#services.delete(key);
    }
    this.#dirty.clear();
  }
}
