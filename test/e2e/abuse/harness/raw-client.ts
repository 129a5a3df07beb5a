import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { openRaw, type RawSocket, type RawSocketOptions } from "./raw-socket.ts";

/** How a client ends its connection: its half of it, waiting for the other one; both; or by a TCP RST. */
export type Ending = "half-close" | "close" | "reset";

/** A client that sends bytes and drops what it gets. */
export class RawClient {
  readonly #raw: RawSocket;
  readonly #closed: Promise<void>;

  private constructor(raw: RawSocket) {
    this.#raw = raw;
    this.#closed = new Promise((resolve) => raw.socket.once("close", () => resolve()));
    raw.socket.resume();
  }

  static async open(options: RawSocketOptions): Promise<RawClient> {
    return new RawClient(await openRaw(options));
  }

  get isOpen(): boolean {
    return this.#raw.socket.writable;
  }

  /**
   * Sends bytes in one write, as far as the connection is still there, and waits until they have left this
   * process or the connection has gone.
   */
  async send(bytes: Uint8Array): Promise<void> {
    const { socket } = this.#raw;
    if (!socket.writable) return;
    const isTaken = socket.write(bytes);
    if (!isTaken) await Promise.race([once(socket, "drain").catch(() => {}), this.#closed]);
    else await new Promise((resolve) => setImmediate(resolve));
  }

  /** Sends bytes below TLS, where there is any. */
  sendBelow(bytes: Uint8Array): void {
    if (this.#raw.tcp.writable) this.#raw.tcp.write(bytes);
  }

  /**
   * Ends the connection.
   * @param patienceMs how long the other side may take to end its half, and no longer
   */
  async end(how: Ending, patienceMs: number): Promise<void> {
    const { socket, tcp } = this.#raw;
    if (how === "reset") tcp.resetAndDestroy();
    if (how === "half-close" && socket.writable) {
      socket.end();
      await Promise.race([this.#closed, sleep(patienceMs, undefined, { ref: false })]);
    }
    socket.destroy();
    tcp.destroy();
  }
}
