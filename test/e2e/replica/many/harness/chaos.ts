import { isDeepStrictEqual } from "node:util";
import { Random } from "../../../abuse/harness/random.ts";
import { waitFor } from "../../../servers/wait.ts";
import { Gateways, type GatewaysOptions } from "./gateways.ts";
import type { Member, Replica } from "./member.ts";
import { ClusterHistory } from "./pushed-states.ts";
import { addressesOf, Querier } from "./querier.ts";
import { SimulatedWorker } from "./simulated-worker.ts";

/**
 * Requests of all workers together, and right answers of each gateway that runs, until a fault has lasted
 * long enough.
 */
const REQUESTS = 12;
const ANSWERS = 12;
/** Longer than any lease must last without an engine. */
const LEASE_SECONDS = 600;

/** What follows from one fault is the same again and again. */
const MOST_REPORTS = 5;

/** How a world of gateways, workers and clients is made. */
export interface ChaosOptions extends Omit<GatewaysOptions, "histories"> {
  /** The newest entries of the log, for reports. Default: none. */
  readonly readLog?: () => Promise<readonly string[]>;
  readonly clusters: number;
  readonly seed: number;
}

/**
 * Gateways that share an engine, workers that push to any of them, and clients that ask each of them all the
 * time.
 */
export class Chaos {
  readonly gateways: Gateways;
  readonly histories: readonly ClusterHistory[];
  readonly workers: readonly SimulatedWorker[];
  readonly random: Random;
  readonly #queriers: readonly Querier[];
  /** What went wrong so far, with what was done before it. */
  readonly wrong: string[];
  readonly #done: string[];
  readonly #readLog: () => Promise<readonly string[]>;

  private constructor(
    parts: Pick<Chaos, "gateways" | "histories" | "workers" | "random" | "wrong">,
    queriers: readonly Querier[],
    done: string[],
    readLog: () => Promise<readonly string[]>,
  ) {
    this.#readLog = readLog;
    ({
      gateways: this.gateways,
      histories: this.histories,
      workers: this.workers,
      random: this.random,
      wrong: this.wrong,
    } = parts);
    this.#queriers = queriers;
    this.#done = done;
  }

  static async start({ clusters, seed, readLog = async () => [], ...options }: ChaosOptions): Promise<Chaos> {
    const random = new Random(seed);
    const histories = Array.from(
      { length: clusters },
      (_, index) => new ClusterHistory(`cluster-${index + 1}`, index + 1),
    );
    const gateways = await Gateways.start({ ...options, histories });
    const { members } = gateways;
    const wrong: string[] = [];
    const done: string[] = [];
    const report = (text: string) => {
      if (wrong.length < MOST_REPORTS)
        wrong.push(`${new Date().toISOString()}: ${text} (after: ${done.slice(-8).join("; ")})`);
    };
    const workers = histories.map(
      (history) => new SimulatedWorker({ history, members, random, leaseSeconds: LEASE_SECONDS, report }),
    );
    // Nothing is answered before the first push: no failed query counts until then.
    for (const worker of workers) await worker.begin();
    const chaos = new Chaos({ gateways, histories, workers, random, wrong }, [], done, readLog);
    await chaos.#converge();
    const queriers = members.map((member) => new Querier(member, report));
    return new Chaos({ gateways, histories, workers, random, wrong }, queriers, done, readLog);
  }

  /** Notes what is done, for reports. */
  note(text: string): void {
    this.#done.push(text);
  }

  /** Waits until workers and clients have seen some of what is so now. */
  async meet(): Promise<void> {
    const before = this.#seen();
    const epochs = this.#epochs();
    await waitFor("requests and answers meanwhile", () => {
      if (this.wrong.length > 0) return true;
      const now = this.#seen();
      const isAsked = this.#queriers.every(
        ({ member }, index) =>
          !member.isRunning ||
          member.epoch !== epochs[index] ||
          now.answers[index]! - before.answers[index]! >= ANSWERS,
      );
      return now.requests - before.requests >= REQUESTS && isAsked;
    });
  }

  startWorkers(): void {
    for (const worker of this.workers) worker.start();
  }

  /**
   * Stops changes, and waits until all gateways answer alike, from the newest states.
   * @throws {Error} where they do not
   */
  async settle(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.settle()));
    await this.#converge();
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
    await Promise.all(this.#queriers.map((querier) => querier.stop()));
    await this.gateways.stop();
  }

  async #converge(): Promise<void> {
    const wanted = this.histories.flatMap(({ newest }) => newest.addresses).sort();
    const { members } = this.gateways;
    let last: unknown[] = [];
    await waitFor("the same answers and root of all gateways", async () => {
      last = await Promise.all(members.map(factsOf));
      return (
        last.every((facts) => isDeepStrictEqual(facts, last[0])) &&
        isDeepStrictEqual((last[0] as Facts).addresses, wanted)
      );
    }).catch(async (cause: Error) => {
      const log = await this.#readLog();
      const after = this.#done.slice(-8).join("; ");
      throw new Error(
        `${cause.message} (after: ${after}): wanted ${wanted}, are ${JSON.stringify(last, undefined, 1)}; ${this.wrong.join("; ")}; log: ${log.join("\n")}`,
        { cause },
      );
    });
  }

  #seen() {
    return {
      requests: this.workers.reduce((sum, { attempts }) => sum + attempts, 0),
      answers: this.#queriers.map(({ answers }) => answers),
    };
  }

  #epochs(): readonly number[] {
    return this.gateways.members.map(({ epoch }) => epoch);
  }
}

/** What all gateways must have in common. */
interface Facts extends Replica {
  readonly addresses: readonly string[];
}

async function factsOf(member: Member): Promise<Facts | string> {
  try {
    return { ...(await member.replica()), addresses: (await addressesOf(member.gateway)).sort() };
  } catch (error) {
    return `${member.name}: ${(error as Error).message}`;
  }
}
