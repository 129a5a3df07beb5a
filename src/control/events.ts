import type { SyncLogger } from "../sync/object-source.ts";
import { MANAGER, shortHash } from "./objects/names.ts";
import { toMicroTime } from "./objects/times.ts";
import type { ManagedObject } from "./objects/wanted-object.ts";
import type { ApiWriter } from "./reconcile/api-writer.ts";

/** Objects whose last event is remembered. */
const MOST_REMEMBERED = 10_000;

/** Writes Events for `kubectl describe`: one for each new message of an object, none for what stays as it is. */
export class EventRecorder {
  readonly #writer: ApiWriter;
  readonly #identity: string;
  readonly #logger: SyncLogger;
  readonly #last = new Map<string, string>();

  constructor(writer: ApiWriter, identity: string, logger: SyncLogger) {
    this.#writer = writer;
    this.#identity = identity;
    this.#logger = logger;
  }

  /** @returns false if the object's last event said the same */
  record(
    object: ManagedObject,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
    signal: AbortSignal,
  ): boolean {
    const { apiVersion, kind, metadata } = object;
    const about = `${kind}/${metadata.namespace}/${metadata.name}/${metadata.uid ?? ""}/${reason}`;
    if (this.#last.get(about) === message) return false;
    if (this.#last.size >= MOST_REMEMBERED) this.#last.clear();
    this.#last.set(about, message);
    const now = toMicroTime(Date.now());
    const event: ManagedObject = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: {
        // Those about objects of the cluster are there, too.
        namespace: metadata.namespace || "default",
        name: `${metadata.name.slice(0, 200)}.${shortHash(`${about}\0${message}\0${now}`)}`,
      },
      eventTime: now,
      reportingController: MANAGER,
      reportingInstance: this.#identity,
      action: "Reconcile",
      type,
      reason,
      // The API's bound is 1024 bytes.
      note: message.slice(0, 500),
      regarding: { apiVersion, kind, namespace: metadata.namespace, name: metadata.name, uid: metadata.uid },
    };
    this.#writer.create(event, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#logger.warn({ reason }, `an Event cannot be written: ${String(error)}`);
    });
    return true;
  }
}
