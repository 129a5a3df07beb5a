import type { DesiredImport } from "../../snapshot/desired/desired-line.ts";
import type { PrunedFields } from "../crds/pruned-fields.ts";
import type { DesiredService, DesiredState } from "../desired/desired-state.ts";
import { type Condition, conditionsOf, conditionsToApply } from "../objects/conditions.ts";
import { clusterSetIPsOf, derivedService } from "../objects/derived-service.ts";
import { endpointSlice } from "../objects/endpoint-slice.ts";
import { derivedServiceName } from "../objects/names.ts";
import { ownerReference, SOURCE_CLUSTER } from "../objects/owner.ts";
import { importStatus, serviceImport } from "../objects/service-import.ts";
import { differs, isManaged, type ManagedObject } from "../objects/wanted-object.ts";
import type { ClusterObjects } from "./cluster-objects.ts";

/** The ways to write, so that a plan can print what the control plane would do. */
export interface Writes {
  apply(object: ManagedObject, subresource?: "status"): Promise<ManagedObject>;
  /** Writes an object whose lists others have added to: apply leaves their elements there, a merge patch replaces the list. */
  merge(object: ManagedObject, subresource?: "status"): Promise<ManagedObject>;
  /** The object as it is now, not as it was last seen. */
  read(object: ManagedObject): Promise<ManagedObject | undefined>;
  remove(object: ManagedObject): Promise<void>;
  /** Somebody else's object has a name that the control plane needs. */
  foreign(object: ManagedObject): void;
  /** A condition of an object changed. */
  changed(object: ManagedObject, condition: Condition): void;
}

/** What one reconciliation works with. */
export interface ReconcileContext {
  readonly clusterId: string;
  /** The served version of the MCS API. */
  readonly version: string;
  readonly state: DesiredState;
  readonly objects: ClusterObjects;
  readonly writes: Writes;
  readonly pruned: PrunedFields;
  /** RFC 3339. */
  readonly now: () => string;
}

/**
 * Brings the objects of one `<namespace>/<name>` to the desired state: ServiceImport first, since the others are owned by it, then the derived
 * Service, the import's addresses, slices, status, and the conditions of the cluster's own ServiceExport. Writes only what differs.
 * @throws {WriteError} the caller tries again later
 */
export async function reconcileService(context: ReconcileContext, key: string): Promise<void> {
  const { state, objects, clusterId } = context;
  const [namespace, name] = key.split("/") as [string, string];
  if (!objects.hasNamespace(namespace)) return;
  if (!state.isKnown) return removeOthers(context, key);
  const desired = state.service(key, clusterId);
  // A conflict with a cluster that the gateway does not know for a while has not been resolved.
  if (restsOnUnknown(context, key, desired.import)) return;
  await reconcileExport(context, key, desired);
  if (desired.import === undefined) await removeAll(context, key);
  else await reconcileImport(context, { namespace, name }, desired, desired.import);
}

async function reconcileImport(
  context: ReconcileContext,
  at: { readonly namespace: string; readonly name: string },
  desired: DesiredService,
  wanted: DesiredImport,
): Promise<void> {
  const { objects, version, writes } = context;
  const key = `${at.namespace}/${at.name}`;
  const own = objects.of(key);
  if (own.import !== undefined && !isManaged(own.import)) return writes.foreign(own.import);
  if (own.import?.metadata.deletionTimestamp !== undefined) return;
  const isHeadless = wanted.type === "Headless";
  const derivedName = derivedServiceName(at.name);
  const addresses = () =>
    isHeadless
      ? undefined
      : clusterSetIPsOf(objects.of(key).services.find(({ metadata }) => metadata.name === derivedName));

  const imported = () => serviceImport(version, at, wanted, addresses());
  const held = await ensure(context, imported(), own.import);
  if (held === undefined) return;
  const owner = ownerReference(held);
  const service = isHeadless ? undefined : derivedService(at, wanted, owner);
  for (const one of own.services)
    if (one.metadata.name !== service?.metadata.name) await removeOne(context, one);
  const before = own.services.find(({ metadata }) => metadata.name === derivedName);
  // A Service of somebody else must not get the clusterset's endpoints.
  const isBlocked = service !== undefined && (await ensure(context, service, before)) === undefined;
  await ensure(context, imported(), objects.of(key).import);
  const slices = [...(isBlocked ? [] : desired.slices.values())].map((slice) =>
    endpointSlice(at, slice, isHeadless ? undefined : derivedName, owner),
  );
  await reconcileSlices(context, key, slices);
  await reconcileStatus(context, key, wanted, isHeadless || addresses() !== undefined);
}

async function reconcileSlices(
  context: ReconcileContext,
  key: string,
  slices: readonly ManagedObject[],
): Promise<void> {
  const { objects } = context;
  const names = new Set(slices.map(({ metadata }) => metadata.name));
  const held = new Map(objects.of(key).slices.map((slice) => [slice.metadata.name, slice]));
  for (const slice of slices) {
    const before = held.get(slice.metadata.name);
    // `addressType` cannot be changed.
    const isOther = before !== undefined && before.addressType !== slice.addressType;
    if (isOther) await removeOne(context, before);
    await ensure(context, slice, isOther ? undefined : before);
  }
  for (const [name, slice] of held) if (!names.has(name)) await removeSlice(context, key, slice);
}

async function reconcileStatus(
  { objects, writes, pruned, now }: ReconcileContext,
  key: string,
  wanted: DesiredImport,
  isReady: boolean,
): Promise<void> {
  const held = objects.of(key).import;
  if (held === undefined) return;
  const { conditions, ...status } = importStatus(wanted, isReady);
  const applied = conditionsToApply(conditions, held, now(), (path) => pruned.has(held.kind, path));
  if (applied === undefined && !differs(pruned.without({ ...bare(held), status }), held)) return;
  const current = applied ?? conditionsOf(held);
  const object = { ...bare(held), status: { ...status, conditions: current } };
  objects.upsert(await applyWhole({ writes, pruned }, object, "status"));
}

async function reconcileExport(
  { objects, writes, pruned, now }: ReconcileContext,
  key: string,
  { conditions }: DesiredService,
): Promise<void> {
  const held = objects.of(key).export;
  if (held === undefined || conditions === undefined) return;
  const applied = conditionsToApply(conditions, held, now(), (path) => pruned.has(held.kind, path));
  if (applied === undefined) return;
  const before = new Map(conditionsOf(held).map((condition) => [condition.type, condition]));
  const object = { ...bare(held), status: { conditions: applied } };
  objects.upsert(await apply({ writes, pruned }, object, "status"));
  for (const condition of applied)
    if (before.get(condition.type)?.reason !== condition.reason) writes.changed(held, condition);
}

async function removeAll(context: ReconcileContext, key: string): Promise<void> {
  const { objects } = context;
  const { import: held, services, slices } = objects.of(key);
  for (const slice of slices) await removeSlice(context, key, slice);
  if (held !== undefined && isManaged(held)) await removeOne(context, held);
  for (const service of services) await removeOne(context, service);
  const left = objects.of(key);
  if (left.import === undefined && left.slices.length === 0) context.state.settled(key);
}

/** A worker that has started without a gateway knows nothing but the time: slices of other clusters go when no lease can hold any more. */
async function removeOthers(context: ReconcileContext, key: string): Promise<void> {
  for (const slice of context.objects.of(key).slices)
    if (slice.metadata.labels?.[SOURCE_CLUSTER] !== context.clusterId) await removeSlice(context, key, slice);
}

/** A slice whose source cluster the gateway does not know stays until that cluster's lease has expired. */
async function removeSlice(context: ReconcileContext, key: string, slice: ManagedObject): Promise<void> {
  const cluster = slice.metadata.labels?.[SOURCE_CLUSTER] ?? "";
  if (context.state.mayRemove(key, cluster)) await removeOne(context, slice);
}

async function removeOne({ objects, writes }: ReconcileContext, object: ManagedObject): Promise<void> {
  if (object.metadata.deletionTimestamp !== undefined) return;
  await writes.remove(object);
  objects.removed(object);
}

/** Applies an object if it differs. Undefined if somebody else's object has its name. */
async function ensure(
  { objects, writes, pruned }: ReconcileContext,
  wanted: ManagedObject,
  held: ManagedObject | undefined,
): Promise<ManagedObject | undefined> {
  if (held !== undefined && !differs(pruned.without(wanted), held)) return held;
  // Apply creates or merges: a name that nothing of ours has may be somebody else's since.
  const found = held ?? (await writes.read(wanted));
  if (found !== undefined && !isManaged(found)) {
    writes.foreign(found);
    objects.isBlockedBy(found, wanted);
    return undefined;
  }
  const applied = await applyWhole({ writes, pruned }, wanted);
  objects.upsert(applied);
  return applied;
}

/** Applies an object, and replaces its lists where others have added to them. */
async function applyWhole(
  context: Pick<ReconcileContext, "writes" | "pruned">,
  wanted: ManagedObject,
  subresource?: "status",
): Promise<ManagedObject> {
  const applied = await apply(context, wanted, subresource);
  const kept = context.pruned.without(wanted);
  const written = subresource === undefined ? kept : { ...bare(kept), [subresource]: kept[subresource] };
  return differs(written, applied) ? context.writes.merge(kept, subresource) : applied;
}

/** Applies the fields of an object that the API server keeps. */
async function apply(
  { writes, pruned }: Pick<ReconcileContext, "writes" | "pruned">,
  wanted: ManagedObject,
  subresource?: "status",
): Promise<ManagedObject> {
  for (;;) {
    const kept = pruned.without(wanted);
    try {
      const stored = await writes.apply(kept, subresource);
      pruned.learn(kept, stored);
      return stored;
    } catch (error) {
      if (!pruned.learnFrom(wanted, error)) throw error;
    }
  }
}

/**
 * Whether an import rests on a cluster that the gateway does not name and whose lease may still hold: a gateway that has lost its state
 * knows less than the cluster has, for a while.
 */
function restsOnUnknown(
  { state, objects }: ReconcileContext,
  key: string,
  wanted: DesiredImport | undefined,
): boolean {
  const held = objects.of(key).import;
  if (held === undefined || !isManaged(held)) return false;
  const { clusters } = (held.status ?? {}) as {
    readonly clusters?: readonly { readonly cluster: string }[];
  };
  return (clusters ?? []).some(
    ({ cluster }) => wanted?.clusters.includes(cluster) !== true && !state.mayRemove(key, cluster),
  );
}

function bare({ apiVersion, kind, metadata: { namespace, name } }: ManagedObject): ManagedObject {
  return { apiVersion, kind, metadata: { namespace, name } };
}
