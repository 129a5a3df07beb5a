import type { Client } from "../../access/client/client.ts";
import type { HttpRequest } from "./http-message.ts";

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

/** A path whose unreserved characters are not percent-encoded: the same resource (RFC 3986 section 6.2.2.2). */
export function plainPath(path: string): string {
  return path.replace(/%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi, (code) => decodeURIComponent(code));
}

/** A request with another URL. */
export class ReroutedRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly #request: HttpRequest;

  constructor(request: HttpRequest, url: string) {
    this.method = request.method;
    this.url = url;
    this.#request = request;
  }

  get host(): string {
    return this.#request.host;
  }

  get client(): Partial<Client> | undefined {
    return this.#request.client;
  }

  header(name: string): string | null {
    return this.#request.header(name);
  }

  body(most: number): ReturnType<HttpRequest["body"]> {
    return this.#request.body(most);
  }
}
