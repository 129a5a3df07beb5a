/** A part that is closed when the gateway stops. */
interface Closable {
  close(): unknown;
}

/** A listener. */
interface Stoppable {
  /** @param grace milliseconds for requests in progress */
  stop(grace: number): Promise<void>;
}

/** The open parts of a gateway. They are closed when it stops or cannot start: listeners first, then the other parts, the latest first. */
export class Closers {
  readonly #parts: Closable[] = [];
  readonly #servers: Stoppable[] = [];

  add<Part extends Closable>(part: Part): Part {
    this.#parts.push(part);
    return part;
  }

  addServer<Server extends Stoppable>(server: Server): Server {
    this.#servers.push(server);
    return server;
  }

  /** @param grace how long requests in progress may take to finish, in milliseconds */
  async close(grace: number): Promise<void> {
    await Promise.all(this.#servers.splice(0).map((server) => server.stop(grace)));
    for (const part of this.#parts.splice(0).reverse()) await part.close();
  }
}
