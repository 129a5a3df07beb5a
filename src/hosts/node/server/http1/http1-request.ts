import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpResponse } from "../../../../http/messages/http-message.ts";
import { NodeClient } from "../../access/node-client.ts";
import { dropBody, fieldOf, type NodeRequest, readBody } from "../node-request.ts";
import { sendStream } from "../send-stream.ts";

/** A request over HTTP/1.1. */
export class Http1Request implements NodeRequest {
  readonly method: string;
  readonly url: string;
  readonly parts: IncomingMessage;
  readonly #outgoing: ServerResponse;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    this.method = incoming.method ?? "";
    this.url = incoming.url ?? "";
    this.parts = incoming;
    this.#outgoing = outgoing;
  }

  get scheme(): "http" | "https" {
    return "encrypted" in this.parts.socket ? "https" : "http";
  }

  get rawHeaders(): readonly string[] {
    return this.parts.rawHeaders;
  }

  /** RFC 9112 section 3.2.2: the host in the request target; the Host field counts only if the target has none. */
  get host(): string {
    const target = this.url.startsWith("/") ? null : URL.parse(this.url);
    return target === null ? (this.parts.headers.host ?? "") : target.host;
  }

  get client(): NodeClient {
    return new NodeClient(this.parts);
  }

  header(name: string): string | null {
    return fieldOf(this.parts.headers, name);
  }

  body(most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (Number(this.parts.headers["content-length"]) > most) return Promise.resolve(undefined);
    if (!this.#hasBody) return Promise.resolve(new Uint8Array(0));
    return readBody(this.parts, most);
  }

  respond({ status, headers, body, stream }: HttpResponse): void {
    const outgoing = this.#outgoing;
    if (outgoing.destroyed) {
      void stream?.cancel();
      return;
    }
    outgoing.writeHead(status, headers);
    if (stream !== undefined) {
      void sendStream(stream, outgoing, () => outgoing.destroy());
      return;
    }
    const sent = this.method === "HEAD" ? null : body;
    if (this.parts.complete || !this.#hasBody) {
      outgoing.end(sent);
      return;
    }
    if (sent === null) outgoing.flushHeaders();
    else outgoing.write(sent);
    // Node may close the connection when the response ends, and a client that still writes would lose what it has not read.
    dropBody(this.parts, (whole) => {
      outgoing.end();
      if (!whole) this.parts.socket.destroySoon();
    });
  }

  abort(): void {
    this.parts.socket.destroy();
  }

  /** RFC 9112 section 6. */
  get #hasBody(): boolean {
    const { headers } = this.parts;
    return (headers["content-length"] ?? "0") !== "0" || headers["transfer-encoding"] !== undefined;
  }
}
