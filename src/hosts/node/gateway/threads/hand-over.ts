import type { MessagePort, Transferable } from "node:worker_threads";
import type { Client } from "../../../../access/client/client.ts";
import type { FetchHandler } from "../../server/fetch-request.ts";
import {
  type HandedRequest,
  type HandedResponse,
  type TakenRequest,
  transferred,
} from "./handed-messages.ts";

/**
 * Requests that a thread has handed over and the main thread has not begun with. Above it they wait here, where those whose clients have gone
 * are dropped: otherwise a client that sends requests and leaves would keep the main thread busy for minutes.
 */
const MOST_UNTAKEN = 64;

/** The status of a response to a client that has gone, so that none is sent. */
const CLIENT_GONE = 503;

/** Hands requests to the main thread: pushes, transfers, pages, metrics, federations, explanations. */
export class HandOver {
  readonly #port: MessagePort;
  readonly #waiting = new Map<number, (response: HandedResponse) => void>();
  readonly #untaken = new Set<number>();
  /** Requests that wait for room, in order. */
  readonly #queue: (() => void)[] = [];
  #last = 0;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on("message", (message: HandedResponse | TakenRequest) => {
      if ("taken" in message) {
        this.#taken(message.taken);
        return;
      }
      const answered = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      answered?.(message);
      this.#taken(message.id);
    });
  }

  /** Answers with what the main thread answers. Bodies stream, no faster than they are read. */
  readonly fetch: FetchHandler = async (request, client, sender) => {
    if (this.#untaken.size >= MOST_UNTAKEN || this.#queue.length > 0) {
      await new Promise<void>((resolve) => this.#queue.push(resolve));
      if (sender?.isClosed) {
        this.#next();
        return new Response(null, { status: CLIENT_GONE });
      }
    }
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
      this.#port.postMessage(handed, transferred(body) as Transferable[]);
      this.#waiting.set(id, resolve);
      this.#untaken.add(id);
    });
    const { status } = response;
    return new Response(response.body, { status, headers: response.headers as [string, string][] });
  };

  #taken(id: number): void {
    if (this.#untaken.delete(id)) this.#next();
  }

  #next(): void {
    this.#queue.shift()?.();
  }
}

function plainClient({
  address,
  certificate,
  certificateIdentity,
  location,
}: Client): HandedRequest["client"] {
  return { address, certificate, certificateIdentity, location };
}
