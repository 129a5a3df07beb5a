import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterSnapshot } from "../../../../../src/snapshot/schema.ts";
import { GatewayError } from "../../../../../src/worker/gateway-error.ts";
import { GatewayRequests } from "../../../../../src/worker/gateway-requests.ts";
import { DEADLINE } from "../../../../deadline.ts";
import { diffSnapshots } from "../../../../snapshot/diff-snapshots.ts";
import type { Random } from "../../../abuse/harness/random.ts";
import type { Member } from "./gateways.ts";
import { clusterState } from "./push-requests.ts";
import type { ClusterHistory, PushedState } from "./pushed-states.ts";

/** Milliseconds for one request, so that a halted gateway does not hold up a worker. */
const TIMEOUT = 3000;
/** The longest pause after a request that failed, in milliseconds. */
const MOST_PAUSE = 400;
/** Between two requests, in milliseconds: below the gateways' limit of 50 a second. */
const PAUSE = 40;

/** A full push follows each of them; a gateway that is behind rejects that, too, and another one gets it. */
const MOST_MISMATCHES = 10;

/** Addresses that all clusters report, one at a time. */
const CONTESTED = 3;

/** What a simulated worker says of itself. */
export interface WorkerOptions {
  readonly history: ClusterHistory;
  readonly members: readonly Member[];
  readonly random: Random;
  readonly leaseSeconds: number;
  /** Called with what should never happen. */
  readonly report: (wrong: string) => void;
}

/**
 * A worker of a cluster that goes on changing. It pushes to one gateway of many with the real push protocol:
 * deltas, a full push after 409, and to another gateway when one is gone or cannot store.
 */
export class SimulatedWorker {
  readonly history: ClusterHistory;
  readonly #options: WorkerOptions;
  readonly #requests: readonly GatewayRequests[];
  #at: number;
  #wanted: PushedState;
  /** What a delta builds on: the last acknowledgement. */
  #base: { readonly state: PushedState; readonly generation: number } | undefined;
  /** The newest generation that a gateway named. */
  #known: number | undefined;
  #failures = 0;
  /** One after the other. */
  #mismatches = 0;
  #running: Promise<void> | undefined;
  #isGoing = false;
  /** Requests that ended so far. */
  attempts = 0;

  constructor(options: WorkerOptions) {
    const { history, members, random } = options;
    this.#options = options;
    this.history = history;
    this.#wanted = history.newest;
    this.#at = random.below(members.length);
    this.#requests = members.map(
      ({ gateway }) =>
        new GatewayRequests({ gateway: gateway.url, token: gateway.tokenFor(history.clusterId) }),
    );
  }

  /** Pushes a first state. @throws {Error} if no gateway takes it within a generous time */
  begin(): Promise<void> {
    this.#change();
    return this.settle();
  }

  /** Goes on changing the cluster and pushing it, until `settle` or `stop`. */
  start(): void {
    this.#isGoing = true;
    this.#running = this.#run();
  }

  /**
   * Stops changing, and pushes until a gateway has acknowledged the last state, and then a renewal of it,
   * which shows that it is not lost.
   * @throws {Error} if none does within a generous time
   */
  async settle(): Promise<void> {
    await this.#pause();
    const end = Date.now() + DEADLINE;
    for (let isSettled = false; ; ) {
      if (Date.now() > end) throw new Error(`no gateway takes ${this.history.clusterId}: ${this.#lastError}`);
      const isAcknowledged = await this.#send(isSettled ? "renew" : "push");
      if (isAcknowledged && isSettled) return;
      isSettled = isAcknowledged;
    }
  }

  async stop(): Promise<void> {
    await this.#pause();
    await Promise.all(this.#requests.map((requests) => requests.close()));
  }

  #lastError: unknown;

  /** Whether the last acknowledgement was of the wanted state. */
  get #isSettled(): boolean {
    return this.#wanted.addresses.length === 0 || this.#base?.state === this.#wanted;
  }

  async #pause(): Promise<void> {
    this.#isGoing = false;
    await this.#running;
  }

  async #run(): Promise<void> {
    const { random } = this.#options;
    while (this.#isGoing) {
      const isAcknowledged = this.#wanted.isAcknowledged && this.#isSettled;
      const isRenewal = isAcknowledged && this.#wanted.addresses.length > 0 && random.once(4);
      if (!isRenewal && (isAcknowledged || random.once(8))) this.#change();
      if (random.once(20)) this.#move();
      await this.#send(isRenewal ? "renew" : "push");
    }
  }

  /** The cluster becomes another one: an address that it never had before, and some that it always has. */
  #change(): void {
    const { random } = this.#options;
    const { history } = this;
    if (this.#wanted.addresses.length > 0 && random.once(12)) {
      this.#wanted = history.add([]);
      return;
    }
    const index = history.states.length;
    const lasting = [1, 2, 3].filter(() => random.once(2)).map((host) => `10.${history.number}.255.${host}`);
    this.#wanted = history.add([`10.${history.number}.${index >> 8}.${index & 255}`, ...lasting]);
  }

  #move(): void {
    const { members, random } = this.#options;
    if (members.length > 1) this.#at = (this.#at + 1 + random.below(members.length - 1)) % members.length;
  }

  /** Sends one request, and pauses. @returns whether a gateway acknowledged it */
  async #send(kind: "push" | "renew"): Promise<boolean> {
    const state = this.#wanted;
    const { losses } = this.history;
    state.sent();
    try {
      await this.#request(kind, state);
      this.#failures = 0;
      this.#mismatches = 0;
      this.history.acknowledge(state, losses);
      this.#options.members[this.#at]!.view.acknowledged(this.history, state, losses);
      await sleep(PAUSE);
      return true;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.#lastError = error.message;
      await this.#fail(error, state, losses);
      return false;
    } finally {
      this.attempts++;
    }
  }

  async #request(kind: "push" | "renew", state: PushedState): Promise<void> {
    const { leaseSeconds } = this.#options;
    const requests = this.#requests[this.#at]!;
    const { clusterId } = this.history;
    const terms = { leaseSeconds, report: {} };
    const limit = AbortSignal.timeout(TIMEOUT);
    if (state.addresses.length === 0) {
      await requests.leave(clusterId, limit, this.#known);
      this.#base = undefined;
      return;
    }
    const base = this.#base;
    const patch = base && diffSnapshots(this.#snapshotOf(base.state), this.#snapshotOf(state));
    let generation: number;
    if (base === undefined)
      generation = await requests.replace(this.#snapshotOf(state), terms, limit, this.#known);
    else if (kind === "renew" || patch === undefined)
      generation = await requests.renew(clusterId, base.generation, terms, limit);
    else generation = await requests.patch(clusterId, base.generation, patch, terms, limit);
    this.#base = { state, generation };
    this.#known = generation;
  }

  async #fail(error: GatewayError, state: PushedState, losses: number): Promise<void> {
    const { remedy, status, code, message } = error;
    if (remedy === "resync") {
      // A gateway that is behind names an older one.
      this.#known = Math.max(this.#known ?? 0, error.currentGeneration ?? 0) || undefined;
      // Of an entry that the engine lost another gateway may have had the rows, and have added them again.
      if (!this.history.hasLostSince(losses)) state.rejected();
      if (++this.#mismatches > MOST_MISMATCHES)
        this.#options.report(`${this.history.clusterId} gets ${message}, also to a full push`);
      if (this.#base === undefined) this.#move();
      this.#base = undefined;
      return;
    }
    if (status !== undefined) {
      // It may be stored all the same: the reply of the engine was lost.
      if (code !== "STORE_FAILED") state.rejected();
      if (status < 500 && status !== 429) this.#options.report(`${this.history.clusterId} gets ${message}`);
    }
    this.#move();
    await sleep(Math.min(MOST_PAUSE, PAUSE * 2 ** this.#failures++));
  }

  #snapshotOf({ addresses, index }: PushedState): ClusterSnapshot {
    const { clusterId, number } = this.history;
    const exportedAt = `2024-01-0${number}T00:00:00Z`;
    // Which cluster had such an address first is in the roots of all gateways.
    const contested = { exportedAt, addresses: [`10.200.0.${index % CONTESTED}`] };
    return clusterState(
      clusterId,
      addresses.length === 0 ? {} : { web: { addresses, exportedAt }, contested },
    );
  }
}
