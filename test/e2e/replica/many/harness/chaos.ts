import { isDeepStrictEqual } from "node:util";
import { Random } from "../../../abuse/harness/random.ts";
import { waitFor } from "../../../servers/wait.ts";
import { Gateways, type GatewaysOptions, type Member } from "./gateways.ts";
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

/** Gateways that share an engine, workers that push to any of them, and clients that ask each of them. */
export class Chaos {
  readonly gateways: Gateways;
  readonly random: Random;
  /** What went wrong so far, with what was done before it. */
  readonly wrong: string[] = [];
  readonly #histories: readonly ClusterHistory[];
  readonly #workers: readonly SimulatedWorker[];
  readonly #readLog: () => Promise<readonly string[]>;
  readonly #done: string[] = [];
  #queriers: readonly Querier[] = [];

  private constructor(
    gateways: Gateways,
    histories: readonly ClusterHistory[],
    { seed, readLog = async () => [] }: ChaosOptions,
  ) {
    this.gateways = gateways;
    this.random = new Random(seed);
    this.#histories = histories;
    this.#readLog = readLog;
    const { members } = gateways;
    const common = { members, random: this.random, leaseSeconds: LEASE_SECONDS, report: this.#report };
    this.#workers = histories.map((history) => new SimulatedWorker({ history, ...common }));
  }

  static async start(options: ChaosOptions): Promise<Chaos> {
    const numbers = Array.from({ length: options.clusters }, (_, index) => index + 1);
    const histories = numbers.map((number) => new ClusterHistory(`cluster-${number}`, number));
    const chaos = new Chaos(await Gateways.start({ ...options, histories }), histories, options);
    // Nothing is answered before the first push: no failed query counts until then.
    for (const worker of chaos.#workers) await worker.begin();
    await chaos.#converge();
    chaos.#queriers = chaos.gateways.members.map((member) => new Querier(member, chaos.#report));
    return chaos;
  }

  /** Notes what is done, for reports. */
  note(text: string): void {
    this.#done.push(text);
  }

  /** Waits until workers and clients have seen some of what is so now. */
  async meet(): Promise<void> {
    const requests = () => this.#workers.reduce((sum, { attempts }) => sum + attempts, 0);
    const before = requests();
    const seen = this.#queriers.map(({ answers, member }) => ({ answers, epoch: member.epoch }));
    await waitFor("requests and answers meanwhile", () => {
      if (this.wrong.length > 0) return true;
      const isAsked = this.#queriers.every(
        ({ member, answers }, index) =>
          !member.isRunning ||
          member.epoch !== seen[index]!.epoch ||
          answers - seen[index]!.answers >= ANSWERS,
      );
      return requests() - before >= REQUESTS && isAsked;
    });
  }

  startWorkers(): void {
    for (const worker of this.#workers) worker.start();
  }

  /**
   * Stops changes, and waits until all gateways answer alike, from the newest states.
   * @throws {Error} where they do not
   */
  async settle(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.settle()));
    await this.#converge();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()));
    await Promise.all(this.#queriers.map((querier) => querier.stop()));
    await this.gateways.stop();
  }

  readonly #report = (text: string): void => {
    if (this.wrong.length < MOST_REPORTS)
      this.wrong.push(`${new Date().toISOString()}: ${text} (after: ${this.#done.slice(-8).join("; ")})`);
  };

  async #converge(): Promise<void> {
    const wanted = this.#histories.flatMap(({ newest }) => newest.addresses).sort();
    let last: Awaited<ReturnType<typeof factsOf>>[] = [];
    await waitFor("the same answers and root of all gateways", async () => {
      last = await Promise.all(this.gateways.members.map(factsOf));
      const [first] = last;
      return (
        last.every((facts) => isDeepStrictEqual(facts, first)) &&
        isDeepStrictEqual(typeof first === "object" && first.addresses, wanted)
      );
    }).catch(async (cause: Error) => {
      const log = await this.#readLog();
      const after = this.#done.slice(-8).join("; ");
      const found = `wanted ${wanted}, are ${JSON.stringify(last, undefined, 1)}`;
      const details = `${found}; ${this.wrong.join("; ")}; log: ${log.join("\n")}`;
      throw new Error(`${cause.message} (after: ${after}): ${details}`, { cause });
    });
  }
}

/** What all gateways must have in common. */
async function factsOf(member: Member) {
  try {
    return { ...(await member.replica()), addresses: (await addressesOf(member.gateway)).sort() };
  } catch (error) {
    return `${member.name}: ${(error as Error).message}`;
  }
}
