import { setTimeout as sleep } from "node:timers/promises";

const PAUSE_MS = 200;

/** Something that is done again and again until it is stopped, or fails. */
export class Repetition {
  readonly #turn: () => Promise<void>;
  readonly #running: Promise<void>;
  #turns = 0;
  #isStopping = false;

  constructor(turn: () => Promise<void>) {
    this.#turn = turn;
    this.#running = this.#run();
    // `stop` reports it.
    this.#running.catch(() => {});
  }

  /** Waits for so many further turns. @throws what one of them failed with */
  async answered(more: number): Promise<void> {
    const wanted = this.#turns + more;
    while (this.#turns < wanted) await Promise.race([this.#running, sleep(PAUSE_MS)]);
  }

  /** @returns how many turns succeeded @throws what one of them failed with */
  async stop(): Promise<number> {
    this.#isStopping = true;
    await this.#running;
    return this.#turns;
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      await this.#turn();
      this.#turns++;
      await sleep(PAUSE_MS);
    }
  }
}
