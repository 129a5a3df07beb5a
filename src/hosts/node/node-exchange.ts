import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Exchange, HttpRequest, HttpResponse } from "../../http/exchange.ts";
import { NodeConnection } from "./node-connection.ts";

export type Incoming = IncomingMessage | Http2ServerRequest;
export type Outgoing = ServerResponse | Http2ServerResponse;

/** Exchanges that Node carries out without the objects of the Fetch standard, which cost more than an answer. */
export interface NodeExchanges {
  /** By the path of the request, exactly. */
  readonly byPath: ReadonlyMap<string, Exchange>;
  /** Makes the response where one of them threw. */
  readonly failed: (request: HttpRequest, error: unknown) => HttpResponse;
}

/** Longer bodies, and those of unknown length, go through the application, which reads them in parts. */
const LONGEST_BODY = 65_535;

/** Carries out an exchange; false where the request is for the application. */
export function exchangeOnNode(
  { byPath, failed }: NodeExchanges,
  incoming: Incoming,
  outgoing: Outgoing,
): boolean {
  const url = incoming.url!;
  const question = url.indexOf("?");
  const exchange = byPath.get(question === -1 ? url : url.slice(0, question));
  if (exchange === undefined || !hasShortBody(incoming)) return false;
  const request = new NodeRequest(incoming);
  try {
    const answered = exchange(request);
    if (answered instanceof Promise)
      answered.then(
        (response) => send(response, incoming, outgoing),
        (error) => send(failed(request, error), incoming, outgoing),
      );
    else send(answered, incoming, outgoing);
  } catch (error) {
    send(failed(request, error), incoming, outgoing);
  }
  return true;
}

function hasShortBody({ method, headers }: Incoming): boolean {
  if (headers["transfer-encoding"] !== undefined) return false;
  const length = headers["content-length"];
  if (length === undefined) return method === "GET" || method === "HEAD";
  return Number(length) <= LONGEST_BODY;
}

class NodeRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly #incoming: Incoming;

  constructor(incoming: Incoming) {
    this.method = incoming.method!;
    this.url = incoming.url!;
    this.#incoming = incoming;
  }

  get connection(): NodeConnection {
    return new NodeConnection(this.#incoming);
  }

  header(name: string): string | null {
    const value = this.#incoming.headers[name];
    return typeof value === "string" ? value : (value?.join(", ") ?? null);
  }

  body(most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const incoming = this.#incoming;
    return new Promise((resolve, reject) => {
      const parts: Buffer<ArrayBuffer>[] = [];
      let size = 0;
      incoming.on("data", (part: Buffer<ArrayBuffer>) => {
        size += part.length;
        if (size <= most) parts.push(part);
      });
      incoming.on("end", () =>
        resolve(size > most ? undefined : parts.length === 1 ? parts[0] : Buffer.concat(parts)),
      );
      const cutOff = () => reject(new Error("the body ended before it was whole"));
      incoming.on("error", cutOff);
      incoming.on("close", cutOff);
    });
  }
}

function send({ status, headers, body }: HttpResponse, incoming: Incoming, outgoing: Outgoing): void {
  const octets = typeof body === "string" ? Buffer.from(body) : body;
  // What nobody read of a body has to go before the connection can be used again.
  if (!incoming.readableEnded && incoming.method !== "GET" && incoming.method !== "HEAD") incoming.resume();
  if (outgoing.destroyed) return;
  // Both kinds take these arguments; their overloads differ.
  (outgoing as ServerResponse).writeHead(
    status,
    octets === null || "content-length" in headers
      ? headers
      : { ...headers, "content-length": String(octets.length) },
  );
  if (octets === null || incoming.method === "HEAD") outgoing.end();
  else outgoing.end(octets);
}
