import { setTimeout as sleep } from "node:timers/promises";
import { decode } from "dns-packet";
import { Agent, request } from "undici";

/** Time between an answer and the next query, in milliseconds. */
const PAUSE = 2;
const DEADLINE = 30_000;

/** A DoH server that is asked over one connection, again and again. */
export class Poller {
  readonly #url: string;
  readonly #agent: Agent;
  readonly #pause: number;

  /**
   * `ca` is the PEM text that the server's certificate is checked against; empty without TLS. `pause` is the
   * time between an answer and the next query.
   */
  constructor(url: string, ca: string, pause = PAUSE) {
    this.#pause = pause;
    this.#url = url;
    this.#agent = new Agent({ connect: { ca }, allowH2: true });
  }

  /**
   * Asks until exactly `address` is answered; the `performance.now()` of that answer.
   * @throws {Error} where that takes too long
   */
  async waitForAddress(query: Uint8Array, address: string): Promise<number> {
    const end = performance.now() + DEADLINE;
    for (;;) {
      const addresses = await this.ask(query);
      const now = performance.now();
      if (addresses.length === 1 && addresses[0] === address) return now;
      if (now > end)
        throw new Error(`${this.#url} does not answer ${address} but ${addresses.join(", ") || "nothing"}`);
      await sleep(this.#pause);
    }
  }

  /**
   * Asks until so many addresses are answered, also a server that does not listen yet.
   * @param deadline in milliseconds
   * @throws {Error} where that takes too long
   */
  async waitForCount(query: Uint8Array, count: number, deadline: number): Promise<void> {
    const end = performance.now() + deadline;
    for (;;) {
      const addresses = await this.ask(query).catch(() => []);
      if (addresses.length === count) return;
      if (performance.now() > end)
        throw new Error(`${this.#url} answers ${addresses.length} addresses, not ${count}`);
      await sleep(this.#pause);
    }
  }

  /** The addresses of one answer. */
  async ask(query: Uint8Array): Promise<string[]> {
    const answer = await request(this.#url, {
      method: "POST",
      dispatcher: this.#agent,
      headers: { "content-type": "application/dns-message", accept: "application/dns-message" },
      body: query,
    });
    const { answers = [] } = decode(Buffer.from(await answer.body.arrayBuffer()));
    return answers.map((record) => (record.type === "A" ? record.data : ""));
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
