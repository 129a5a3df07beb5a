import { LRUCache } from "lru-cache";
import { OWN_MANAGER } from "../../extract/objects.ts";
import type { SyncLogger } from "../object-source.ts";
import { Budget, type BudgetLimits, pause } from "../pacing.ts";
import type { ApiWriter } from "./api-writer.ts";
import { type ManagedObject, nameOf, shortHash, toMicroTime } from "./objects.ts";

/** Events a second, on average and at once: beside the writes of objects, which never wait for them. */
export const EVENT_LIMITS: BudgetLimits = { perSecond: 10, burst: 100 };
/** Events that wait, as in client-go; above that they are dropped. Half of the room is for warnings alone. */
export const MOST_WAITING = { Normal: 500, Warning: 1000 };
/**
 * Events about one object: as client-go allows them, so that one that changes all the time leaves room for
 * others.
 */
export const SPAM_LIMITS: BudgetLimits = { perSecond: 1 / 300, burst: 25 };
/** Objects whose budget is remembered: those with the newest Events. */
const MOST_OBJECTS = 4096;
/** Objects whose last event is remembered. */
const MOST_REMEMBERED = 10_000;

/**
 * Why an Event was not written: too many about its object, too many that wait, or the API server did not take
 * it.
 */
export type DropReason = "object" | "queue" | "failed";

/**
 * Writes Events for `kubectl describe`: one for each new message of an object, none for what stays as it is.
 */
export class EventRecorder {
  /** Events that were not written. */
  readonly dropped = new Map<DropReason, number>();
  readonly #writer: Pick<ApiWriter, "create">;
  readonly #identity: string;
  readonly #logger: SyncLogger;
  readonly #last = new Map<string, string>();
  readonly #ofObjects = new LRUCache<string, Budget>({ max: MOST_OBJECTS });
  readonly #budget = new Budget(EVENT_LIMITS);
  readonly #waiting: { readonly event: ManagedObject; readonly signal: AbortSignal }[] = [];
  #isWriting = false;

  constructor(writer: Pick<ApiWriter, "create">, identity: string, logger: SyncLogger) {
    this.#writer = writer;
    this.#identity = identity;
    this.#logger = logger;
  }

  /**
   * Writes an Event before long, if there are not too many.
   * @returns false if the object's last event said the same
   */
  record(
    object: ManagedObject,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
    signal: AbortSignal,
  ): boolean {
    const about = `${object.kind}/${nameOf(object)}/${object.metadata.uid ?? ""}`;
    const topic = `${about}/${reason}`;
    if (this.#last.get(topic) === message) return false;
    if (this.#last.size >= MOST_REMEMBERED) this.#last.clear();
    this.#last.set(topic, message);
    if (this.#waiting.length >= MOST_WAITING[type]) this.#drop("queue");
    else if (!this.#admits(about, performance.now())) this.#drop("object");
    else {
      this.#waiting.push({ event: this.#event(object, type, reason, message), signal });
      if (!this.#isWriting) void this.#write();
    }
    return true;
  }

  /**
   * Whether one more Event about the object is within its bounds.
   * @param now milliseconds of a monotonic clock
   */
  #admits(object: string, now: number): boolean {
    const budget = this.#ofObjects.get(object) ?? new Budget(SPAM_LIMITS);
    this.#ofObjects.set(object, budget);
    if (budget.wait(now) > 0) return false;
    budget.spend(now);
    return true;
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const { event, signal } = next;
      const wait = this.#budget.wait(performance.now());
      const isOn = wait > 0 ? await pause(wait, signal) : !signal.aborted;
      this.#waiting.shift();
      if (!isOn) continue;
      this.#budget.spend(performance.now());
      await this.#writer.create(event, signal).catch((error: unknown) => {
        if (signal.aborted) return;
        this.#drop("failed");
        this.#logger.warn({ reason: event.reason }, `an Event cannot be written: ${String(error)}`);
      });
    }
    this.#isWriting = false;
  }

  #drop(reason: DropReason): void {
    this.dropped.set(reason, (this.dropped.get(reason) ?? 0) + 1);
  }

  #event(
    { apiVersion, kind, metadata }: ManagedObject,
    type: string,
    reason: string,
    message: string,
  ): ManagedObject {
    const { namespace, name, uid } = metadata;
    const now = toMicroTime(Date.now());
    return {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: {
        // Those about objects of the cluster are there, too.
        namespace: namespace || "default",
        name: `${name.slice(0, 200)}.${shortHash(`${kind}\0${uid}\0${reason}\0${message}\0${now}`)}`,
      },
      eventTime: now,
      reportingController: OWN_MANAGER,
      reportingInstance: this.#identity,
      action: "Reconcile",
      type,
      reason,
      // The API's bound is 1024 bytes; a character that is cut becomes three.
      note: Buffer.from(message).subarray(0, 1021).toString(),
      regarding: { apiVersion, kind, namespace, name, uid },
    };
  }
}
