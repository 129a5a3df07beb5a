import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";

/** A loopback address that no ordinary client of these tests has. */
const ATTACKER = "127.0.0.2";

/** How a client ends its connection: its half of it, waiting for the other one; both; or by a TCP RST. */
export type Ending = "half-close" | "close" | "reset";

/** Where a client connects to; without `ca` there is no TLS. */
interface Target {
  readonly port: number;
  readonly ca?: string;
  /** For ALPN. */
  readonly protocol?: string;
}

/** A client at `ATTACKER` that sends bytes and drops what it gets. */
export class RawClient {
  /** Of TLS, where there is any. */
  readonly #socket: Socket;
  readonly #tcp: Socket;
  /** Resolves when the connection is gone. */
  readonly closed: Promise<void>;

  private constructor(socket: Socket, tcp: Socket) {
    this.#socket = socket;
    this.#tcp = tcp;
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.resume();
  }

  static async open({ port, ca, protocol }: Target): Promise<RawClient> {
    const tcp = connectTcp({ port, host: "127.0.0.1", noDelay: true, localAddress: ATTACKER });
    // The other side may cut it off at any time.
    tcp.on("error", () => {});
    if (ca === undefined) {
      await once(tcp, "connect");
      return new RawClient(tcp, tcp);
    }
    const protocols = protocol === undefined ? {} : { ALPNProtocols: [protocol] };
    const socket = connectTls({ socket: streamOver(tcp), ca, servername: "localhost", ...protocols });
    socket.on("error", () => {});
    const client = new RawClient(socket, tcp);
    const dropped = client.closed.then(() => {
      throw new Error("the connection was dropped before its TLS handshake was over");
    });
    await Promise.race([once(socket, "secureConnect"), dropped]);
    // It may be dropped later on.
    dropped.catch(() => {});
    return client;
  }

  get isOpen(): boolean {
    return this.#socket.writable;
  }

  /** From now on it takes nothing that the other side sends. */
  deafen(): void {
    this.#socket.pause();
  }

  /** Sends bytes in one write, if the connection is there, and waits until they have left or it has gone. */
  async send(bytes: Uint8Array): Promise<void> {
    if (!this.isOpen) return;
    const isTaken = this.#socket.write(bytes);
    if (!isTaken) await Promise.race([once(this.#socket, "drain").catch(() => {}), this.closed]);
    else await new Promise((resolve) => setImmediate(resolve));
  }

  /** Sends bytes below TLS, where there is any. */
  sendBelow(bytes: Uint8Array): void {
    if (this.#tcp.writable) this.#tcp.write(bytes);
  }

  /** Ends the connection. @param patienceMs how long the other side may take to end its half */
  async end(how: Ending, patienceMs = 0): Promise<void> {
    if (how === "reset") this.#tcp.resetAndDestroy();
    if (how === "half-close" && this.isOpen) {
      this.#socket.end();
      await Promise.race([this.closed, sleep(patienceMs, undefined, { ref: false })]);
    }
    this.#socket.destroy();
    this.#tcp.destroy();
  }
}

/** The bytes of a TCP connection: Node crashes where one is reset whose handle it has given to TLS. */
function streamOver(tcp: Socket): Duplex {
  const stream = new Duplex({
    read: () => void tcp.resume(),
    write: (bytes, _, done) => void tcp.write(bytes, () => done()),
    final: (done) => void tcp.end(() => done()),
    destroy: (error, done) => {
      tcp.destroy();
      done(error);
    },
  });
  tcp.on("data", (bytes) => void (stream.push(bytes) || tcp.pause()));
  tcp.on("end", () => stream.push(null));
  tcp.on("close", () => stream.destroy());
  return stream;
}
