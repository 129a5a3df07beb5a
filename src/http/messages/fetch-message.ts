import type { Client } from "../../access/client/client.ts";
import type { HttpRequest, HttpResponse } from "./http-message.ts";

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
    if (declared === null) return readUndeclared(this.#request.body, most);
    if (!(Number(declared) <= most)) return Promise.resolve(undefined);
    return this.#request
      .arrayBuffer()
      .then((body) => (body.byteLength <= most ? new Uint8Array(body) : undefined));
  }
}

async function readUndeclared(
  stream: ReadableStream<Uint8Array> | null,
  most: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (stream === null) return new Uint8Array(0);
  const body = new Uint8Array(most);
  let size = 0;
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (size + part.value.length > most) {
      await reader.cancel();
      return undefined;
    }
    body.set(part.value, size);
    size += part.value.length;
  }
  return body.subarray(0, size);
}

/** The response as an object of the Fetch standard. */
export function toResponse({ status, headers, body }: HttpResponse): Response {
  return new Response(body, { status, headers });
}
