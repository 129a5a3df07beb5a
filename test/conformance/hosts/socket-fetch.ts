import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { Agent, type Dispatcher, request as send } from "undici";
import { DEADLINE } from "../../deadline.ts";
import type { Fetch } from "../http-case.ts";

/** A client of one server. It adds nothing to a request: no Accept, no User-Agent. */
export interface SocketClient {
  readonly fetch: Fetch;
  close(): Promise<void>;
}

/** Connects to a server by its origin, by HTTP/2 where it offers that, trusting a certificate in PEM. */
export function connectTo(url: string, ca?: string, { allowH2 = true } = {}): SocketClient {
  const connect = {
    timeout: DEADLINE,
    ...(ca !== undefined && { ca }),
    // A request may name a host that the certificate does not: that it is this very certificate is checked.
    checkServerIdentity: () => undefined,
  };
  const dispatcher = new Agent({ allowH2, connect });
  return {
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      const { "content-length": declared, ...headers } = Object.fromEntries(request.headers);
      const {
        statusCode,
        headers: fields,
        body,
      } = await send(`${url}${pathname}${search}`, {
        dispatcher,
        method: request.method as Dispatcher.HttpMethod,
        headers,
        // undici declares the length of bytes, and of no stream.
        body: declared === undefined ? streamOf(request) : Buffer.from(await request.arrayBuffer()),
      });
      const bytes = await body.arrayBuffer();
      return new Response(bytes.byteLength === 0 ? null : bytes, {
        status: statusCode,
        headers: toHeaders(fields),
      });
    },
    close: () => dispatcher.destroy(),
  };
}

function streamOf({ body }: Request): Readable | null {
  return body && Readable.fromWeb(body as ReadableStream<Uint8Array>);
}

function toHeaders(fields: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields))
    for (const one of [value ?? []].flat()) headers.append(name, one);
  return headers;
}
