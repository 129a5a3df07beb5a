import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Readable, Writable } from "node:stream";
import type { HttpResponse } from "../../../http/messages/message.ts";
import { BodyCutOff, GatheredBytes } from "../../../http2/body.ts";
import { NodeClient, type NodeRequest } from "./requests.ts";

/** A request over HTTP/1.1. */
export class Http1Request implements NodeRequest {
  readonly method: string;
  readonly url: string;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  /** Whether the client waits with the body until the server requests it (RFC 9110 section 10.1.1). */
  #waits: boolean;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, waits: boolean) {
    this.method = incoming.method ?? "";
    this.url = incoming.url ?? "";
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#waits = waits;
  }

  get isClosed(): boolean {
    return this.#outgoing.destroyed;
  }

  whenGone(callback: () => void): void {
    const outgoing = this.#outgoing;
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) callback();
    });
  }

  get scheme(): "http" | "https" {
    return "encrypted" in this.#incoming.socket ? "https" : "http";
  }

  get rawHeaders(): readonly string[] {
    return this.#incoming.rawHeaders;
  }

  /**
   * RFC 9112 section 3.2.2: the host in the request target; the Host field counts only if the target has
   * none.
   */
  get host(): string {
    const target = this.url.startsWith("/") ? null : URL.parse(this.url);
    return target === null ? (this.#incoming.headers.host ?? "") : target.host;
  }

  get client(): NodeClient {
    return new NodeClient(this.#incoming.socket);
  }

  header(name: string): string | null {
    // `headers` has only the first of several fields Authorization or Content-Type.
    return this.#incoming.headersDistinct[name]?.join(name === "cookie" ? "; " : ", ") ?? null;
  }

  body(most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (Number(this.#incoming.headers["content-length"]) > most) return Promise.resolve(undefined);
    if (!this.#hasBody) return Promise.resolve(new Uint8Array(0));
    this.#wanted();
    return readBody(this.#incoming, most);
  }

  async arrivedBody(most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (!this.#hasBody) return new Uint8Array(0);
    // The parser is in the middle of the read: what follows the header fields is there after it.
    await undefined;
    const incoming = this.#incoming;
    if (!incoming.complete || incoming.readableLength > most) return undefined;
    const body: Buffer<ArrayBuffer> | null = incoming.read();
    return new Uint8Array(body ?? []);
  }

  bodyStream(): ReadableStream<Uint8Array> {
    return bodyStream(this.#incoming, () => this.#wanted());
  }

  respond({ status, headers, body, stream }: HttpResponse): void {
    const outgoing = this.#outgoing;
    if (outgoing.destroyed) {
      void stream?.cancel().catch(() => {});
      return;
    }
    outgoing.writeHead(status, headers);
    if (stream !== undefined) {
      // No faster than the client reads, and until it goes. Of a body that fails it sees no end.
      stream.pipeTo(Writable.toWeb(outgoing), { preventAbort: true }).catch(() => outgoing.destroy());
      return;
    }
    const sent = this.method === "HEAD" ? null : body;
    if (this.#incoming.complete || !this.#hasBody) {
      outgoing.end(sent);
      return;
    }
    if (sent === null) outgoing.flushHeaders();
    else outgoing.write(sent);
    // Node may close the connection when the response ends, and a client that still writes would lose what it
    // has not read.
    dropBody(this.#incoming, (whole) => {
      outgoing.end();
      if (!whole) this.#incoming.socket.destroySoon();
    });
  }

  abort(): void {
    this.#incoming.socket.destroy();
  }

  #wanted(): void {
    if (this.#waits && !this.#outgoing.headersSent) this.#outgoing.writeContinue();
    this.#waits = false;
  }

  /** RFC 9112 section 6. */
  get #hasBody(): boolean {
    const { headers } = this.#incoming;
    return (headers["content-length"] ?? "0") !== "0" || headers["transfer-encoding"] !== undefined;
  }
}

/** The most bytes of an unused body that are read and dropped; `limits.requestSeconds` limits the time. */
const MOST_DROPPED_BYTES = 64 * 1024 * 1024;

/**
 * Reads a body; resolves with undefined once it is longer than `most` bytes.
 * @throws {BodyCutOff}
 */
export function readBody(parts: Readable, most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return new Promise((resolve, reject) => {
    const body = new GatheredBytes();
    const end = listen(parts, {
      data: (part: Buffer<ArrayBuffer>) => {
        if (body.length + part.length > most) {
          end();
          parts.pause();
          resolve(undefined);
          return;
        }
        body.add(part);
      },
      end: () => {
        end();
        const { buffer, byteOffset, length } = body.take();
        // Handlers get a plain array: a Buffer's slice() is no copy.
        resolve(new Uint8Array(buffer, byteOffset, length));
      },
      close: () => {
        end();
        reject(new BodyCutOff());
      },
    });
  });
}

/** Listens to a body. @returns a function that removes the listeners */
function listen(
  parts: Readable,
  listeners: Readonly<Record<"data" | "end" | "close", (part: Buffer<ArrayBuffer>) => void>>,
): () => void {
  const { data, end, close } = listeners;
  parts.on("data", data).on("end", end).on("close", close);
  return () => parts.off("data", data).off("end", end).off("close", close);
}

/**
 * Reads the rest of a body and drops it.
 * @param done called once: with true at its end, with false above the limit
 */
function dropBody(parts: Readable, done: (whole: boolean) => void): void {
  let dropped = 0;
  const finish = (whole: boolean) => {
    end();
    done(whole);
  };
  // An earlier reader got enough.
  parts.removeAllListeners("data");
  const end = listen(parts, {
    data: (part) => {
      dropped += part.length;
      if (dropped > MOST_DROPPED_BYTES) finish(false);
    },
    end: () => finish(true),
    close: () => finish(true),
  });
  parts.resume();
}

/**
 * The body as it comes. Cancelling it stops reading, but the connection continues.
 * @param wanted called whenever somebody waits for a part
 */
export function bodyStream(parts: Readable, wanted: () => void): ReadableStream<Uint8Array> {
  let end = () => {};
  const source = {
    start(controller: ReadableStreamDefaultController<Uint8Array>) {
      parts.pause();
      end = listen(parts, {
        data: (part) => {
          controller.enqueue(part);
          if ((controller.desiredSize ?? 0) <= 0) parts.pause();
        },
        end: () => {
          end();
          controller.close();
        },
        close: () => {
          end();
          controller.error(new BodyCutOff());
        },
      });
    },
    pull: () => {
      wanted();
      parts.resume();
    },
    cancel: () => {
      end();
      // Another thread may cancel it after the response, when the rest is read and dropped.
      if (parts.listenerCount("data") === 0) parts.pause();
    },
  };
  return new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
}

/**
 * Has Node's HTTP/1.1 parser get its bytes through the socket, with its buffer and its pauses: without a
 * listener it reads past it.
 */
export function readThroughSocket(socket: Socket): void {
  socket.on("data", ignore);
}

function ignore(): void {}
