import type { MaybePromise } from "../../../access/maybe-promise.ts";
import type { HttpResponse } from "../../../http/messages/message.ts";
import { ErrorCode } from "../../../http2/protocol.ts";
import type { Http2Stream } from "../../../http2/stream.ts";
import type { NodeClient } from "../access/node-client.ts";
import type { NodeRequest } from "./node-request.ts";

/** A request over HTTP/2. */
export class Http2Request implements NodeRequest {
  readonly method: string;
  readonly url: string;
  readonly scheme = "https";
  readonly #stream: Http2Stream;
  /** The same object for all requests of a connection. */
  readonly client: NodeClient;

  constructor(stream: Http2Stream, client: NodeClient) {
    this.method = stream.line.method;
    this.url = stream.line.path;
    this.#stream = stream;
    this.client = client;
  }

  /** RFC 9113 section 8.3.1: `:authority`, or else the Host field. */
  get host(): string {
    return this.#stream.line.authority;
  }

  get isClosed(): boolean {
    return this.#stream.isClosed;
  }

  whenGone(callback: () => void): void {
    this.#stream.whenCutOff = callback;
  }

  get rawHeaders(): readonly string[] {
    return this.#stream.fields;
  }

  header(name: string): string | null {
    return this.#stream.field(name);
  }

  body(most: number): MaybePromise<Uint8Array<ArrayBuffer> | undefined> {
    if ((this.#stream.line.contentLength ?? 0) > most) return undefined;
    return this.#stream.collect(most);
  }

  async arrivedBody(most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    // The frames that follow the header fields in the same read are taken after it.
    await undefined;
    return this.#stream.body.whole(most);
  }

  bodyStream(): ReadableStream<Uint8Array> {
    return this.#stream.body.stream();
  }

  respond(response: HttpResponse): void {
    this.#stream.respond(response);
  }

  abort(): void {
    this.#stream.reset(ErrorCode.INTERNAL_ERROR);
  }
}
