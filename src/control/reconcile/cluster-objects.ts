import type { KubernetesObject } from "../../extract/objects.ts";
import { SERVICE_NAME } from "../objects/owner.ts";
import { MULTICLUSTER_GROUP } from "../objects/service-import.ts";
import { isManaged, type ManagedObject } from "../objects/wanted-object.ts";

/** The managed objects of one ServiceImport's name. */
export interface OwnObjects {
  /** Also one that is not managed. */
  readonly import: ManagedObject | undefined;
  readonly export: ManagedObject | undefined;
  readonly services: readonly ManagedObject[];
  readonly slices: readonly ManagedObject[];
}

interface Entry {
  import?: ManagedObject;
  export?: ManagedObject;
  readonly services: Map<string, ManagedObject>;
  readonly slices: Map<string, ManagedObject>;
}

/**
 * What the control plane needs of its cluster, from the same watches that the snapshot comes from: namespaces, ServiceExports,
 * ServiceImports, and its own Services and EndpointSlices. Other objects are not held.
 */
export class ClusterObjects {
  readonly #entries = new Map<string, Entry>();
  readonly #namespaces = new Set<string>();
  /** The keys of own Services and EndpointSlices, by `<field>/<namespace>/<name>`. */
  readonly #owners = new Map<string, string>();
  /** The keys that wait for an object of somebody else to go, by `<field>/<namespace>/<name>`. */
  readonly #blocked = new Map<string, string>();
  /** The uids of objects that were removed here, until a watch reports that they are gone. */
  readonly #removed = new Set<string>();
  readonly #touched: (key: string) => void;

  /** @param touched called with `<namespace>/<name>` of each ServiceImport or ServiceExport whose objects changed */
  constructor(touched: (key: string) => void) {
    this.#touched = touched;
  }

  /** Whether the namespace exists and is not being deleted: in one that is, nothing can be made (403, `NamespaceTerminating`). */
  hasNamespace(namespace: string): boolean {
    return this.#namespaces.has(namespace);
  }

  /** All keys that have an object. */
  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  of(key: string): OwnObjects {
    const entry = this.#entries.get(key);
    return {
      import: entry?.import,
      export: entry?.export,
      services: [...(entry?.services.values() ?? [])],
      slices: [...(entry?.slices.values() ?? [])],
    };
  }

  /** Takes an object from a watch, or as the API server returned it after a write. */
  upsert(object: KubernetesObject): void {
    if (object.kind === "Namespace") this.#setNamespace(object);
    else this.#set(object as unknown as ManagedObject, false);
  }

  delete(object: KubernetesObject): void {
    if (object.kind === "Namespace") this.#namespaces.delete(String(object.metadata?.name));
    else this.#set(object as unknown as ManagedObject, true);
  }

  /** An object was deleted here: what watches still report of it from before does not bring it back. */
  removed(object: ManagedObject): void {
    const { uid } = object.metadata;
    const own = this.of(keyOf(object));
    const isHeld = [own.import, ...own.services, ...own.slices].some((one) => one?.metadata.uid === uid);
    this.#set(object, true);
    // Otherwise a watch has reported already that it is gone.
    if (isHeld && uid !== undefined) this.#removed.add(uid);
  }

  /** Somebody else's object has the name that `wanted` needs: its key is touched when that object goes. */
  isBlockedBy({ kind, metadata }: ManagedObject, wanted: ManagedObject): void {
    if (kind === "Service" || kind === "EndpointSlice")
      this.#blocked.set(`${fieldOf(kind)}/${metadata.namespace}/${metadata.name}`, keyOf(wanted));
  }

  #setNamespace({ metadata }: KubernetesObject): void {
    const name = String(metadata?.name);
    const was = this.#namespaces.has(name);
    if (metadata?.deletionTimestamp === undefined) this.#namespaces.add(name);
    else this.#namespaces.delete(name);
    if (was !== this.#namespaces.has(name)) this.#touched(`${name}/`);
  }

  #set(object: ManagedObject, isGone: boolean): void {
    const { namespace, name } = object.metadata;
    const multicluster = object.apiVersion.startsWith(`${MULTICLUSTER_GROUP}/`);
    if (multicluster && object.kind === "ServiceImport")
      this.#setOne(`${namespace}/${name}`, "import", object, isGone);
    else if (multicluster && object.kind === "ServiceExport")
      this.#setOne(`${namespace}/${name}`, "export", object, isGone);
    else if (object.kind === "Service" || object.kind === "EndpointSlice") this.#setOwn(object, isGone);
  }

  #setOwn(object: ManagedObject, isGone: boolean): void {
    const { namespace, name, labels } = object.metadata;
    const field = fieldOf(object.kind);
    const identity = `${field}/${namespace}/${name}`;
    const blocked = isGone ? this.#blocked.get(identity) : undefined;
    if (blocked !== undefined) {
      this.#blocked.delete(identity);
      this.#touched(blocked);
    }
    const before = this.#owners.get(identity);
    const service = labels?.[SERVICE_NAME];
    // Without its marks an object is somebody else's.
    const key = !isGone && service !== undefined && isManaged(object) ? `${namespace}/${service}` : undefined;
    const held = before === undefined ? undefined : this.#entry(before)[field].get(name);
    if (this.#isOutdated(object, held, isGone)) return;
    if (before !== undefined) {
      const entry = this.#entry(before);
      if (before !== key) {
        entry[field].delete(name);
        this.#owners.delete(identity);
        this.#settle(before, entry);
      }
    }
    if (key === undefined) return;
    const entry = this.#entry(key);
    entry[field].set(name, object);
    this.#owners.set(identity, key);
    this.#settle(key, entry);
  }

  #setOne(key: string, field: "import" | "export", object: ManagedObject, isGone: boolean): void {
    if (this.#isOutdated(object, this.#entries.get(key)?.[field], isGone)) return;
    const entry = this.#entry(key);
    if (isGone) delete entry[field];
    else entry[field] = object;
    this.#settle(key, entry);
  }

  #entry(key: string): Entry {
    const entry = this.#entries.get(key) ?? { services: new Map(), slices: new Map() };
    this.#entries.set(key, entry);
    return entry;
  }

  #settle(key: string, entry: Entry): void {
    if (
      entry.import === undefined &&
      entry.export === undefined &&
      entry.services.size === 0 &&
      entry.slices.size === 0
    )
      this.#entries.delete(key);
    this.#touched(key);
  }

  /** A watch may still report what was before a write or a removal here. */
  #isOutdated({ metadata }: ManagedObject, held: ManagedObject | undefined, isGone: boolean): boolean {
    const { uid, resourceVersion, deletionTimestamp } = metadata;
    if (isGone) {
      this.#removed.delete(uid ?? "");
      return held !== undefined && held.metadata.uid !== uid;
    }
    if (this.#removed.has(uid ?? "") && deletionTimestamp === undefined) return true;
    return held !== undefined && Number(resourceVersion) < Number(held.metadata.resourceVersion);
  }
}

function fieldOf(kind: string): "services" | "slices" {
  return kind === "Service" ? "services" : "slices";
}

/** Of a ServiceImport or of an object that belongs to one. */
function keyOf({ metadata: { namespace, name, labels } }: ManagedObject): string {
  return `${namespace}/${labels?.[SERVICE_NAME] ?? name}`;
}
