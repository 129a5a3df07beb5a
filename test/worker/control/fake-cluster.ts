import { ClusterObjects } from "../../../src/worker/control/cluster-objects.ts";
import type { DesiredState } from "../../../src/worker/control/desired.ts";
import type { ManagedObject } from "../../../src/worker/control/objects.ts";
import { PrunedFields } from "../../../src/worker/control/pruned-fields.ts";
import type { ReconcileContext, Writes } from "../../../src/worker/control/reconcile.ts";

type Way = "create" | "apply" | "merge";
type Mutable = { -readonly [Key in keyof ManagedObject]: ManagedObject[Key] };

/** What an API server does with applied objects, as far as the control plane depends on it. */
export class FakeCluster {
  readonly objects: ClusterObjects;
  readonly stored = new Map<string, ManagedObject>();
  /** Of Services. */
  families: readonly string[] = ["IPv4", "IPv6"];
  readonly log: string[] = [];
  readonly touched = new Set<string>();
  readonly pruned = new PrunedFields(({ kind }, path) => this.log.push(`pruned ${kind} ${path}`));
  /** What the API server makes of an object: an older CRD lacks fields. */
  prune: (object: ManagedObject) => ManagedObject = (object) => object;
  /** Called before each write; throws to fail it. */
  beforeWrite: (what: string, object: ManagedObject) => void = () => {};
  readonly #added = new Map<string, object>();
  /** The specs of Services as they were applied last. */
  readonly #applied = new Map<string, object>();
  #version = 0;
  #address = 0;

  constructor() {
    this.objects = new ClusterObjects((key) => this.touched.add(key));
    this.objects.upsert({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  }

  readonly writes: Writes = {
    apply: async (object, _, subresource) => this.#write("apply", object, subresource),
    merge: async (object, _, subresource) => this.#write("merge", object, subresource),
    applyNew: async (object) => {
      this.beforeWrite(`create ${nameOf(object)}`, object);
      return this.stored.has(nameOf(object)) ? undefined : this.#write("create", object, undefined);
    },
    read: async (object) => this.stored.get(nameOf(object)),
    remove: async (object) => {
      this.beforeWrite(`delete ${nameOf(object)}`, object);
      this.log.push(`delete ${nameOf(object)}`);
      this.stored.delete(nameOf(object));
    },
  };

  /** Somebody writes an object, and the watch reports it. */
  put(object: ManagedObject): ManagedObject {
    const defaults = { uid: `uid-${++this.#version}`, generation: 1 };
    const metadata = { ...defaults, ...object.metadata, resourceVersion: String(++this.#version) };
    const stored = { ...object, metadata };
    this.stored.set(nameOf(object), stored);
    this.objects.upsert(stored);
    return stored;
  }

  /** Somebody exports `shop/db`. */
  putExport(apiVersion = "multicluster.x-k8s.io/v1beta1"): ManagedObject {
    return this.put({ apiVersion, kind: "ServiceExport", metadata: { namespace: "shop", name: "db" } });
  }

  context(state: DesiredState, clusterId = "b"): ReconcileContext {
    const { objects, writes, pruned, log } = this;
    return {
      clusterId,
      version: "v1beta1",
      state,
      objects,
      writes,
      signal: new AbortController().signal,
      foreign: (object) => void log.push(`foreign ${nameOf(object)}`),
      changed: (object, { type, reason }) => void log.push(`${type} ${reason} ${nameOf(object)}`),
      pruned,
      now: () => "2030-01-01T00:00:00Z",
    };
  }

  /** The stored object of that kind and name. */
  get(kind: string, name: string, namespace = "shop"): ManagedObject | undefined {
    return this.stored.get(`${kind} ${namespace}/${name}`);
  }

  namesOf(kind: string): string[] {
    return [...this.stored.values()].flatMap((object) => (object.kind === kind ? object.metadata.name : []));
  }

  /** Somebody adds a port to a Service: a list by key, of which apply changes its own elements alone. */
  addPort(name: string, port: object): void {
    const before = this.get("Service", name)!;
    const { ports, ...spec } = before.spec as { ports: object[] };
    this.put({ ...before, spec: { ...spec, ports: [...ports, port] } });
    this.#added.set(name, port);
  }

  #write(how: Way, object: ManagedObject, subresource: string | undefined): ManagedObject {
    const what = `${how} ${nameOf(object)}${subresource === undefined ? "" : `/${subresource}`}`;
    if (how !== "create") this.beforeWrite(what, object);
    this.log.push(what);
    const before = this.stored.get(nameOf(object));
    if (subresource !== undefined && before === undefined) throw new Error(`404: ${what}`);
    if (before !== undefined && subresource === undefined && before.addressType !== object.addressType)
      throw new Error(`422: ${what} changes addressType`);
    const { generation = 0, uid = `uid-${++this.#version}` } = before?.metadata ?? {};
    const isStatus = subresource !== undefined;
    const made: Mutable = {
      ...before,
      ...object,
      ...(isStatus && { ...before, status: object.status }),
      metadata: {
        ...(isStatus ? before!.metadata : object.metadata),
        uid,
        generation: !isStatus && isOther(object, before) ? generation + 1 : generation,
        resourceVersion: String(++this.#version),
      },
    };
    const spec = object.spec as object;
    if (object.kind === "Service" && before !== undefined)
      made.spec = { ...this.#specBefore(how, before, spec), ...spec, ...this.#portsOf(how, object) };
    else if (object.kind === "Service") {
      this.#address++;
      const clusterIPs = this.families.map(
        (one) => `${one === "IPv4" ? "10.0.0." : "fd00::"}${this.#address}`,
      );
      made.spec = { ...spec, clusterIPs, ipFamilies: this.families };
    }
    if (object.kind === "Service" && how !== "merge") this.#applied.set(object.metadata.name, spec);
    const stored = this.prune(made);
    this.stored.set(nameOf(object), stored);
    return stored;
  }

  /** Apply removes fields that it set before and does not have any more. */
  #specBefore(how: Way, { spec, metadata }: ManagedObject, wanted: object): object {
    const applied = this.#applied.get(metadata.name);
    const isGone = (field: string) =>
      how === "apply" && applied !== undefined && field in applied && !(field in wanted);
    return Object.fromEntries(Object.entries(spec as object).filter(([field]) => !isGone(field)));
  }

  #portsOf(how: Way, { metadata: { name }, spec }: ManagedObject): { ports?: object[] } {
    const added = this.#added.get(name);
    if (how === "merge") this.#added.delete(name);
    if (how === "merge" || added === undefined) return {};
    return { ports: [...(spec as { ports: object[] }).ports, added] };
  }
}

/** Metadata does not count for `metadata.generation`. */
function isOther({ spec }: ManagedObject, before: ManagedObject | undefined): boolean {
  return JSON.stringify(spec) !== JSON.stringify(before?.spec);
}

/** `<kind> <namespace>/<name>`. */
export function nameOf({ kind, metadata }: ManagedObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}
