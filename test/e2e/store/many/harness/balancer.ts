import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** One address in front of several servers: each connection goes to the first of them that accepts it, from the one that accepted the last. */
export class Balancer {
  readonly #targets: readonly number[];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #current = 0;

  private constructor(targets: readonly number[]) {
    this.#targets = targets;
    this.#server = createServer((client) => this.#join(client, 0));
  }

  /** @param targets ports of this machine */
  static async start(targets: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(targets);
    balancer.#server.listen(0, "127.0.0.1");
    await once(balancer.#server, "listening");
    return balancer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The index of the server that accepted the newest connection. */
  get current(): number {
    return this.#current;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** @param refused how many servers have refused this connection */
  #join(client: Socket, refused: number): void {
    const target = this.#current;
    const server = connect(this.#targets[target]!, "127.0.0.1");
    let isAccepted = false;
    this.#sockets.add(server).add(client);
    client.on("error", () => {});
    client.once("close", () => {
      this.#sockets.delete(client);
      server.destroy();
    });
    server.on("error", () => {});
    server.once("connect", () => {
      isAccepted = true;
      client.pipe(server);
      server.pipe(client);
    });
    server.once("close", () => {
      this.#sockets.delete(server);
      if (!isAccepted && this.#current === target) this.#current = (target + 1) % this.#targets.length;
      if (isAccepted || refused + 1 === this.#targets.length) client.destroy();
      else if (!client.destroyed) this.#join(client, refused + 1);
    });
  }
}
