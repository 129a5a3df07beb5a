import type { GatewayRequests } from "../gateway-requests.ts";
import type { SyncLogger } from "../object-source.ts";
import type { ClusterObjects } from "./cluster-objects.ts";
import { reconcileProperties } from "./crds.ts";
import { DesiredState, readDesiredState } from "./desired.ts";
import { type ManagedObject, nameOf, toTime } from "./objects.ts";
import { PrunedFields } from "./pruned-fields.ts";
import { reconcileService, type Writes } from "./reconcile.ts";

/** What a plan needs: the cluster's objects are complete already. */
interface PlanOptions {
  readonly clusterId: string;
  readonly gateways: readonly GatewayRequests[];
  readonly objects: ClusterObjects;
  /**
   * Every object that was listed, also those of somebody else, by `listedKey`. The plan's own objects are
   * added.
   */
  readonly listed: Map<string, ManagedObject>;
  readonly version: string;
  /**
   * The name of the clusterset and the version in which ClusterProperties are served, if they are to be
   * written.
   */
  readonly properties?: { readonly clusterset: string; readonly version: string } | undefined;
  readonly logger: SyncLogger;
  /** Takes the lines of the plan. */
  readonly print: (line: string) => void;
}

/** How many objects a plan would write. */
interface PlanCounts {
  readonly applied: number;
  readonly removed: number;
  /** Objects of somebody else in the way. */
  readonly foreign: number;
}

/** A plan has no lease: as long as a silent gateway may take. */
const LEASE_SECONDS = 60;

/**
 * Prints what the control plane would change, as a diff, and writes nothing.
 * @throws {GatewayError} if no gateway has the desired state, such as that of a cluster that has not pushed
 */
export async function planChanges(options: PlanOptions, signal: AbortSignal): Promise<PlanCounts> {
  const { clusterId, gateways, objects, listed, version, logger, print } = options;
  const state = new DesiredState(() => performance.now(), 0);
  await readDesiredState({ clusterId, leaseSeconds: LEASE_SECONDS, gateways, state, logger }, signal);
  const counts = { applied: 0, removed: 0, foreign: 0 };
  const writes: Writes = {
    async applyNew(object, signal) {
      return listed.has(listedKey(object)) ? undefined : writes.apply(object, signal);
    },
    async apply(object, _, subresource) {
      if (subresource === undefined) counts.applied++;
      const before = listed.get(listedKey(object));
      for (const line of describeChange(before, object)) print(line);
      const metadata = { uid: "planned", ...before?.metadata, ...object.metadata };
      // A Service keeps its cluster IPs.
      const spec = { ...(before?.spec as object | undefined), ...(object.spec as object | undefined) };
      const after = { ...before, ...object, metadata, ...(object.spec !== undefined && { spec }) };
      listed.set(listedKey(object), after);
      return after;
    },
    merge: async (object) => object,
    read: async (object) => listed.get(listedKey(object)),
    async remove(object) {
      counts.removed++;
      listed.delete(listedKey(object));
      for (const line of describeChange(object, undefined)) print(line);
    },
  };
  const now = () => toTime(Date.now());
  const pruned = new PrunedFields(() => undefined);
  const foreign = (object: ManagedObject) => {
    counts.foreign++;
    print(`! ${object.kind} ${nameOf(object)} was not made by clusterset-doh and would stay as it is`);
  };
  const changed = () => undefined;
  const context = { clusterId, version, state, objects, writes, signal, foreign, changed, pruned, now };
  const { properties } = options;
  if (properties) await reconcileProperties(context, properties.clusterset, properties.version);
  for (const key of new Set([...state.keys(), ...objects.keys()])) await reconcileService(context, key);
  return counts;
}

/** The key of an object in `PlanOptions.listed`: several API groups may have its kind. */
export function listedKey(object: Pick<ManagedObject, "apiVersion" | "kind" | "metadata">): string {
  return `${object.apiVersion.replace(/\/?[^/]*$/, "")} ${object.kind} ${nameOf(object)}`;
}

/**
 * A change as a diff of fields: `+ Kind namespace/name` for a new object, `-` for one that goes, `~` for
 * another, followed by its changed fields. Fields that `after` does not have are not touched by server-side
 * apply, so they are not shown.
 */
export function* describeChange(
  before: ManagedObject | undefined,
  after: ManagedObject | undefined,
): Generator<string> {
  const object = (after ?? before)!;
  const title = `${object.kind} ${nameOf(object)}`;
  if (after === undefined) return yield `- ${title}`;
  yield `${before === undefined ? "+" : "~"} ${title}`;
  for (const [path, value] of leaves(after)) {
    const old = before === undefined ? undefined : at(before, path);
    if (JSON.stringify(old) === JSON.stringify(value)) continue;
    if (old !== undefined) yield `    - ${path.join(".")}: ${JSON.stringify(old)}`;
    yield `    + ${path.join(".")}: ${JSON.stringify(value)}`;
  }
}

const IN_TITLE = new Set(["apiVersion", "kind", "name", "namespace"]);

function* leaves(value: unknown, path: readonly string[] = []): Generator<[readonly string[], unknown]> {
  const isInner = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isInner) return yield [path, value];
  for (const [key, inner] of Object.entries(value))
    if (path.length > 1 || !IN_TITLE.has(key)) yield* leaves(inner, [...path, key]);
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value);
}
