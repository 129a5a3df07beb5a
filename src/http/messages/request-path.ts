import type { Client } from "../../access/client/client.ts";
import type { HttpRequest } from "./http-message.ts";

/** The path of a URL, or of a path with its query. */
export function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : Math.max(0, url.indexOf("/", 8));
  const end = url.slice(start).search(/[?#]/);
  return end === -1 ? url.slice(start) : url.slice(start, start + end);
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

  body(most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return this.#request.body(most);
  }
}
