import type { Server as HttpServer, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that are handled at a time, each until its response is handed to the socket. */
const MOST_HANDLED = 16;

interface Pipeline {
  handled: number;
  readonly waiting: (() => void)[];
}

/**
 * Handles the requests that a client pipelines over one HTTP/1.1 connection in order and a few at a time, so a client that reads
 * nothing fills the memory with a few responses only. Node emits all requests of one read (64 KiB) at once, and reads more.
 */
export class PipelinedRequests {
  readonly #pipelines = new WeakMap<Socket, Pipeline>();

  /** Calls `handle` at once, or when there is room: responses of earlier requests have left. Never calls it on a closed connection. */
  add(socket: Socket, outgoing: ServerResponse, handle: () => void): void {
    let pipeline = this.#pipelines.get(socket);
    if (pipeline === undefined) {
      pipeline = { handled: 0, waiting: [] };
      this.#pipelines.set(socket, pipeline);
    }
    const { waiting } = pipeline;
    const begin = () => {
      pipeline.handled++;
      // Node emits it when the whole response is handed to the socket and the socket took it, or when the connection closed.
      outgoing.once("close", () => {
        pipeline.handled--;
        this.#beginNext(socket, pipeline);
      });
      handle();
    };
    if (pipeline.handled < MOST_HANDLED) begin();
    else if (waiting.push(begin) === 1) hold(socket);
  }

  #beginNext(socket: Socket, pipeline: Pipeline): void {
    const { waiting } = pipeline;
    if (waiting.length === 0) return;
    if (socket.destroyed) waiting.length = 0;
    else waiting.shift()!();
    if (waiting.length === 0) letGo(socket);
  }
}

/** Reads no more of a connection, although Node resumes it with every response. */
function hold(socket: Socket): void {
  socket.pause();
  socket.resume = () => socket;
}

/** Undoes `hold`, unless the request before an upgrade was the last one: then the new protocol reads on. */
function letGo(socket: Socket): void {
  delete (socket as Partial<Pick<Socket, "resume">>).resume;
  if (socket.readableFlowing === false) socket.resume();
}

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
