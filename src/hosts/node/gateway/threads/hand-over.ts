import type { MessagePort, Transferable } from "node:worker_threads";
import type { Client } from "../../../../access/client/client.ts";
import type { FetchHandler } from "../../server/fetch-request.ts";
import { type HandedRequest, type HandedResponse, transferred } from "./handed-messages.ts";

/** Hands requests to the main thread: pushes, transfers, pages, metrics, federations, explanations. */
export class HandOver {
  readonly #port: MessagePort;
  readonly #waiting = new Map<number, (response: HandedResponse) => void>();
  #last = 0;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on("message", (response: HandedResponse) => {
      const answered = this.#waiting.get(response.id);
      this.#waiting.delete(response.id);
      answered?.(response);
    });
  }

  /** Answers with what the main thread answers. Bodies stream, no faster than they are read. */
  readonly fetch: FetchHandler = async (request, client) => {
    const { method, url, headers, body } = request;
    const id = ++this.#last;
    const handed: HandedRequest = {
      id,
      method,
      url,
      headers: [...headers],
      client: plainClient(client),
      body,
    };
    const response = await new Promise<HandedResponse>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#port.postMessage(handed, transferred(body) as Transferable[]);
    });
    const { status } = response;
    return new Response(response.body, { status, headers: response.headers as [string, string][] });
  };
}

function plainClient({
  address,
  certificate,
  certificateIdentity,
  location,
}: Client): HandedRequest["client"] {
  return { address, certificate, certificateIdentity, location };
}
