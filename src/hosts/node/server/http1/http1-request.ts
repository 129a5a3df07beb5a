import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpResponse } from "../../../../http/messages/message.ts";
import { NodeClient } from "../../access/node-client.ts";
import type { NodeRequest } from "../node-request.ts";
import { bodyStream, dropBody, readBody } from "./http1-body.ts";
import { sendStream } from "./send-stream.ts";

/** A request over HTTP/1.1. */
export class Http1Request implements NodeRequest {
  readonly method: string;
  readonly url: string;
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  /** Whether the client waits with the body until it is asked for it (RFC 9110 section 10.1.1). */
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

  /** RFC 9112 section 3.2.2: the host in the request target; the Host field counts only if the target has none. */
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
      void sendStream(stream, outgoing, () => outgoing.destroy());
      return;
    }
    const sent = this.method === "HEAD" ? null : body;
    if (this.#incoming.complete || !this.#hasBody) {
      outgoing.end(sent);
      return;
    }
    if (sent === null) outgoing.flushHeaders();
    else outgoing.write(sent);
    // Node may close the connection when the response ends, and a client that still writes would lose what it has not read.
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
