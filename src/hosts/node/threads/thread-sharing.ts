import type { MessagePort } from "node:worker_threads";
import type { PrimaryParts } from "../../../assembly/platform.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import type { ClusterMeta } from "../../../database/schema.ts";
import type { StubRegistration } from "../../../forward/stub-zones.ts";
import { type Clock, unixTime } from "../../../gateway/clock.ts";
import type { Gateway } from "../../../gateway/gateway.ts";
import type { MetricSnapshot, SnapshotSource } from "../../../http/metrics/metric.ts";
import type { ThreadCounts } from "../../../http/metrics/table.ts";
import type { SharedLimitMemory, SharedLimits } from "../../../limits/shared.ts";
import type { Answering } from "../gateway/answering.ts";
import type { ServerTls } from "../tls.ts";
import { ThreadMetrics } from "./thread-metrics.ts";

/** Tells answering threads that the database has changed, and what they do not find there. */
export class ThreadSharing {
  readonly signals = new ThreadSignals();
  readonly #clock: Clock;
  #gateway: Gateway | undefined;
  readonly #held = new Map<string, ClusterMeta>();
  /** The metrics of all threads, once there are those of this one. */
  metrics: ThreadMetrics | undefined;
  /** Threads that ended and were replaced. */
  replaced = 0;
  /** Posts to every thread. Default, before there are threads: nothing. */
  post: (state: ThreadState) => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * What the gateway is opened with. It calls `onChange` when a change is durable, before it is acknowledged.
   */
  get parts(): Required<Pick<PrimaryParts, "onOpened" | "onChange" | "onLeaseHeld">> {
    return {
      onOpened: (gateway) => {
        this.#gateway = gateway;
        this.#changed();
      },
      onChange: () => this.#changed(),
      onLeaseHeld: (clusterId, meta) => {
        this.#held.set(clusterId, meta);
        this.post({ held: new Map([[clusterId, meta]]) });
      },
    };
  }

  /** What is posted to a thread that starts, beside registered federations. */
  get state(): ThreadState {
    return { held: this.#held };
  }

  /** Shares what depends on the time, too. */
  readonly beat = (): void => {
    this.#share();
    this.signals.shareBehind(this.#gateway?.behindSince());
  };

  /** A thread found a damaged row. */
  readonly damaged = (cluster: string): void => this.#gateway?.damaged({ cluster });

  /** Makes the metrics of this thread those of the process. */
  measure(own: SnapshotSource): SnapshotSource {
    this.metrics = new ThreadMetrics(own);
    return { ...own, contentType: own.contentType, render: () => this.metrics!.render() };
  }

  /** What is known of that many threads. */
  counts(limits: SharedLimits, threads: number): ThreadCounts {
    return {
      connections: () => limits.byThread("connections").slice(0, threads),
      replaced: () => this.replaced,
    };
  }

  #changed(): void {
    this.#share();
    this.signals.post();
  }

  #share(): void {
    const serial = this.#gateway?.state.serial ?? 0;
    // Where several gateways share a log, their wall clock is its clock.
    const wallOffset = this.#gateway?.unixTime(0) ?? unixTime(this.#clock, 0);
    this.signals.share({ serial, wallOffset });
  }
}

/** The words of the shared memory. */
const Word = { posted: 0, heartbeat: 1, behind: 2, serial: 3 } as const;
/** Where a word of 64 bits follows them. */
const LONG_WORD = 16;
const BYTES = LONG_WORD + BigInt64Array.BYTES_PER_ELEMENT;
/** How often the main thread shows that it runs, in milliseconds. */
const HEARTBEAT = 1000;
/**
 * For so long the main thread may stand still before answers say that they are stale, in milliseconds: as
 * long as those of an isolate whose primary does not answer.
 */
const MOST_SILENCE = 4000;

/** What the main thread knows and the database does not have. */
interface SharedFacts {
  /** SOA serial of the newest change. */
  readonly serial: number;
  /** See `Clock.wallOffset`: threads that have the same one agree on when a lease expires. */
  readonly wallOffset: number;
}

/**
 * Words that the main thread writes and answering threads read with each query, which costs less than a
 * message.
 */
export class ThreadSignals {
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #wallOffset: BigInt64Array<SharedArrayBuffer>;

  constructor(memory = new SharedArrayBuffer(BYTES)) {
    this.memory = memory;
    this.#words = new Int32Array(memory, 0, LONG_WORD / Int32Array.BYTES_PER_ELEMENT);
    this.#wallOffset = new BigInt64Array(memory, LONG_WORD, 1);
  }

  /**
   * Changes with every change of the database, and with every state once all threads have it; it begins anew
   * at the smallest number after the greatest one.
   */
  get posted(): number {
    return Atomics.load(this.#words, Word.posted);
  }

  /** To be called after the database changed, or after a message was posted to every thread. */
  post(): void {
    Atomics.add(this.#words, Word.posted, 1);
  }

  get serial(): number {
    return Atomics.load(this.#words, Word.serial) >>> 0;
  }

  get wallOffset(): number {
    return Number(Atomics.load(this.#wallOffset, 0));
  }

  /** Shares facts, before `post`. */
  share({ serial, wallOffset }: SharedFacts): void {
    Atomics.store(this.#words, Word.serial, serial | 0);
    Atomics.store(this.#wallOffset, 0, BigInt(Math.round(wallOffset)));
  }

  /** Shares since when a change waits that answers should have; undefined for none. */
  shareBehind(since: number | undefined): void {
    Atomics.store(this.#words, Word.behind, since === undefined ? 0 : secondsOf(since));
  }

  /**
   * Since when answers may lack something, to a second: a change waits, or the main thread stands still.
   * @param now by the gateway's clock
   */
  behindSince(now: number): number | undefined {
    if (!this.isFresh(now)) return now - this.silence(now);
    const since = Atomics.load(this.#words, Word.behind);
    return since === 0 ? undefined : now - ((secondsOf(now) - since) | 0) * 1000;
  }

  /** Shows that the main thread runs. @param now by the gateway's clock */
  beat(now: number): void {
    Atomics.store(this.#words, Word.heartbeat, secondsOf(now));
  }

  /** Whether the main thread ran lately. @param now by the gateway's clock */
  isFresh(now: number): boolean {
    return this.silence(now) <= MOST_SILENCE;
  }

  /** Milliseconds since the main thread last ran, to a second. @param now by the gateway's clock */
  silence(now: number): number {
    const seconds = (secondsOf(now) - Atomics.load(this.#words, Word.heartbeat)) | 0;
    return seconds <= HEARTBEAT / 1000 ? 0 : seconds * 1000;
  }

  /**
   * Shows from now on that the main thread runs.
   * @param beaten called each time.
   * @returns a function that ends it
   */
  start(clock: () => number, beaten: () => void): () => void {
    this.beat(clock());
    const timer = setInterval(() => {
      this.beat(clock());
      beaten();
    }, HEARTBEAT).unref();
    return () => clearInterval(timer);
  }
}

function secondsOf(now: number): number {
  return Math.floor(now / 1000) | 0;
}

/** What an answering thread starts with. */
export interface ThreadStart {
  /** The number of the thread, from 0. */
  readonly index: number;
  readonly config: ServeConfig;
  readonly tls: ServerTls | undefined;
  /** The file of the database. */
  readonly database: string;
  /** Whether other threads listen on the same ports. */
  readonly sharesPorts: boolean;
  /** The memory of limits, in which `index` is the number of the thread. */
  readonly limitMemory: SharedLimitMemory;
  /** See `ThreadSignals`. */
  readonly signals: SharedArrayBuffer;
  /** The gateway's clock at an instant of `process.hrtime`, which all threads share. */
  readonly clock: { readonly now: number; readonly hrtime: bigint };
  /** `ThreadState`, in order. */
  readonly states: MessagePort;
  /** `HandedRequest` to the main thread, `HandedResponse` back. */
  readonly requests: MessagePort;
}

/** What the main thread posts whenever it changes. */
export interface ThreadState {
  /** All registered federations. */
  readonly stubs?: readonly StubRegistration[];
  /** Leases that go on although the disk did not take their renewal, in times of the gateway's clock. */
  readonly held?: ReadonlyMap<string, ClusterMeta>;
}

/** What the main thread calls in an answering thread. */
export interface ThreadMethods {
  /** Opens all that it answers with. @throws {UsageError} if the settings cannot be used */
  prepare(start: ThreadStart): Promise<void>;
  /**
   * @param config its addresses have the ports that other threads listen on already
   * @throws {UsageError} if it cannot listen on an address
   */
  listen(config: ServeConfig): Promise<Pick<Answering, "port" | "places">>;
  renew(tls: ServerTls): Promise<void>;
  /** Resolves when its last connection has ended. @param grace for requests in progress, in milliseconds */
  stop(grace: number): Promise<void>;
  /** Its metrics. */
  measure(): Promise<readonly MetricSnapshot[]>;
}

/** A call of one of them. */
export interface ThreadCall {
  readonly id: number;
  readonly method: keyof ThreadMethods;
  readonly argument: unknown;
}

/** What an answering thread posts. */
export type ThreadMessage =
  /** The answer to a call. */
  | { readonly id: number; readonly value: unknown }
  /** The call failed, because of the settings if `isUsage`. */
  | { readonly id: number; readonly failure: string; readonly isUsage: boolean }
  /** The cluster of a damaged row that it read. */
  | { readonly damaged: string }
  /** Why it cannot read the database any more. */
  | { readonly unreadable: string };
