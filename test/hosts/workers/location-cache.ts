import { setImmediate, setTimeout } from "node:timers/promises";
import type { LocationCache } from "../../../src/hosts/workers/cached-source.ts";
import type { FakeClock } from "../../gateway/fake-clock.ts";

/** A location's cache, with latency and errors in the test's hands. */
export class FakeCache implements LocationCache {
  /** Milliseconds until a look or a change has happened. */
  latency = 0;
  /** Whether nothing is kept, as on workers.dev. */
  keepsNothing = false;
  /** Whether bodies end before their length. */
  cutOff = false;
  /** What every look and change fails with. */
  failure: Error | undefined;
  readonly #clock: FakeClock;
  readonly #entries = new Map<string, { readonly body: ArrayBuffer; readonly until: number }>();

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  get keys(): string[] {
    return [...this.#entries.keys()];
  }

  async match(url: string): Promise<Response | undefined> {
    await this.#pass();
    const entry = this.#entries.get(url);
    if (entry === undefined || entry.until <= this.#clock.now()) return undefined;
    const headers = {
      "content-length": String(this.cutOff ? entry.body.byteLength + 1 : entry.body.byteLength),
    };
    return new Response(entry.body.slice(), { headers });
  }

  async put(url: string, response: Response): Promise<void> {
    const body = await response.arrayBuffer();
    const seconds = Number(/max-age=(\d+)/.exec(response.headers.get("cache-control") ?? "")?.[1]);
    await this.#pass();
    if (!this.keepsNothing) this.#entries.set(url, { body, until: this.#clock.now() + seconds * 1000 });
  }

  async delete(url: string): Promise<boolean> {
    await this.#pass();
    return this.#entries.delete(url);
  }

  #pass(): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return new Promise((resolve) => void this.#clock.setTimer(this.latency, resolve));
  }
}

/** Lets time pass in small steps, in each of which bodies are read as well. */
export async function pass(clock: FakeClock, milliseconds: number, step = 5): Promise<void> {
  for (let left = milliseconds; left > 0; left -= step) {
    await clock.advance(Math.min(step, left));
    await setImmediate();
  }
}

/**
 * Waits for something, letting time pass as long as it takes, and no faster than real time: bodies are read
 * and hashed in other threads.
 */
export async function done<Result>(clock: FakeClock, promise: Promise<Result>): Promise<Result> {
  let settled = false;
  const end = () => {
    settled = true;
  };
  promise.then(end, end);
  while (!settled) {
    await pass(clock, 1, 1);
    await setTimeout(1);
  }
  return promise;
}
