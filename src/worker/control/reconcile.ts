import type { DesiredImport } from "../../snapshot/desired-line.ts";
import { ApiError } from "../api-server.ts";
import type { ApiWriter } from "./api-writer.ts";
import type { ClusterObjects } from "./cluster-objects.ts";
import type { DesiredService, DesiredState } from "./desired.ts";
import {
  clusterSetIPsOf,
  derivedService,
  derivedServiceName,
  differs,
  endpointSlice,
  importStatus,
  isManaged,
  type ManagedObject,
  type ObjectName,
  ownerReference,
  SOURCE_CLUSTER,
  serviceImport,
} from "./objects.ts";
import type { PrunedFields } from "./pruned-fields.ts";

/** A condition as the MCS API has it (metav1.Condition). */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

/** The ways to write: a plan has others, which print what the control plane would do. */
export type Writes = Pick<ApiWriter, "apply" | "applyNew" | "merge" | "read" | "remove">;

/** What one reconciliation works with. */
export interface ReconcileContext {
  readonly clusterId: string;
  /** The served version of the MCS API. */
  readonly version: string;
  readonly state: DesiredState;
  readonly objects: ClusterObjects;
  readonly writes: Writes;
  readonly signal: AbortSignal;
  /** Somebody else's object has a name that the control plane needs. */
  readonly foreign: (object: ManagedObject) => void;
  /** A condition of an object changed, and no other one says so already. */
  readonly changed: (object: ManagedObject, condition: Condition) => void;
  readonly pruned: PrunedFields;
  /** RFC 3339. */
  readonly now: () => string;
}

/**
 * Brings the objects of one `<namespace>/<name>` to the desired state: the derived Service, the ServiceImport
 * with its addresses, the slices, which the import owns, its status, and the conditions of the cluster's own
 * ServiceExport. Writes only what differs, and each object once.
 * @throws {ApiError} the caller tries again later
 */
export async function reconcileService(context: ReconcileContext, key: string): Promise<void> {
  const { state, objects, clusterId } = context;
  const [namespace, name] = key.split("/") as [string, string];
  if (!objects.hasNamespace(namespace)) return;
  if (!state.knows(key)) return removeOthers(context, key);
  const desired = state.service(key, clusterId);
  // A conflict with a cluster that the gateway does not know for a while has not been resolved.
  if (restsOnUnknown(context, key, desired.import)) return;
  const { import: wanted } = desired;
  await inTurn(
    () =>
      wanted === undefined
        ? removeAll(context, key)
        : reconcileImport(context, { namespace, name }, desired, wanted),
    // Last, so that nothing that clients need waits for it.
    () => reconcileExport(context, key, desired),
  );
}

/**
 * Runs each step: what the API server rejects, such as by a quota or a policy, holds up no other step.
 * @throws {ApiError} the first rejection, after all steps; any other error at once
 */
async function inTurn(...steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  let rejection: ApiError | undefined;
  for (const step of steps)
    await step().catch((error: unknown) => {
      if (!isRejection(error)) throw error;
      rejection ??= error;
    });
  if (rejection !== undefined) throw rejection;
}

function isRejection(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
}

async function reconcileImport(
  context: ReconcileContext,
  at: ObjectName,
  desired: DesiredService,
  wanted: DesiredImport,
): Promise<void> {
  const { objects, version, foreign } = context;
  const key = `${at.namespace}/${at.name}`;
  const own = objects.of(key);
  if (own.import !== undefined && !isManaged(own.import)) {
    // One that was handed away: nothing here brings its slices up to date any more.
    for (const one of [...own.slices, ...own.services]) await removeOne(context, one);
    return foreign(own.import);
  }
  if (own.import?.metadata.deletionTimestamp !== undefined) return;
  const isHeadless = wanted.type === "Headless";
  const service = isHeadless ? undefined : derivedService(at, wanted);
  const derivedName = derivedServiceName(at.name);
  const before = own.services.find(({ metadata }) => metadata.name === derivedName);
  let derived = service && before;
  let isRejected = false;
  const noting = (step: () => Promise<unknown>) => () =>
    step().catch((error: unknown) => {
      isRejected = true;
      throw error;
    });
  const ensureDerived = async () => {
    derived = service && (await ensure(context, service, before));
  };
  const ensureRest = async () => {
    const addresses = clusterSetIPsOf(derived);
    const whole = serviceImport(version, at, wanted, addresses);
    const held = await ensure(context, whole, objects.of(key).import);
    if (held === undefined) {
      if (derived !== undefined && before === undefined) await removeOne(context, derived);
      return;
    }
    for (const one of own.services)
      if (one.metadata.name !== service?.metadata.name) await removeOne(context, one);
    // A Service of somebody else must not get the clusterset's endpoints.
    const isBlocked = service !== undefined && derived === undefined;
    const slices = (isBlocked ? [] : desired.slices).map((slice) =>
      endpointSlice(at, slice, isHeadless ? undefined : derivedName, ownerReference(held)),
    );
    await inTurn(
      noting(() => reconcileSlices(context, key, slices)),
      () => reconcileStatus(context, key, importStatus(wanted, addresses, isRejected), whole),
    );
  };
  await inTurn(noting(ensureDerived), ensureRest);
}

async function reconcileSlices(
  context: ReconcileContext,
  key: string,
  slices: readonly ManagedObject[],
): Promise<void> {
  const { objects } = context;
  const names = new Set(slices.map(({ metadata }) => metadata.name));
  const held = new Map(objects.of(key).slices.map((slice) => [slice.metadata.name, slice]));
  const ensureSlice = async (slice: ManagedObject) => {
    const before = held.get(slice.metadata.name);
    // `addressType` cannot be changed.
    const isOther = before !== undefined && before.addressType !== slice.addressType;
    if (isOther) await removeOne(context, before);
    await ensure(context, slice, isOther ? undefined : before);
  };
  const old = [...held].flatMap(([name, slice]) => (names.has(name) ? [] : slice));
  await inTurn(
    ...slices.map((slice) => () => ensureSlice(slice)),
    ...old.map((slice) => () => removeSlice(context, key, slice)),
  );
}

/** @param whole the import as it should be but for its status */
async function reconcileStatus(
  context: ReconcileContext,
  key: string,
  { conditions, ...status }: ReturnType<typeof importStatus>,
  whole: ManagedObject,
): Promise<void> {
  const { objects, pruned, now } = context;
  const held = objects.of(key).import;
  if (held === undefined) return;
  const applied = conditionsToApply(conditions, held, now(), (path) => pruned.has(held.kind, path));
  if (applied === undefined && !differs(pruned.without({ ...bare(held), status }), held)) return;
  const current = applied ?? conditionsOf(held);
  const wanted = { ...bare(held), status: { ...status, conditions: current } };
  const written = await applyWhole(context, wanted, "status");
  // What somebody changed right before came back with the status, and no watch reports it any more.
  if (differs(pruned.without(whole), written)) objects.touch(key);
}

async function reconcileExport(
  context: ReconcileContext,
  key: string,
  { conditions }: DesiredService,
): Promise<void> {
  const { objects, writes, signal, pruned, now } = context;
  const held = objects.of(key).export;
  if (held === undefined || conditions === undefined) return;
  const applied = conditionsToApply(conditions, held, now(), (path) => pruned.has(held.kind, path));
  if (applied === undefined) return;
  const object = { ...bare(held), status: { conditions: applied } };
  const written = await objects.written(object, () =>
    apply(context, object, (kept) => writes.apply(kept, signal, "status")),
  );
  for (const condition of newsIn(applied, conditionsOf(held))) context.changed(held, condition);
  if (written.metadata.generation !== held.metadata.generation) objects.touch(key);
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

/**
 * Without a gateway, or with a line that is unreadable, a worker knows nothing but the time: slices of other
 * clusters go when no lease can hold any more.
 */
async function removeOthers(context: ReconcileContext, key: string): Promise<void> {
  for (const slice of context.objects.of(key).slices)
    if (slice.metadata.labels?.[SOURCE_CLUSTER] !== context.clusterId) await removeSlice(context, key, slice);
}

/** A slice whose source cluster the gateway does not know stays until that cluster's lease has expired. */
async function removeSlice(context: ReconcileContext, key: string, slice: ManagedObject): Promise<void> {
  const cluster = slice.metadata.labels?.[SOURCE_CLUSTER] ?? "";
  if (context.state.mayRemove(key, cluster)) await removeOne(context, slice);
}

async function removeOne(
  { objects, writes, signal }: ReconcileContext,
  object: ManagedObject,
): Promise<void> {
  if (object.metadata.deletionTimestamp !== undefined) return;
  await writes.remove(object, signal);
  objects.removed(object);
}

/** Applies an object if it differs. Undefined if somebody else's object has its name. */
async function ensure(
  context: ReconcileContext,
  wanted: ManagedObject,
  held: ManagedObject | undefined,
): Promise<ManagedObject | undefined> {
  const { objects, writes, signal, pruned } = context;
  let found = held ?? objects.foreign(wanted);
  if (found === undefined) {
    const created = await objects.written(wanted, () =>
      apply(context, wanted, (kept) => writes.applyNew(kept, signal)),
    );
    if (created !== undefined) return created;
    // Somebody else's, or ours, and no watch has reported it yet.
    found = await writes.read(wanted, signal);
  }
  if (found === undefined) return applyWhole(context, wanted);
  if (!isManaged(found)) {
    context.foreign(found);
    objects.isBlockedBy(found, wanted);
    return undefined;
  }
  return differs(pruned.without(wanted), found) ? applyWhole(context, wanted) : found;
}

/** Applies an object, and replaces its lists where others have added to them. */
function applyWhole(
  context: ReconcileContext,
  wanted: ManagedObject,
  subresource?: "status",
): Promise<ManagedObject> {
  const { objects, writes, signal, pruned } = context;
  const send = () => apply(context, wanted, (kept) => writes.apply(kept, signal, subresource));
  return objects.written(wanted, async () => {
    const stored = await send().catch((error: unknown) => {
      // What others have added can make the whole invalid: two ports of one name.
      if (error instanceof ApiError && error.status === 422) return undefined;
      throw error;
    });
    const kept = pruned.without(wanted);
    const own = subresource === undefined ? kept : { ...bare(kept), [subresource]: kept[subresource] };
    if (stored !== undefined && !differs(own, stored)) return stored;
    const merged = await writes.merge(kept, signal, subresource);
    // A merge patch leaves fields that are not wanted any more; apply removes them.
    return stored === undefined ? send() : merged;
  });
}

/** Applies the fields of an object that the API server keeps. */
async function apply<Stored extends ManagedObject | undefined>(
  { pruned }: Pick<ReconcileContext, "pruned">,
  wanted: ManagedObject,
  send: (kept: ManagedObject) => Promise<Stored>,
): Promise<Stored> {
  for (;;) {
    const kept = pruned.without(wanted);
    try {
      const stored = await send(kept);
      if (stored !== undefined) pruned.learn(kept, stored);
      return stored;
    } catch (error) {
      if (!pruned.learnFrom(wanted, error)) throw error;
    }
  }
}

/**
 * Whether an import rests on a cluster that the gateway does not name and whose lease may still hold: a
 * gateway that has lost its state knows less than the cluster has, for a while.
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

/**
 * The wanted conditions with their times: `lastTransitionTime` changes with `status` alone. Undefined if the
 * object has them all already, as far as the API server keeps them.
 * @param now RFC 3339
 * @param isPruned whether the API server drops a field
 */
export function conditionsToApply(
  wanted: readonly Condition[],
  object: ManagedObject,
  now: string,
  isPruned: (path: string) => boolean = () => false,
): readonly Condition[] | undefined {
  if (isPruned("status.conditions")) return undefined;
  const actual = conditionsOf(object);
  const { generation } = object.metadata;
  const applied = wanted.map((condition): Condition => {
    const before = actual.find(({ type }) => type === condition.type);
    const since = before?.status === condition.status ? (before.lastTransitionTime ?? now) : now;
    return {
      ...condition,
      lastTransitionTime: since,
      ...(generation !== undefined && { observedGeneration: generation }),
    };
  });
  const isThere = applied.every(({ type, status, reason, message, observedGeneration }) =>
    actual.some(
      (one) =>
        one.type === type &&
        one.status === status &&
        one.reason === reason &&
        one.message === message &&
        (one.observedGeneration === observedGeneration || isPruned("status.conditions[].observedGeneration")),
    ),
  );
  return isThere ? undefined : applied;
}

/** The conditions that an object has. */
export function conditionsOf({ status }: ManagedObject): readonly Condition[] {
  const { conditions } = (status ?? {}) as { readonly conditions?: unknown };
  return Array.isArray(conditions) ? (conditions as Condition[]) : [];
}

/** Whether a condition is as people want it. */
export function isGood({ type, status }: Condition): boolean {
  return status === (type === "Conflict" ? "False" : "True");
}

/**
 * The conditions that tell people something: those with another reason than before. At first, only what is
 * not good, and Ready. Of Valid and Ready one is enough where it says the other: what is Ready is Valid, and
 * what is not Valid cannot be Ready.
 */
export function newsIn(applied: readonly Condition[], before: readonly Condition[]): readonly Condition[] {
  const news = applied.filter((condition) => {
    const { type, reason } = condition;
    const held = before.find((one) => one.type === type);
    return held === undefined ? !isGood(condition) || type === "Ready" : held.reason !== reason;
  });
  const valid = news.find(({ type }) => type === "Valid");
  const ready = news.find(({ type }) => type === "Ready");
  if (valid === undefined || ready === undefined) return news;
  return news.filter((one) => (isGood(ready) ? one !== valid : isGood(valid) || one !== ready));
}
