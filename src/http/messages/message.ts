import type { Client } from "../../access/client.ts";
import type { MaybePromise } from "../../access/url-tokens.ts";
import { readAtMost } from "../../dns/bounded-body.ts";
import type { Background } from "../../transfer/secondary.ts";

/**
 * A request to the DNS and JSON routes, with the members that every host has without making a Request object.
 * On Node a Request and a Response cost more than the answer (docs/explanation/benchmarks.md).
 */
export interface HttpRequest {
  readonly method: string;
  /** The path and query, or the whole URL. */
  readonly url: string;
  /**
   * The requested host, with its port if it has one (RFC 9110 section 7.2); empty if the client names no
   * host.
   */
  readonly host: string;
  readonly client: Partial<Client> | undefined;
  /** A header field by its name in lower case; null if it is absent. */
  header(name: string): string | null;
  /**
   * The body; undefined if it is longer than `most` bytes. May be called once. Without a promise if the
   * request came whole; then its bytes may change after the turn.
   * @throws {Error} if the body ended before it was complete
   */
  body(most: number): MaybePromise<Uint8Array<ArrayBuffer> | undefined>;
}

/**
 * A response that every host can send. `headers` contain the body's length; callers must not change them,
 * since responses share them.
 */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | null;
  /** A body that is sent as it comes, instead of `body`. */
  readonly stream?: ReadableStream<Uint8Array> | undefined;
}

/**
 * Answers one request; without a promise if it can.
 * @param background runs work that continues after the response; default: nothing is needed
 */
export type Handler = (request: HttpRequest, background?: Background) => HttpResponse | Promise<HttpResponse>;

/** A request of the Fetch standard. */
export class FetchRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly client: Partial<Client> | undefined;
  readonly #request: Request;
  readonly #headers: Headers;

  /** @param url instead of the request's own */
  constructor(request: Request, client: Partial<Client> | undefined, url: string = request.url) {
    this.method = request.method;
    this.url = url;
    this.client = client;
    this.#request = request;
    this.#headers = request.headers;
  }

  get host(): string {
    const { url } = this.#request;
    const start = url.indexOf("//") + 2;
    const end = url.slice(start).search(/[/?#]/);
    return end === -1 ? url.slice(start) : url.slice(start, start + end);
  }

  header(name: string): string | null {
    return this.#headers.get(name);
  }

  /** The host enforces a declared length. */
  body(most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const declared = this.header("content-length");
    if (declared === null) return readAtMost(this.#request.body, most);
    if (!(Number(declared) <= most)) return Promise.resolve(undefined);
    return this.#request
      .arrayBuffer()
      .then((body) => (body.byteLength <= most ? new Uint8Array(body) : undefined));
  }
}

/** The response as an object of the Fetch standard. */
export function toResponse({ status, headers, body }: HttpResponse): Response {
  return new Response(body, { status, headers });
}

const QUESTION_MARK = 0x3f;
const HASH = 0x23;

/** The path of a URL, or of a path with its query. */
export function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : Math.max(0, url.indexOf("/", 8));
  let end = start;
  for (; end < url.length; end++) {
    const code = url.charCodeAt(end);
    if (code === QUESTION_MARK || code === HASH) break;
  }
  return url.slice(start, end);
}

/**
 * A path whose unreserved characters are not percent-encoded: the same resource (RFC 3986 section 6.2.2.2).
 */
export function plainPath(path: string): string {
  return path.replace(/%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi, (code) => decodeURIComponent(code));
}

/** A request with another URL. */
export function rerouted(request: HttpRequest, url: string): HttpRequest {
  const { method, host, client } = request;
  return {
    method,
    url,
    host,
    client,
    header: (name) => request.header(name),
    body: (most) => request.body(most),
  };
}
