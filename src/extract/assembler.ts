import { equalJson } from "../snapshot/json-value.ts";
import { type ClusterSnapshot, type Finding, SNAPSHOT_FORMAT_VERSION } from "../snapshot/schema.ts";
import {
  CLUSTER_ID_PROPERTY,
  chooseClusterId,
  type NodePlace,
  readNodePlace,
  summarizeTopology,
} from "./cluster-identity.ts";
import { FindingCollector } from "./findings.ts";
import { findSliceOwner, identifyObject, type ObjectIdentity } from "./identity.ts";
import type {
  ClusterProperty,
  EndpointSlice,
  KubernetesObject,
  Service,
  ServiceExport,
  ServiceImport,
} from "./objects.ts";
import { type ServiceExtract, ServiceObjects } from "./service-objects.ts";
import { SortedEntries } from "./sorted-entries.ts";

/** What extraction cannot find in the objects. */
export interface ExtractOptions {
  /** The cluster id; absent means that the objects name it, see `chooseClusterId`. */
  readonly clusterId?: string;
}

type FindingSet = readonly (readonly [key: string, finding: Finding])[];

/**
 * Keeps a cluster's objects and the snapshot they make. An object told of costs the work of the service
 * it belongs to; `snapshot()` shares every entry that says the same as before with the last snapshot.
 */
export class SnapshotAssembler {
  readonly #givenId: string | undefined;
  readonly #services = new Map<string, ServiceObjects>();
  readonly #dirty = new Set<ServiceObjects>();
  readonly #sliceService = new Map<string, ServiceObjects>();
  readonly #servicesIn = new Map<string, Set<ServiceObjects>>();
  readonly #kubernetesNamespaces = new Map<string, KubernetesObject>();
  readonly #nodes = new Map<string, NodePlace>();
  readonly #clusterProperties = new Map<string, ClusterProperty>();

  readonly #namespaces = new SortedEntries<Record<string, never>>();
  readonly #exports = new SortedEntries<NonNullable<ServiceExtract["exported"]>>();
  readonly #imports = new SortedEntries<NonNullable<ServiceExtract["imported"]>>();
  readonly #findings = new SortedEntries<Finding>();
  /** Findings that belong to no service, by the object's key, with the namespace they depend on. */
  readonly #strays = new Map<string, { readonly namespace: string; readonly findings: FindingSet }>();
  #topology: ClusterSnapshot["topology"];
  #topologyStale = false;
  #last: ClusterSnapshot | undefined;

  constructor(options: ExtractOptions = {}) {
    this.#givenId = options.clusterId;
  }

  /** Takes an object as it is now. False for kinds that a snapshot is not made of. */
  upsert(object: KubernetesObject): boolean {
    const identity = identifyObject(object);
    if (identity === undefined) return false;
    this.#forgetStray(identity);
    if (!hasUsableName(identity)) {
      this.#reportStray(identity, "InvalidName", "the name cannot be that of a Kubernetes object");
      return true;
    }
    this.#place(identity, object);
    return true;
  }

  /** Forgets an object; only its kind, API group, namespace and name are looked at. */
  delete(object: KubernetesObject): boolean {
    const identity = identifyObject(object);
    if (identity === undefined) return false;
    this.#forgetStray(identity);
    if (hasUsableName(identity)) this.#place(identity, undefined);
    return true;
  }

  /**
   * The snapshot that the objects make now; the same one as before where nothing changed.
   * @throws {ClusterIdError} when the cluster has no id.
   */
  snapshot(): ClusterSnapshot {
    const clusterId = this.#chooseClusterId();
    this.#refreshServices();
    if (this.#topologyStale) {
      const topology = summarizeTopology(this.#nodes.values());
      if (!equalJson(topology, this.#topology)) this.#topology = topology;
      this.#topologyStale = false;
    }
    const next: ClusterSnapshot = {
      formatVersion: SNAPSHOT_FORMAT_VERSION,
      clusterId,
      ...(this.#topology === undefined ? {} : { topology: this.#topology }),
      namespaces: this.#namespaces.toRecord(),
      exports: this.#exports.toRecord(),
      imports: this.#imports.toRecord(),
      findings: this.#findings.toRecord(),
    };
    if (this.#last === undefined || !sharesEverything(this.#last, next)) this.#last = next;
    return this.#last;
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
    this.#namespaces.set(name, exists ? {} : undefined);
    for (const service of this.#servicesIn.get(name) ?? []) this.#dirty.add(service);
    for (const { namespace, findings } of this.#strays.values())
      if (namespace === name)
        for (const [key, finding] of findings) this.#findings.set(key, exists ? finding : undefined);
  }

  #placeNode(name: string, object: KubernetesObject | undefined): void {
    const place = object === undefined ? undefined : readNodePlace(object.metadata?.labels);
    if (equalJson(place, this.#nodes.get(name))) return;
    setOrDelete(this.#nodes, name, place);
    this.#topologyStale = true;
  }

  #placeSlice(identity: ObjectIdentity, slice: EndpointSlice | undefined): void {
    const { namespace, name } = identity;
    const key = `${namespace}/${name}`;
    const before = this.#sliceService.get(key);
    if (before !== undefined) {
      before.localSlices.delete(name);
      before.importedSlices.delete(name);
      this.#sliceService.delete(key);
      this.#dirty.add(before);
    }
    if (slice === undefined) return;
    const owner = findSliceOwner(slice);
    if (owner.side === "foreign") return;
    if (owner.side === "unlabelled") {
      this.#reportStray(identity, "NoServiceName", `has no label ${owner.label}; the slice is left out`);
      return;
    }
    const service = this.#serviceOf(namespace, owner.service);
    const slices = owner.side === "local" ? service.localSlices : service.importedSlices;
    slices.set(name, { namespace, name, slice });
    this.#sliceService.set(key, service);
  }

  /** The objects of a namespaced name, from now on due to be extracted again. */
  #serviceOf(namespace: string, name: string): ServiceObjects {
    const key = `${namespace}/${name}`;
    let service = this.#services.get(key);
    if (service === undefined) {
      service = new ServiceObjects(namespace, name);
      this.#services.set(key, service);
      const neighbours = this.#servicesIn.get(namespace);
      if (neighbours === undefined) this.#servicesIn.set(namespace, new Set([service]));
      else neighbours.add(service);
    }
    this.#dirty.add(service);
    return service;
  }

  #refreshServices(): void {
    const refreshed: ServiceObjects[] = [];
    for (const service of this.#dirty) {
      const before = service.refresh(this.#kubernetesNamespaces.has(service.namespace));
      if (before.findings !== service.extract.findings) {
        for (const [finding] of before.findings) this.#findings.set(finding, undefined);
        refreshed.push(service);
      }
      const key = `${service.namespace}/${service.name}`;
      this.#exports.set(key, service.extract.exported);
      this.#imports.set(key, service.extract.imported);
      if (service.empty) this.#dropService(key, service);
    }
    // Only now: a slice that moved takes its finding from one service to the other.
    for (const { extract } of refreshed)
      for (const [finding, value] of extract.findings) this.#findings.set(finding, value);
    this.#dirty.clear();
  }

  #dropService(key: string, service: ServiceObjects): void {
    this.#services.delete(key);
    const neighbours = this.#servicesIn.get(service.namespace);
    neighbours?.delete(service);
    if (neighbours?.size === 0) this.#servicesIn.delete(service.namespace);
  }

  #reportStray(identity: ObjectIdentity, reason: string, message: string): void {
    const { kind, namespace, name } = identity;
    const collector = new FindingCollector();
    collector.about(namespace === "" ? { kind, name } : { kind, namespace, name })(reason, message);
    const findings = collector.collect();
    this.#strays.set(strayKey(identity), { namespace, findings });
    if (namespace === "" || this.#kubernetesNamespaces.has(namespace))
      for (const [key, finding] of findings) this.#findings.set(key, finding);
  }

  #forgetStray(identity: ObjectIdentity): void {
    const key = strayKey(identity);
    for (const [finding] of this.#strays.get(key)?.findings ?? []) this.#findings.set(finding, undefined);
    this.#strays.delete(key);
  }
}

function strayKey({ kind, group, namespace, name }: ObjectIdentity): string {
  return `${kind}|${group}|${namespace}|${name}`;
}

// A namespace is a DNS label (RFC 1123); other names are path segments of at most 253 characters.
function hasUsableName({ kind, namespace, name }: ObjectIdentity): boolean {
  const label = /^[a-z0-9][-a-z0-9]{0,62}$/;
  if (kind === "Namespace") return label.test(name);
  return (namespace === "" || label.test(namespace)) && name.length <= 253 && !name.includes("/");
}

function setOrDelete<Value>(map: Map<string, Value>, key: string, value: Value | undefined): void {
  if (value === undefined) map.delete(key);
  else map.set(key, value);
}

function sharesEverything(left: ClusterSnapshot, right: ClusterSnapshot): boolean {
  return (
    left.clusterId === right.clusterId &&
    left.topology === right.topology &&
    left.namespaces === right.namespaces &&
    left.exports === right.exports &&
    left.imports === right.imports &&
    left.findings === right.findings
  );
}
