import type { KubernetesObject } from "../extract/objects.ts";
import { describe } from "../sync/api-failures.ts";
import type { ApiServer } from "../sync/api-server.ts";
import type { ControlStatus } from "../sync/health/worker-status.ts";
import type { SyncLogger } from "../sync/object-source.ts";
import type { GatewayRequests } from "../sync/push/gateway-requests.ts";
import { DesiredState } from "./desired/desired-state.ts";
import { followDesiredState } from "./desired/desired-stream.ts";
import { EventRecorder } from "./events.ts";
import { Leader } from "./leader.ts";
import { toTime } from "./objects/times.ts";
import type { ManagedObject } from "./objects/wanted-object.ts";
import { ApiWriter, WriteError } from "./reconcile/api-writer.ts";
import { ClusterObjects } from "./reconcile/cluster-objects.ts";
import { reconcileService, type Writes } from "./reconcile/reconcile-service.ts";
import { WorkQueue } from "./reconcile/work-queue.ts";

/** What the control plane of one cluster needs. */
export interface ControllerOptions {
  readonly clusterId: string;
  readonly api: () => ApiServer;
  readonly gateways: readonly GatewayRequests[];
  /** Seconds: how long a cluster that no gateway has named counts as live after a start. */
  readonly leaseSeconds: number;
  /** Where the Lease is. */
  readonly namespace: string;
  readonly identity: string;
  /** The served version of the MCS API; undefined while its CRDs are missing. */
  readonly version: () => string | undefined;
  /** Whether every resource was listed once. */
  readonly isComplete: () => boolean;
  readonly logger: SyncLogger;
}

/** The next step where the CRDs are missing. */
export const NO_CRDS =
  "the API server does not serve serviceimports.multicluster.x-k8s.io: install the CRDs of the MCS API (sigs.k8s.io/mcs-api), v0.5.0 or newer";
const LEASE_NAME = "clusterset-doh-control";

/** KEP-1645's mcs-controller of one cluster: brings its objects to what the gateway desires, while this process leads. */
export class Controller {
  readonly objects: ClusterObjects;
  readonly #options: ControllerOptions;
  #state: DesiredState;
  readonly #writer: ApiWriter;
  readonly #events: EventRecorder;
  #queue: WorkQueue | undefined;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#state = this.#unknown();
    this.#writer = new ApiWriter(options.api);
    this.#events = new EventRecorder(this.#writer, options.identity, options.logger);
    this.objects = new ClusterObjects((key) => this.#touch(key));
  }

  status(): ControlStatus {
    return { leads: this.#queue !== undefined, pending: this.#queue?.size ?? 0, writes: this.#writer.counts };
  }

  upsert(object: KubernetesObject): void {
    this.objects.upsert(object);
  }

  delete(object: KubernetesObject): void {
    this.objects.delete(object);
  }

  /** The source has reported objects, or became complete. */
  changed(): void {
    if (this.#isReady()) this.#queue?.open();
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { namespace, identity, logger } = this.#options;
    const leader = new Leader({ namespace, name: LEASE_NAME, identity, writer: this.#writer, logger });
    await leader.run((leading) => this.#lead(leading), signal);
    await this.#writer.close();
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { clusterId, gateways, logger } = this.#options;
    const queue = new WorkQueue(
      (key) => this.#reconcile(key, signal),
      (key, error, failures) => {
        if (signal.aborted || isExpected(error)) return;
        logger.warn({ key, failures }, `cannot be brought to the desired state: ${describe(error)}`);
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
    await followDesiredState({ clusterId, gateways, state, touched, logger }, signal);
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

  #isReady(): boolean {
    return this.#options.isComplete() && this.#state.isUsable;
  }

  #allKeys(): Set<string> {
    return new Set([...this.#state.keys(), ...this.objects.keys()]);
  }

  #touch(key: string): void {
    const queue = this.#queue;
    if (queue === undefined) return;
    if (!key.endsWith("/")) queue.add(key);
    else for (const one of this.#allKeys()) if (one.startsWith(key)) queue.add(one);
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { clusterId } = this.#options;
    const version = this.#options.version();
    if (version === undefined) throw new Error(NO_CRDS);
    const writer = this.#writer;
    const writes: Writes = {
      apply: (object, subresource) => writer.apply(object, signal, subresource),
      merge: (object, subresource) => writer.merge(object, signal, subresource),
      read: (object) => writer.read(object, signal),
      remove: (object) => writer.remove(object, signal),
      foreign: (object) => this.#foreign(key, object, signal),
      changed: (object, { type, status, reason, message }) => {
        const isGood = status === (type === "Conflict" ? "False" : "True");
        this.#events.record(
          object,
          isGood ? "Normal" : "Warning",
          reason.split(",")[0]!,
          `${type}: ${message}`,
          signal,
        );
      },
    };
    const now = () => toTime(Date.now());
    await reconcileService(
      { clusterId, version, state: this.#state, objects: this.objects, writes, now },
      key,
    );
  }

  #foreign(key: string, object: ManagedObject, signal: AbortSignal): void {
    const { logger } = this.#options;
    const { kind, metadata } = object;
    const message = `${kind} ${metadata.namespace}/${metadata.name} was not made by clusterset-doh and stays as it is; delete it, or hand it over: kubectl label it app.kubernetes.io/managed-by=clusterset-doh`;
    if (this.#events.record(object, "Warning", "NotManaged", message, signal)) logger.warn({ key }, message);
  }
}

/** A namespace that ends or has gone: there is nothing to do in it. */
function isExpected(error: unknown): boolean {
  if (!(error instanceof WriteError)) return false;
  return error.causes.includes("NamespaceTerminating") || error.status === 404;
}
