import type { MessagePort, Transferable } from "node:worker_threads";
import type { Client } from "../../../../access/client.ts";
import type { HttpResponse } from "../../../../http/messages/message.ts";
import { type Application, mayHaveBody, targetOf } from "../../server/fetch-request.ts";
import {
  type GoneClient,
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

/** Bodies up to here are handed over whole if they came with their requests: small pushes and renewals. */
const MOST_WHOLE_BYTES = 64 * 1024;

/** The response to a client that has gone: none is sent. */
const CLIENT_GONE: HttpResponse = { status: 503, headers: {}, body: null };

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
  readonly answer: Application = async (request) => {
    const url = targetOf(request);
    if (typeof url !== "string") return url;
    const { method, rawHeaders: headers, client } = request;
    const arrived = mayHaveBody(method) ? await request.arrivedBody(MOST_WHOLE_BYTES) : null;
    if (this.#untaken.size >= MOST_UNTAKEN || this.#queue.length > 0) {
      await new Promise<void>((resolve) => this.#queue.push(resolve));
      if (request.isClosed) {
        this.#next();
        return CLIENT_GONE;
      }
    }
    const id = ++this.#last;
    const body = arrived === undefined ? request.bodyStream() : arrived;
    const handed: HandedRequest = { id, method, url, headers, client: plainClient(client), body };
    return new Promise<HandedResponse>((resolve) => {
      this.#port.postMessage(handed, transferred(body) as Transferable[]);
      this.#waiting.set(id, resolve);
      this.#untaken.add(id);
      request.whenGone(() => this.#gone(id));
    });
  };

  #gone(id: number): void {
    if (this.#waiting.has(id)) this.#port.postMessage({ gone: id } satisfies GoneClient);
  }

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
