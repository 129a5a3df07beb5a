import { createServer, type RequestListener, type Server } from "node:http";
import { freePort } from "../e2e/servers/ports.ts";

/** An HTTP server of a test, which keeps its port when it starts again. */
export abstract class HttpDouble {
  abstract readonly listener: RequestListener;
  #server: Server | undefined;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<this> {
    this.#port ||= await freePort();
    const server = createServer(this.listener);
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#server = server;
    return this;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
  }
}
