import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Exchange, HttpRequest, HttpResponse } from "../../http/exchange.ts";
import { NodeConnection } from "./node-connection.ts";

/**
 * What is answered on HTTP/2 streams themselves. The objects that Node and its adapters make of a stream for an
 * application (request, response, and those of the Fetch standard) cost more than an answer (docs/explanation/benchmarks.md).
 */
export interface StreamExchanges {
  /** What answers at a path; undefined where the application does. */
  at(path: string): Exchange | undefined;
  /** Makes the response where one of them threw. */
  readonly failed: (request: HttpRequest, error: unknown) => HttpResponse;
}

/** Longer bodies, and those of unknown length, go to the application, which reads them in parts. */
const LONGEST_BODY = 65_535;

/** Answers one stream, or gives false: then it is for the application. */
export function exchangeOnStream(
  exchanges: StreamExchanges,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): boolean {
  const path = headers[":path"];
  if (path === undefined || !hasShortBody(headers)) return false;
  const question = path.indexOf("?");
  const exchange = exchanges.at(question === -1 ? path : path.slice(0, question));
  if (exchange === undefined) return false;
  // A client that goes away is no fault of the gateway.
  stream.on("error", ignore);
  const request = new StreamRequest(stream, headers);
  try {
    const answered = exchange(request);
    if (answered instanceof Promise)
      answered.then(
        (response) => send(stream, request, response),
        (error) => send(stream, request, exchanges.failed(request, error)),
      );
    else send(stream, request, answered);
  } catch (error) {
    send(stream, request, exchanges.failed(request, error));
  }
  return true;
}

function hasShortBody(headers: IncomingHttpHeaders): boolean {
  const method = headers[":method"];
  // An interim response is asked for: the application gives it (RFC 9110 section 10.1.1).
  if (headers.expect !== undefined) return false;
  const length = headers["content-length"];
  if (length === undefined) return method === "GET" || method === "HEAD";
  return Number(length) <= LONGEST_BODY;
}

function ignore(): void {}

class StreamRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  isRead = false;
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    this.method = headers[":method"] ?? "";
    this.url = headers[":path"] ?? "";
    this.#stream = stream;
    this.#headers = headers;
  }

  /** RFC 9113 section 8.3.1: `:authority`, or a Host field in its place. */
  get host(): string {
    return this.#headers[":authority"] ?? this.#headers.host ?? "";
  }

  get connection(): NodeConnection {
    return new NodeConnection(this.#stream);
  }

  header(name: string): string | null {
    const value = this.#headers[name];
    return typeof value === "string" ? value : (value?.join(", ") ?? null);
  }

  /** `exchangeOnStream` lets no body through whose length is not declared; Node ends a stream that sends another one. */
  body(most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const length = Number(this.#headers["content-length"] ?? 0);
    if (length > most) return Promise.resolve(undefined);
    if (length === 0) return Promise.resolve(new Uint8Array(0));
    const stream = this.#stream;
    this.isRead = true;
    return new Promise((resolve, reject) => {
      let body: Buffer<ArrayBuffer> = NOTHING;
      stream.on("data", (part: Buffer<ArrayBuffer>) => {
        body = body === NOTHING ? part : Buffer.concat([body, part]);
        if (body.length < length) return;
        // Read to its end, Node destroys a stream before its answer is written, with an error object for each.
        stream.pause();
        resolve(new Uint8Array(body.buffer, body.byteOffset, body.length));
      });
      stream.on("close", () => {
        if (body.length < length) reject(new Error("the body ended before it was whole"));
      });
    });
  }
}

const NOTHING = Buffer.alloc(0);

/** Header fields are shared by answers that have the same ones: so is the form in which a stream takes them. */
const fieldsOf = new WeakMap<Readonly<Record<string, string>>, OutgoingHttpHeaders>();

function send(stream: ServerHttp2Stream, request: StreamRequest, response: HttpResponse): void {
  if (stream.destroyed || stream.closed) return;
  const { status, headers, body } = response;
  let fields = fieldsOf.get(headers);
  if (fields === undefined) {
    fields = { ...headers, ":status": status };
    if (Object.isFrozen(headers)) fieldsOf.set(headers, fields);
  }
  if (body === null || request.method === "HEAD") stream.respond(fields, { endStream: true });
  else {
    stream.respond(fields);
    stream.end(body);
  }
  // A body that nobody wanted.
  if (!stream.endAfterHeaders && !request.isRead) stream.resume();
}
