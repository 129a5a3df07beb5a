import type { KubernetesObject } from "../../extract/objects.ts";
import {
  DERIVED_PREFIX,
  isManaged,
  type ManagedObject,
  MULTICLUSTER_GROUP,
  SERVICE_NAME,
} from "./objects.ts";

/** The managed objects of one ServiceImport's name. */
interface OwnObjects {
  /** Also one that is not managed. */
  readonly import: ManagedObject | undefined;
  readonly export: ManagedObject | undefined;
  readonly services: readonly ManagedObject[];
  readonly slices: readonly ManagedObject[];
}

/** What watches have reported of an object while it was written. */
interface Reported {
  newest: number;
  /** The uid of the one that is gone. */
  gone: string | undefined;
}

/**
 * What the control plane needs of its cluster, from the same watches that the snapshot comes from:
 * namespaces, ServiceExports, ServiceImports, and its own Services and EndpointSlices. Other objects are not
 * held.
 */
export class ClusterObjects {
  /** By key, then by `<kind>/<namespace>/<name>`. */
  readonly #entries = new Map<string, Map<string, ManagedObject>>();
  /** The key of each object that is held, by `<kind>/<namespace>/<name>`. */
  readonly #keys = new Map<string, string>();
  readonly #namespaces = new Set<string>();
  /**
   * Objects of somebody else whose names ours could need, by `<kind>/<namespace>/<name>`; without their
   * content.
   */
  readonly #foreign = new Map<string, ManagedObject>();
  /** The keys that wait for an object of somebody else to go, by `<kind>/<namespace>/<name>`. */
  readonly #blocked = new Map<string, string>();
  /** The uids of objects that were removed here, until a watch reports that they are gone. */
  readonly #removed = new Set<string>();
  /** Of objects that are being written, by `<kind>/<namespace>/<name>`. */
  readonly #writing = new Map<string, Reported>();
  readonly #touched: (key: string) => void;

  /**
   * @param touched called with `<namespace>/<name>` of each ServiceImport or ServiceExport whose objects
   * changed
   */
  constructor(touched: (key: string) => void) {
    this.#touched = touched;
  }

  /**
   * Whether the namespace exists and is not being deleted: in one that is, nothing can be made (403,
   * `NamespaceTerminating`).
   */
  hasNamespace(namespace: string): boolean {
    return this.#namespaces.has(namespace);
  }

  /** Queues a key for another reconciliation. */
  touch(key: string): void {
    this.#touched(key);
  }

  /** All keys that have an object. */
  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  of(key: string): OwnObjects {
    const all = [...(this.#entries.get(key)?.values() ?? [])];
    const ofKind = (wanted: string) => all.filter(({ kind }) => kind === wanted);
    return {
      import: ofKind("ServiceImport")[0],
      export: ofKind("ServiceExport")[0],
      services: ofKind("Service"),
      slices: ofKind("EndpointSlice"),
    };
  }

  /**
   * Holds an object as the API server returned it after a write. Neither that nor a watch that reports the
   * same touches the key: it would be worked on a second time for nothing. What is newer than the write does.
   * @param write makes the only write of that object at the time; undefined if it wrote nothing
   */
  async written<Stored extends ManagedObject | undefined>(
    object: ManagedObject,
    write: () => Promise<Stored>,
  ): Promise<Stored> {
    const identity = identityOf(object);
    const reported: Reported = { newest: 0, gone: undefined };
    this.#writing.set(identity, reported);
    const stored = await write().finally(() => this.#writing.delete(identity));
    if (stored === undefined) return stored;
    const { uid, resourceVersion } = stored.metadata;
    const isOver = reported.newest > Number(resourceVersion) || (uid !== undefined && uid === reported.gone);
    if (isOver) this.#touched(keyOf(stored));
    else this.#set(stored, false, true);
    return stored;
  }

  /** Takes an object from a watch. */
  upsert(object: KubernetesObject): void {
    if (object.kind === "Namespace") {
      this.#setNamespace(object);
      return;
    }
    const seen = object as unknown as ManagedObject;
    const writing = this.#writing.get(identityOf(seen));
    if (writing !== undefined)
      writing.newest = Math.max(writing.newest, Number(seen.metadata.resourceVersion));
    this.#set(seen, false, writing !== undefined);
  }

  delete(object: KubernetesObject): void {
    if (object.kind === "Namespace") {
      this.#namespaces.delete(String(object.metadata?.name));
      return;
    }
    const seen = object as unknown as ManagedObject;
    const writing = this.#writing.get(identityOf(seen));
    if (writing !== undefined) writing.gone = seen.metadata.uid;
    this.#set(seen, true, false);
  }

  /** An object was deleted here: what watches still report of it from before does not bring it back. */
  removed(object: ManagedObject): void {
    const { uid } = object.metadata;
    const held = this.#entries.get(keyOf(object))?.values() ?? [];
    const isHeld = [...held].some(({ metadata }) => metadata.uid === uid);
    this.#set(object, true, true);
    // Otherwise a watch has reported already that it is gone.
    if (isHeld && uid !== undefined) this.#removed.add(uid);
  }

  /** Somebody else's object with the name that `wanted` needs, as far as watches tell. */
  foreign(wanted: ManagedObject): ManagedObject | undefined {
    return this.#foreign.get(identityOf(wanted));
  }

  /** Somebody else's object has the name that `wanted` needs: its key is touched when that object goes. */
  isBlockedBy(blocking: ManagedObject, wanted: ManagedObject): void {
    if (isOwned(blocking)) this.#blocked.set(identityOf(blocking), keyOf(wanted));
  }

  #setNamespace({ metadata }: KubernetesObject): void {
    const name = String(metadata?.name);
    const was = this.#namespaces.has(name);
    if (metadata?.deletionTimestamp === undefined) this.#namespaces.add(name);
    else this.#namespaces.delete(name);
    if (was !== this.#namespaces.has(name)) this.#touched(`${name}/`);
  }

  #set(object: ManagedObject, isGone: boolean, isQuiet: boolean): void {
    if (isOwned(object)) this.#noteForeign(object, isGone);
    else if (!isMulticluster(object)) return;
    const identity = identityOf(object);
    const before = this.#keys.get(identity);
    const entries = before === undefined ? undefined : this.#entries.get(before);
    if (this.#isOutdated(object, entries?.get(identity), isGone)) return;
    // Without its marks an object is somebody else's.
    const isOurs = isMulticluster(object) || (isManaged(object) && object.metadata.labels?.[SERVICE_NAME]);
    const key = isOurs && !isGone ? keyOf(object) : undefined;
    if (before !== undefined && before !== key) {
      entries?.delete(identity);
      if (entries?.size === 0) this.#entries.delete(before);
      this.#keys.delete(identity);
      if (!isQuiet) this.#touched(before);
    }
    if (key === undefined) return;
    this.#entries.set(key, (this.#entries.get(key) ?? new Map()).set(identity, object));
    this.#keys.set(identity, key);
    if (!isQuiet) this.#touched(key);
  }

  /**
   * Somebody else's Service or EndpointSlice may have a name that is needed, and its key waits for it to go.
   */
  #noteForeign(object: ManagedObject, isGone: boolean): void {
    const { name, labels } = object.metadata;
    const identity = identityOf(object);
    const blocked = isGone ? this.#blocked.get(identity) : undefined;
    if (blocked !== undefined) {
      this.#blocked.delete(identity);
      this.#touched(blocked);
    }
    const isLike = name.startsWith(DERIVED_PREFIX) || labels?.[SERVICE_NAME] !== undefined;
    if (isLike && !isGone && !isManaged(object)) this.#foreign.set(identity, withoutContent(object));
    else this.#foreign.delete(identity);
  }

  /**
   * A watch may still report what was before a write or a removal here, or again what is held. Not outdated
   * is the same in another version of its API: the one before may not be served any more.
   */
  #isOutdated(
    { apiVersion, metadata }: ManagedObject,
    held: ManagedObject | undefined,
    isGone: boolean,
  ): boolean {
    const { uid, resourceVersion, deletionTimestamp } = metadata;
    if (isGone) {
      this.#removed.delete(uid ?? "");
      return held !== undefined && held.metadata.uid !== uid;
    }
    if (this.#removed.has(uid ?? "") && deletionTimestamp === undefined) return true;
    if (held === undefined) return false;
    const newer = Number(resourceVersion) - Number(held.metadata.resourceVersion);
    return newer < 0 || (newer === 0 && apiVersion === held.apiVersion);
  }
}

/** Whether the control plane makes objects of the kind that belong to a ServiceImport. */
function isOwned({ kind }: ManagedObject): boolean {
  return kind === "Service" || kind === "EndpointSlice";
}

function isMulticluster({ apiVersion, kind }: ManagedObject): boolean {
  const isOfGroup = apiVersion.startsWith(`${MULTICLUSTER_GROUP}/`);
  return isOfGroup && (kind === "ServiceImport" || kind === "ServiceExport");
}

function identityOf({ kind, metadata: { namespace, name } }: ManagedObject): string {
  return `${kind}/${namespace}/${name}`;
}

function withoutContent({ apiVersion, kind, metadata }: ManagedObject): ManagedObject {
  const { namespace, name, uid } = metadata;
  return { apiVersion, kind, metadata: { namespace, name, ...(uid !== undefined && { uid }) } };
}

/** Of a ServiceImport or ServiceExport, or of an object that belongs to one. */
function keyOf(object: ManagedObject): string {
  const { namespace, name, labels } = object.metadata;
  return `${namespace}/${(isOwned(object) ? labels?.[SERVICE_NAME] : undefined) ?? name}`;
}
