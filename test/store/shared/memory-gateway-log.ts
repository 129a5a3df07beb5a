import { setImmediate } from "node:timers/promises";
import type {
  AddressOrders,
  LogDraft,
  LogFollower,
  SharedCluster,
  SharedFacts,
  SharedLog,
} from "../../../src/store/shared/shared-log.ts";
import { messageOf, StoreError } from "../../../src/store/store-error.ts";
import { type HeldCluster, linesOfCluster } from "./held-state.ts";
import type { MemoryLog } from "./memory-log.ts";

/** An entry of the log, as far as it shows whether the log goes on from it. */
interface Mark {
  readonly position: number;
  readonly id: string;
}

/** A `MemoryLog` as one gateway has it, which tests can cut off. */
export class MemoryGatewayLog implements SharedLog {
  readonly #log: MemoryLog;
  #follower: LogFollower | undefined;
  /** The newest that was applied, and the newest that this gateway has seen. */
  #applied: Mark = { position: 0, id: "" };
  #seen: Mark = { position: 0, id: "" };
  #round: Promise<void> | undefined;
  #isCut = false;
  #saidCut = false;
  /** Until a reload has succeeded. */
  #mustReload = false;
  #isLost = false;
  #isHeld = false;
  #isClosed = false;
  #lostReplies = 0;
  #replies: Promise<void> | undefined;

  constructor(log: MemoryLog) {
    this.#log = log;
  }

  /** Cuts the gateway off. */
  disconnect(): void {
    this.#isCut = true;
    void this.round();
  }

  reconnect(): void {
    this.#isCut = false;
    void this.round();
  }

  /** From now on entries wait, while everything else works. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    void this.round();
  }

  /** The next changes are added, and `append` rejects all the same. */
  loseReplies(count = 1): void {
    this.#lostReplies = count;
  }

  /** From now on changes are added, and `append` waits. @returns ends that */
  delayReplies(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#replies = promise;
    return resolve;
  }

  /** Whether there is something to apply that nothing keeps from being applied. */
  get isBehind(): boolean {
    if (this.#follower === undefined || this.#isClosed || this.#isHeld) return false;
    return this.#isCut
      ? !this.#saidCut
      : this.#saidCut || this.#mustReload || this.#comesNext() !== "nothing";
  }

  async load(): Promise<{ facts: SharedFacts; clusters: AsyncIterable<SharedCluster> }> {
    await this.#pass();
    const { position } = this.#log;
    this.#applied = { position, id: this.#log.idAt(position)! };
    this.#seen = this.#applied;
    const { founding, orders } = this.#log.state;
    return {
      facts: structuredClone({ founding, orders: Object.fromEntries(orders), position }),
      clusters: this.#clusters(),
    };
  }

  async stateOf(clusterId: string): Promise<SharedCluster | undefined> {
    await this.#pass();
    return this.#cluster(clusterId);
  }

  async append(draft: LogDraft): Promise<Mark> {
    await this.#pass();
    const appended = this.#log.append(draft);
    await this.#replies;
    if (this.#lostReplies > 0) {
      this.#lostReplies--;
      throw new StoreError("STORE_FAILED", "the reply is lost");
    }
    this.#see(appended);
    return appended;
  }

  async decide(orders: AddressOrders, before: AddressOrders, position: number): Promise<void> {
    await this.#pass();
    this.#log.decide(orders, before, position);
  }

  follow(position: number, follower: LogFollower): void {
    if (position !== this.#applied.position) throw new RangeError(`${position} was not loaded`);
    this.#follower = follower;
    void this.round();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  /** Applies what there is to apply. */
  round(): Promise<void> {
    this.#round ??= this.#run().finally(() => {
      this.#round = undefined;
      if (this.isBehind) void this.round();
    });
    return this.#round;
  }

  async #run(): Promise<void> {
    while (this.isBehind) {
      await setImmediate();
      const follower = this.#follower!;
      if (this.#isClosed) return;
      if (this.#isCut) return this.#say("ECONNREFUSED");
      const next = this.#comesNext();
      this.#isLost ||= next === "lost";
      this.#mustReload ||= next === "lost" || next === "trimmed";
      try {
        if (this.#mustReload) {
          const { facts, clusters } = await this.load();
          await follower.reload(clusters, facts, this.#isLost);
          this.#mustReload = this.#isLost = false;
        } else if (next === "entry") {
          const position = this.#applied.position + 1;
          const id = this.#log.idAt(position)!;
          await follower.apply(this.#log.entryAt(position)!);
          this.#applied = { position, id };
          this.#see(this.#applied);
        }
        this.#say(undefined);
      } catch (error) {
        this.#say(messageOf(error));
      }
    }
  }

  #comesNext(): "nothing" | "entry" | "trimmed" | "lost" {
    const isThere = ({ position, id }: Mark) => this.#log.idAt(position) === id;
    if (!isThere(this.#seen) || !isThere(this.#applied)) return "lost";
    if (this.#log.position === this.#applied.position) return "nothing";
    return this.#log.entryAt(this.#applied.position + 1) === undefined ? "trimmed" : "entry";
  }

  #say(reason: string | undefined): void {
    if (this.#saidCut === (reason !== undefined)) return;
    this.#saidCut = reason !== undefined;
    this.#follower?.connection(reason);
  }

  #see(mark: Mark): void {
    if (mark.position > this.#seen.position) this.#seen = mark;
  }

  async *#clusters(): AsyncGenerator<SharedCluster> {
    for (const clusterId of [...this.#log.state.clusters.keys()]) {
      await this.#pass();
      const cluster = this.#cluster(clusterId);
      if (cluster !== undefined) yield cluster;
    }
  }

  #cluster(clusterId: string): SharedCluster | undefined {
    const { clusters } = this.#log.state;
    let held = clusters.get(clusterId);
    if (held === undefined) return undefined;
    const { now } = this.#log;
    this.#see(held);
    const read = async function* (log: MemoryGatewayLog) {
      await log.#pass();
      // A cluster that was lost meanwhile has no entries.
      held = log.#log.state.clusters.get(clusterId) ?? { ...held!, meta: undefined, values: new Map() };
      log.#see(held);
      for (const line of linesOfCluster(held)) {
        await log.#pass();
        yield line;
      }
    };
    return sharedCluster(clusterId, () => held!, now, { [Symbol.asyncIterator]: () => read(this) });
  }

  async #pass(): Promise<void> {
    await setImmediate();
    if (this.#isClosed) throw new StoreError("STORE_CLOSED", "the store is closed");
    if (this.#isCut) throw new StoreError("STORE_FAILED", "the log cannot be reached (ECONNREFUSED)");
  }
}

function sharedCluster(
  clusterId: string,
  held: () => HeldCluster,
  now: number,
  lines: SharedCluster["lines"],
): SharedCluster {
  return {
    clusterId,
    lines,
    get position() {
      return held().position;
    },
    get id() {
      return held().id;
    },
    get meta() {
      return held().meta;
    },
    get gone() {
      return held().gone;
    },
    get elapsed() {
      return now - held().renewedAt;
    },
    get sight() {
      return structuredClone(held().sight);
    },
  };
}
