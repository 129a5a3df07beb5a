/** A state that a simulated cluster wanted, from when on it may be answered. */
export class PushedState {
  /** Grows by 1 with each state of the cluster. */
  readonly index: number;
  /** Of the cluster's service, sorted; none for a cluster that left. */
  readonly addresses: readonly string[];
  #inDoubt = 0;
  #isAcknowledged = false;

  constructor(index: number, addresses: readonly string[]) {
    this.index = index;
    this.addresses = [...addresses].sort();
  }

  get isAcknowledged(): boolean {
    return this.#isAcknowledged;
  }

  /** Whether a gateway may have taken it: it acknowledged it, or did not say that it rejected it. */
  get mayBeTaken(): boolean {
    return this.#isAcknowledged || this.#inDoubt > 0;
  }

  /** A request with it goes out. */
  sent(): void {
    this.#inDoubt++;
  }

  /** A gateway rejected the request: it changed nothing. */
  rejected(): void {
    this.#inDoubt--;
  }

  acknowledged(): void {
    this.#isAcknowledged = true;
  }
}

/**
 * All states of a simulated cluster. Its worker sends one request after the other, so gateways take them in
 * this order.
 */
export class ClusterHistory {
  readonly clusterId: string;
  /** Its addresses are in `10.<number>.0.0/16`. */
  readonly number: number;
  readonly states: PushedState[];
  /** The newest state that was acknowledged. */
  newest: PushedState;
  /** The oldest state that a gateway may have that starts now. */
  floor = 0;
  /** How often the engine began to lose data, or had lost it. */
  losses = 0;
  #isLosing = false;

  constructor(clusterId: string, number: number) {
    this.clusterId = clusterId;
    this.number = number;
    this.newest = new PushedState(0, []);
    this.newest.acknowledged();
    this.states = [this.newest];
  }

  /** Whether the engine has lost something since `losses`, or may be losing it now. */
  hasLostSince(losses: number): boolean {
    return losses !== this.losses || this.#isLosing;
  }

  add(addresses: readonly string[]): PushedState {
    const state = new PushedState(this.states.length, addresses);
    this.states.push(state);
    return state;
  }

  /**
   * @param losses as it was when the request went out: what was acknowledged before the engine lost it may be
   * gone
   */
  acknowledge(state: PushedState, losses: number): void {
    state.acknowledged();
    if (state.index > this.newest.index) this.newest = state;
    if (!this.hasLostSince(losses)) this.floor = Math.max(this.floor, state.index);
  }

  losing(): void {
    this.lost();
    this.#isLosing = true;
  }

  lost(): void {
    this.floor = 0;
    this.losses++;
    this.#isLosing = false;
  }
}

/** The first state that a worker pushes. */
const FIRST = 1;

/** What a gateway may answer to a query that begins now. */
export interface Floors {
  /** For each cluster the oldest state that it may still answer from. */
  readonly of: ReadonlyMap<ClusterHistory, number>;
  /** How often the engine had lost data. */
  readonly losses: number;
}

/**
 * What a gateway may answer: of each cluster a state that it may have taken, none older than one that was
 * acknowledged and that it acknowledged, or answered from before. Which newer states of other gateways it has
 * got is not known: that it gets them in the end is for the caller to check.
 */
export class GatewayView {
  readonly #histories: readonly ClusterHistory[];
  #floors: Map<ClusterHistory, number>;
  #losses = 0;
  #isLosing = false;

  constructor(histories: readonly ClusterHistory[]) {
    this.#histories = histories;
    this.#floors = new Map();
    this.restarted();
  }

  /** A gateway that starts loads everything that was acknowledged, by whichever gateway. */
  restarted(): void {
    this.#floors = new Map(this.#histories.map((history) => [history, history.floor]));
  }

  /**
   * It acknowledged a state: queries that begin now are answered from it, or from a newer one.
   * @param losses as for `ClusterHistory.acknowledge`
   */
  acknowledged(history: ClusterHistory, state: PushedState, losses: number): void {
    if (losses === history.losses) this.#raise(history, state.index);
  }

  /**
   * The engine loses something, at any time until `lost`: meanwhile a gateway may go back also from what it
   * acknowledged, or answered from, since.
   */
  losing(): void {
    this.lost();
    this.#isLosing = true;
  }

  /**
   * The engine lost what it had stored: a gateway that runs may go back to any state before, until the next
   * acknowledgement, but not to none.
   */
  lost(): void {
    this.#floors = new Map(this.#histories.map((history) => [history, FIRST]));
    this.#losses++;
    this.#isLosing = false;
  }

  /** Whether it may know of no cluster, and so have no answer. */
  get mayBeEmpty(): boolean {
    return this.#histories.every((history) => (this.#floors.get(history) ?? 0) === 0);
  }

  /** To be read when a query begins. */
  get floors(): Floors {
    return { of: new Map(this.#floors), losses: this.#losses };
  }

  /**
   * @returns what is wrong with an answer to a query that began with these floors; undefined if nothing is
   */
  judge(floors: Floors, addresses: readonly string[]): string | undefined {
    const left = new Set(addresses);
    for (const history of this.#histories) {
      const own = addresses.filter((address) => address.startsWith(`10.${history.number}.`));
      for (const address of own) left.delete(address);
      const wrong = this.#judgeCluster(history, floors, own.sort());
      if (wrong !== undefined) return wrong;
    }
    return left.size === 0 ? undefined : `answers ${[...left].join(" ")}, which no cluster has`;
  }

  #judgeCluster(
    history: ClusterHistory,
    { of, losses }: Floors,
    addresses: readonly string[],
  ): string | undefined {
    const { clusterId, states } = history;
    const floor = of.get(history) ?? 0;
    const text = addresses.join();
    const isEqual = (state: PushedState) => state.addresses.join() === text;
    for (let index = floor; index < states.length; index++) {
      if (!states[index]!.mayBeTaken || !isEqual(states[index]!)) continue;
      // A state that is not acknowledged may be taken back: a gateway serves a small change while it is
      // stored.
      if (states[index]!.isAcknowledged && losses === this.#losses) this.#raise(history, index);
      return undefined;
    }
    const known = states.findLast(isEqual);
    const found =
      known === undefined
        ? `[${text}], which it never had`
        : `its state ${known.index}${known.mayBeTaken ? "" : ", which was rejected"} [${text}]`;
    return `answers for ${clusterId} from ${found}; its oldest right state is ${floor} [${states[floor]?.addresses}], the newest acknowledged one ${history.newest.index}`;
  }

  #raise(history: ClusterHistory, index: number): void {
    if (!this.#isLosing) this.#floors.set(history, Math.max(index, this.#floors.get(history) ?? 0));
  }
}
