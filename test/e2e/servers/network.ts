import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./ports.ts";

/** One connection of a client, and the one to the server behind it. */
interface Link {
  readonly sockets: readonly [client: Socket, server: Socket];
  /** Bytes of it were lost, so nothing may follow them. */
  isHalfOpen: boolean;
}

/** A TCP proxy in front of a server, whose link breaks in the ways that links do. */
export class FaultProxy {
  readonly port: number;
  readonly #target: number;
  readonly #address: string;
  readonly #links = new Set<Link>();
  #server: Server | undefined;
  #delay = 0;
  #swallows = false;

  private constructor(port: number, target: number, address: string) {
    this.port = port;
    this.#target = target;
    this.#address = address;
  }

  /** @param target a port of 127.0.0.1. @param address where the proxy listens */
  static async start(target: number, address = "127.0.0.1"): Promise<FaultProxy> {
    const proxy = new FaultProxy(await freePort(), target, address);
    await proxy.#listen();
    return proxy;
  }

  /** Ends all faults; of connections that lost bytes the server's side is closed, the client's is not. */
  async heal(): Promise<void> {
    this.#delay = 0;
    this.#swallows = false;
    for (const { isHalfOpen, sockets } of this.#links) if (isHalfOpen) sockets[1].destroy();
    if (this.#server === undefined) await this.#listen();
  }

  /** Passes on what arrives later, in both directions. @param milliseconds for each part that is read */
  delay(milliseconds: number): void {
    this.#delay = milliseconds;
  }

  /** Resets all connections; new ones work. */
  cut(): void {
    for (const { sockets } of this.#links) for (const socket of sockets) socket.resetAndDestroy();
  }

  /** Goes on accepting connections and bytes, and passes nothing on. */
  swallow(): void {
    this.#swallows = true;
  }

  /** Resets all connections, and refuses new ones. */
  async refuse(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = once(server, "close");
    server.close();
    this.cut();
    await closed;
  }

  close(): Promise<void> {
    return this.refuse();
  }

  async #listen(): Promise<void> {
    const server = createServer((client) => this.#join(client));
    server.listen(this.port, this.#address);
    await once(server, "listening");
    this.#server = server;
  }

  #join(client: Socket): void {
    const server = connect(this.#target, "127.0.0.1");
    const link: Link = { sockets: [client, server], isHalfOpen: false };
    this.#links.add(link);
    for (const socket of link.sockets) {
      socket.setNoDelay(true);
      socket.on("error", () => {});
    }
    client.once("close", () => {
      this.#links.delete(link);
      server.destroy();
    });
    server.once("close", () => {
      // Nobody tells the client of a half-open connection that the other side has gone.
      if (!this.#isLost(link)) client.destroy();
    });
    this.#pump(link, client, server);
    this.#pump(link, server, client);
  }

  #pump(link: Link, from: Socket, to: Socket): void {
    const pass = async (part: Buffer) => {
      if (this.#isLost(link)) return;
      if (this.#delay > 0) await sleep(this.#delay);
      if (this.#isLost(link)) return;
      if (to.writable) await new Promise((resolve) => to.write(part, resolve));
    };
    let passing = Promise.resolve();
    from.on("data", (part: Buffer) => {
      from.pause();
      passing = pass(part).then(() => void from.resume());
    });
    from.once("end", () => passing.then(() => this.#isLost(link) || to.end()));
  }

  #isLost(link: Link): boolean {
    link.isHalfOpen ||= this.#swallows;
    return link.isHalfOpen;
  }
}
