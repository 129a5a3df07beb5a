import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { HttpResponse } from "../../../http/messages/http-message.ts";
import { NodeClient } from "../access/node-client.ts";
import { dropBody, fieldOf, type NodeRequest, readBody } from "./node-request.ts";
import { sendStream } from "./send-stream.ts";

/** Node's own request and response objects for a stream cost more than an answer (docs/explanation/benchmarks.md). */
export class Http2Request implements NodeRequest {
  readonly method: string;
  readonly url: string;
  readonly scheme = "https";
  readonly rawHeaders: readonly string[];
  readonly parts: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  #isRead = false;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]) {
    this.method = headers[":method"] ?? "";
    this.url = headers[":path"] ?? "";
    this.rawHeaders = rawHeaders;
    this.parts = stream;
    this.#headers = headers;
  }

  /** RFC 9113 section 8.3.1: `:authority`, or else the Host field. */
  get host(): string {
    return this.#headers[":authority"] ?? this.#headers.host ?? "";
  }

  get client(): NodeClient {
    return new NodeClient(this.parts);
  }

  header(name: string): string | null {
    return fieldOf(this.#headers, name);
  }

  /** Node resets a stream whose body is longer or shorter than it declares. */
  body(most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const length = this.#headers["content-length"];
    if (Number(length) > most) return Promise.resolve(undefined);
    if (length === "0" || this.parts.endAfterHeaders) return Promise.resolve(new Uint8Array(0));
    if (length === undefined) return readBody(this.parts, most);
    this.#isRead = true;
    return readBody(this.parts, most, Number(length));
  }

  respond({ status, headers, body, stream: lines }: HttpResponse): void {
    const stream = this.parts;
    if (stream.destroyed || stream.closed) {
      void lines?.cancel();
      return;
    }
    const fields = fieldsOf(status, headers);
    if (lines !== undefined) {
      stream.respond(fields);
      void sendStream(lines, stream, () => stream.close(constants.NGHTTP2_CANCEL));
    } else if (body === null || this.method === "HEAD") stream.respond(fields, { endStream: true });
    else {
      stream.respond(fields);
      stream.end(body);
    }
    if (!stream.endAfterHeaders && !this.#isRead)
      // RFC 9113 section 8.1: the response is complete, and the rest of the request is not needed.
      dropBody(stream, (whole) => whole || stream.close(constants.NGHTTP2_NO_ERROR));
  }

  abort(): void {
    this.parts.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
}

/** Answers share equal header fields, and so also the form in which a stream takes them. */
const shared = new WeakMap<Readonly<Record<string, string>>, OutgoingHttpHeaders>();

function fieldsOf(status: number, headers: Readonly<Record<string, string>>): OutgoingHttpHeaders {
  const kept = shared.get(headers);
  if (kept !== undefined) return kept;
  const fields = { ...headers, ":status": status };
  if (Object.isFrozen(headers)) shared.set(headers, fields);
  return fields;
}
