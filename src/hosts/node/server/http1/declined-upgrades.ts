import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Declines every upgrade to another protocol, as a server may (RFC 9110 section 7.8): such a request is answered like any other one.
 * Node's parser stops after it and drops the rest of the same read, so the connection starts anew with the same request
 * without its Upgrade field.
 */
export class DeclinedUpgrades {
  readonly #latest = new WeakMap<Socket, ServerResponse>();

  /** @param entry the event by which the server gets a connection: `connection`, or `secureConnection` over TLS */
  watch(server: HttpServer, entry: "connection" | "secureConnection"): void {
    server.on("upgrade", (incoming: IncomingMessage, stream, head: Buffer) => {
      const socket = stream as Socket;
      const again = () => {
        if (socket.destroyed) return;
        socket.unshift(Buffer.concat([headOf(incoming), head]));
        server.emit(entry, socket);
        // The returned bytes are in the socket's own buffer, which Node's parser reads only if there is a listener.
        socket.on("data", () => {});
      };
      const before = this.#latest.get(socket);
      if (before === undefined || before.closed) again();
      else before.once("close", again);
    });
  }

  /** Records a response that has to wait for earlier requests of its connection. */
  began(outgoing: ServerResponse, { socket }: IncomingMessage): void {
    this.#latest.set(socket, outgoing);
  }
}

function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]!.toLowerCase() !== "upgrade")
      text += `${rawHeaders[index]}: ${rawHeaders[index + 1]}\r\n`;
  return Buffer.from(`${text}\r\n`, "latin1");
}
