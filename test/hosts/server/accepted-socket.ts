import { EventEmitter } from "node:events";
import type { Socket } from "node:net";

/** A socket that has an address and closes a turn after `destroy`, as Node's do. */
export class AcceptedSocket extends EventEmitter {
  readonly remoteAddress = "192.0.2.1";
  readonly localAddress = "192.0.2.53";
  readonly localPort = 853;
  readonly remotePort: number;
  destroyed = false;

  constructor(remotePort: number) {
    super();
    this.remotePort = remotePort;
  }

  destroy(): this {
    if (!this.destroyed) queueMicrotask(() => this.emit("close"));
    this.destroyed = true;
    return this;
  }
}

/** A connection from a port. */
export const socketFrom = (port: number) => new AcceptedSocket(port) as AcceptedSocket & Socket;
