import { isDeepStrictEqual } from "node:util";
import type { KubernetesObject } from "../../extract/objects.ts";
import { ApiError } from "../api-server.ts";
import type { GatewayRequests } from "../gateway-requests.ts";
import type { KubernetesSource } from "../kubernetes.ts";
import { describeCauses, type SyncLogger } from "../object-source.ts";
import { type BackoffLimits, backoffPause, pause } from "../pacing.ts";
import type { ControlStatus } from "../sync.ts";
import { ApiWriter, pluralOf } from "./api-writer.ts";
import { ClusterObjects } from "./cluster-objects.ts";
import {
  applyCrd,
  logServed,
  PROPERTIES_KEY,
  reconcileProperties,
  type ServedVersions,
  servedBy,
} from "./crds.ts";
import { DesiredState, followDesiredState } from "./desired.ts";
import { EventRecorder } from "./events.ts";
import { Leader } from "./leader.ts";
import { type ManagedObject, nameOf, toTime } from "./objects.ts";
import { PrunedFields } from "./pruned-fields.ts";
import { type Condition, isGood, reconcileService } from "./reconcile.ts";

/** What the control plane of one cluster needs. */
interface ControllerOptions {
  readonly clusterId: string;
  /** The API server, and what is known of it. */
  readonly source: KubernetesSource;
  readonly gateways: readonly GatewayRequests[];
  /** Seconds: how long a cluster that no gateway has named counts as live after a start. */
  readonly leaseSeconds: number;
  /** Where the Lease is. */
  readonly namespace: string;
  readonly identity: string;
  /** The name of the clusterset, if the ClusterProperties are to be written. */
  readonly clusterset: string | undefined;
  readonly logger: SyncLogger;
}

const LEASE_NAME = "clusterset-doh-control";
/** Milliseconds between two looks at whether the cluster was read. */
const LOOK_AGAIN = 100;

/**
 * KEP-1645's mcs-controller of one cluster: brings its objects to what the gateway desires, while this
 * process leads.
 */
export class Controller {
  readonly objects: ClusterObjects;
  readonly #options: ControllerOptions;
  #state: DesiredState;
  readonly #writer: ApiWriter;
  readonly #events: EventRecorder;
  readonly #pruned: PrunedFields;
  /** As logged last. */
  #served: ServedVersions | undefined;
  #queue: WorkQueue | undefined;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#state = this.#unknown();
    this.#writer = new ApiWriter(options.source.api);
    this.#events = new EventRecorder(this.#writer, options.identity, options.logger);
    this.objects = new ClusterObjects((key) => this.#touch(key));
    this.#pruned = new PrunedFields((object, path) => this.#reportPruned(object, path));
  }

  status(): ControlStatus {
    return {
      leads: this.#queue !== undefined,
      pending: this.#queue?.size ?? 0,
      writes: this.#writer.counts,
      eventsDropped: this.#events.dropped,
    };
  }

  upsert(object: KubernetesObject): void {
    if (object.kind === "ClusterProperty") this.#touch(PROPERTIES_KEY);
    else this.objects.upsert(object);
  }

  delete(object: KubernetesObject): void {
    if (object.kind === "ClusterProperty") this.#touch(PROPERTIES_KEY);
    else this.objects.delete(object);
  }

  /** The source has reported objects, or became complete. */
  changed(): void {
    const { source, clusterset, logger } = this.#options;
    if (!source.complete) return;
    const served = servedBy(source, clusterset);
    if (!isDeepStrictEqual(served, this.#served)) {
      this.#served = served;
      logServed(served, logger);
      for (const key of this.#allKeys()) this.#queue?.add(key);
    }
    if (this.#state.isUsable) this.#queue?.open();
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { namespace, identity, logger } = this.#options;
    const leader = new Leader({ namespace, name: LEASE_NAME, identity, writer: this.#writer, logger });
    await leader.run((leading) => this.#lead(leading), signal);
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { clusterId, source, leaseSeconds, gateways, logger } = this.#options;
    const queue = new WorkQueue(
      (key) => this.#reconcile(key, signal),
      (key, error, failures, isNews) => {
        const isThere = key === PROPERTIES_KEY || this.objects.hasNamespace(key.split("/")[0]!);
        if (signal.aborted || isExpected(error, isThere) || !isNews) return;
        logger.warn({ key, failures }, `cannot be brought to the desired state: ${describeCauses(error)}`);
      },
    );
    this.#queue = queue;
    const touched = (keys: ReadonlySet<string> | "all") => {
      for (const key of keys === "all" ? this.#allKeys() : keys) queue.add(key);
      this.changed();
    };
    // Another worker may have led since this one did: what it knew then is not desired any more.
    const state = this.#unknown();
    this.#state = state;
    const expiries = this.#watchExpiries(state, signal, () => touched("all"));
    // The objects of the cluster name it, so that the desired state of another one is rejected.
    while (!source.complete && (await pause(LOOK_AGAIN, signal)));
    await followDesiredState({ clusterId, leaseSeconds, gateways, state, touched, logger }, signal);
    queue.close();
    this.#queue = undefined;
    clearInterval(expiries);
  }

  /** Leases end without a line from the gateway: that is how a cluster that is cut off notices. */
  #watchExpiries(state: DesiredState, signal: AbortSignal, expired: () => void): NodeJS.Timeout {
    let next = state.nextExpiry();
    return setInterval(() => {
      if (signal.aborted) return;
      const now = performance.now();
      if (next <= now) expired();
      next = state.nextExpiry();
    }, 1_000);
  }

  #unknown(): DesiredState {
    return new DesiredState(() => performance.now(), this.#options.leaseSeconds * 1000);
  }

  #allKeys(): Set<string> {
    return new Set([PROPERTIES_KEY, ...this.#state.keys(), ...this.objects.keys()]);
  }

  #touch(key: string): void {
    const queue = this.#queue;
    if (queue === undefined) return;
    if (!key.endsWith("/")) queue.add(key);
    else for (const one of this.#allKeys()) if (one.startsWith(key)) queue.add(one);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { clusterId, source, clusterset } = this.#options;
    const { serviceimports: version, clusterproperties } = servedBy(source, clusterset);
    const context = {
      clusterId,
      state: this.#state,
      objects: this.objects,
      writes: this.#writer,
      signal,
      foreign: (object: ManagedObject) => this.#foreign(key, object, signal),
      changed: (object: ManagedObject, condition: Condition) => this.#changed(object, condition, signal),
      pruned: this.#pruned,
      now: () => toTime(Date.now()),
    };
    if (key === PROPERTIES_KEY) {
      if (clusterset && clusterproperties) await reconcileProperties(context, clusterset, clusterproperties);
      return;
    }
    // `changed` has logged it, and adds all keys when the CRD is there.
    if (version !== undefined) await reconcileService({ ...context, version }, key);
  }

  #changed(object: ManagedObject, condition: Condition, signal: AbortSignal): void {
    const { type, reason, message } = condition;
    const level = isGood(condition) ? "Normal" : "Warning";
    this.#events.record(object, level, reason.split(",")[0]!, `${type}: ${message}`, signal);
  }

  #reportPruned({ apiVersion, kind }: ManagedObject, path: string): void {
    const update =
      kind === "ServiceImport" || kind === "ServiceExport"
        ? `the installed CRD does not have it. To update it: ${applyCrd(pluralOf(kind) as keyof ServedVersions)}, then restart the worker`
        : "this version of Kubernetes does not have it";
    this.#options.logger.warn(
      { apiVersion, kind, field: path },
      `the API server does not keep ${path} of a ${kind}: ${update}`,
    );
  }

  #foreign(key: string, object: ManagedObject, signal: AbortSignal): void {
    const { logger } = this.#options;
    const message = `${object.kind} ${nameOf(object)} was not made by clusterset-doh and stays as it is; delete it, or hand it over: kubectl label it app.kubernetes.io/managed-by=clusterset-doh`;
    if (this.#events.record(object, "Warning", "NotManaged", message, signal)) logger.warn({ key }, message);
  }
}

/**
 * A namespace that ends or has gone: there is nothing to do in it.
 * @param isThere whether the namespace is there
 */
export function isExpected(error: unknown, isThere: boolean): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.causes.includes("NamespaceTerminating") || (error.status === 404 && !isThere);
}

/** The pauses between attempts at one key, milliseconds. */
export const RETRY_LIMITS: BackoffLimits = { first: 500, most: 60_000 };
/** Milliseconds until an object that the API server calls invalid is tried again without a change. */
export const INVALID_PAUSE = 10 * 60_000;
/** Characters by which two failures of a key differ. */
const MOST_COMPARED = 300;
/** Keys that are worked on at once: with 80 ms for each write, enough for `WRITE_LIMITS`. */
export const AT_ONCE = 16;

/**
 * Keys to work on: each at most once at a time, and again if it was touched meanwhile. A failed key waits;
 * others do not wait for it.
 */
export class WorkQueue {
  readonly #work: (key: string) => Promise<void>;
  readonly #failed: (key: string, error: unknown, failures: number, isNews: boolean) => void;
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  /** How often a key has failed in a row, and why the last time. */
  readonly #failures = new Map<string, { readonly count: number; readonly message: string }>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #isOpen = false;

  /**
   * @param failed called with each error of `work`, how often the key has failed in a row, and whether the
   * last failure was another one
   */
  constructor(
    work: (key: string) => Promise<void>,
    failed: (key: string, error: unknown, failures: number, isNews: boolean) => void,
  ) {
    this.#work = work;
    this.#failed = failed;
  }

  /** Keys that wait or are worked on. */
  get size(): number {
    return this.#waiting.size + this.#running.size + this.#timers.size;
  }

  /** Begins to work; keys that were added before are taken now. */
  open(): void {
    this.#isOpen = true;
    this.#next();
  }

  /** Takes no further key. */
  close(): void {
    this.#isOpen = false;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#waiting.clear();
  }

  add(key: string): void {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
    this.#waiting.add(key);
    this.#next();
  }

  #next(): void {
    if (!this.#isOpen) return;
    for (const key of this.#waiting) {
      if (this.#running.size >= AT_ONCE) return;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      this.#running.add(key);
      void this.#run(key);
    }
  }

  async #run(key: string): Promise<void> {
    try {
      await this.#work(key);
      this.#failures.delete(key);
    } catch (error) {
      const before = this.#failures.get(key);
      const count = (before?.count ?? 0) + 1;
      const message = String(error).slice(0, MOST_COMPARED);
      this.#failures.set(key, { count, message });
      this.#failed(key, error, count, message !== before?.message);
      const isInvalid = error instanceof ApiError && error.status === 422;
      if (this.#isOpen && !this.#waiting.has(key))
        this.#timers.set(
          key,
          setTimeout(() => this.add(key), isInvalid ? INVALID_PAUSE : backoffPause(count, RETRY_LIMITS)),
        );
    }
    this.#running.delete(key);
    this.#next();
  }
}
