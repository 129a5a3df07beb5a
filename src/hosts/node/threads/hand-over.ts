import type { MessagePort, Transferable } from "node:worker_threads";
import type { Client } from "../../../access/client.ts";
import { type HttpResponse, pathOf } from "../../../http/messages/message.ts";
import { isUrgent } from "../../../http/route-table.ts";
import {
  type Application,
  type FetchHandler,
  headersOf,
  mayHaveBody,
  targetOf,
  toHttpResponse,
} from "../server/requests.ts";

/**
 * Requests that a thread has handed over and the main thread has not begun with, of those that can wait and
 * of the urgent ones. Above it they wait here, where those whose clients have gone are dropped: otherwise a
 * client that sends requests and leaves would keep the main thread busy for minutes.
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
  readonly #urgent = new Lane();
  readonly #others = new Lane();
  #last = 0;

  constructor(port: MessagePort) {
    this.#port = port;
    port.on("message", (message: HandedResponse | TakenRequest) => {
      if ("taken" in message) return this.#taken(message.taken);
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
    const { method, rawHeaders: headers } = request;
    const urgent = isUrgent(method, pathOf(request.url));
    const lane = urgent ? this.#urgent : this.#others;
    // Members of the client are getters, which cannot be posted.
    const { address, certificate, certificateIdentity, location }: Client = request.client;
    const client = { address, certificate, certificateIdentity, location };
    if (lane.isFull) await lane.room();
    const id = ++this.#last;
    lane.untaken.add(id);
    // Not while it waits: the client sends no more than its connection's window before a body is taken.
    const arrived = mayHaveBody(method) ? await request.arrivedBody(MOST_WHOLE_BYTES) : null;
    if (request.isClosed) {
      this.#taken(id);
      return CLIENT_GONE;
    }
    const body = arrived === undefined ? request.bodyStream() : arrived;
    const handed: HandedRequest = { id, urgent, method, url, headers, client, body };
    return new Promise<HandedResponse>((resolve) => {
      this.#port.postMessage(handed, transferred(body) as Transferable[]);
      this.#waiting.set(id, resolve);
      request.whenGone(() => this.#gone(id));
    });
  };

  #gone(id: number): void {
    if (this.#waiting.has(id)) this.#port.postMessage({ gone: id } satisfies GoneClient);
  }

  #taken(id: number): void {
    for (const lane of [this.#urgent, this.#others]) if (lane.untaken.delete(id)) lane.next();
  }
}

/** Requests that wait for the main thread. */
class Lane {
  readonly untaken = new Set<number>();
  /** Those that wait for room, in order. */
  readonly #queue: (() => void)[] = [];

  get isFull(): boolean {
    return this.untaken.size >= MOST_UNTAKEN || this.#queue.length > 0;
  }

  /** Resolves when it is the turn of this one. */
  room(): Promise<void> {
    return new Promise((resolve) => this.#queue.push(resolve));
  }

  next(): void {
    this.#queue.shift()?.();
  }
}

type Bytes = Uint8Array<ArrayBuffer>;

/** A request that an answering thread hands to the main thread. */
export interface HandedRequest {
  readonly id: number;
  /** See `isUrgent`. */
  readonly urgent: boolean;
  readonly method: string;
  readonly url: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly client: Client;
  /**
   * Whole if it came with the request: a stream costs messages in both directions. Read as fast as the other
   * thread takes it.
   */
  readonly body: ReadableStream<Uint8Array> | Bytes | null;
}

/** The client of a request has gone before it had its response. */
type GoneClient = { readonly gone: number };

/** Its response. */
export interface HandedResponse extends HttpResponse {
  readonly id: number;
}

/** The main thread has begun with a request, which takes longer. */
type TakenRequest = { readonly taken: number };

/** What has to be transferred with a message that has a body. */
export function transferred(
  body: ReadableStream<Uint8Array> | Bytes | null,
): (ReadableStream | ArrayBuffer)[] {
  if (body === null) return [];
  return [body instanceof ReadableStream ? body : body.buffer];
}

/**
 * Answers the requests that an answering thread hands over, urgent ones first.
 * @param ended aborts when the thread has ended: then bodies that it would have sent or read end with an
 * error
 */
export function answerHanded(
  port: MessagePort,
  fetch: FetchHandler,
  ended: AbortSignal,
  onError: (error: unknown) => void,
): void {
  const clients = new Map<number, AbortController>();
  const urgent: HandedRequest[] = [];
  const others: HandedRequest[] = [];
  const answer = async ({ id, method, url, headers, client, body }: HandedRequest): Promise<void> => {
    const gone = clients.get(id)!;
    const request = new Request(url, {
      method,
      headers: headersOf(headers),
      signal: gone.signal,
      ...(body !== null && {
        body: body instanceof ReadableStream ? endedBy(body, ended) : body,
        duplex: "half",
      }),
    } as RequestInit);
    const response = gone.signal.aborted ? CLIENT_GONE : await toHttpResponse(await fetch(request, client));
    // An unread body would keep its ports open in both threads.
    if (request.body?.locked === false) request.body.cancel().catch(() => {});
    const stream = response.stream && endedBy(response.stream, ended);
    const message: HandedResponse = { ...response, id, stream };
    port.postMessage(message, transferred(stream ?? response.body) as Transferable[]);
  };
  const begin = (request: HandedRequest): void => {
    let isAnswered = false;
    answer(request)
      .catch((error) => {
        onError(error);
        port.postMessage({ id: request.id, status: 500, headers: {}, body: null } satisfies HandedResponse);
      })
      .finally(() => {
        isAnswered = true;
        clients.delete(request.id);
      });
    // Most are answered by then.
    setImmediate(() => {
      if (!isAnswered) port.postMessage({ taken: request.id } satisfies TakenRequest);
    });
  };
  // One in each turn of the event loop: a port gives up to 1,000 messages, more of which arrive meanwhile,
  // before sockets and timers have their turns.
  const takeNext = (): void => {
    const request = urgent.shift() ?? others.shift()!;
    if (urgent.length + others.length > 0) setImmediate(takeNext);
    begin(request);
  };
  port.on("message", (request: HandedRequest | GoneClient) => {
    if ("gone" in request) {
      clients.get(request.gone)?.abort();
      return;
    }
    clients.set(request.id, new AbortController());
    if (urgent.length + others.length === 0) setImmediate(takeNext);
    (request.urgent ? urgent : others).push(request);
  });
}

/** The other end of a stream in a thread that has ended never closes by itself. */
function endedBy(body: ReadableStream<Uint8Array>, ended: AbortSignal): ReadableStream<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  body.pipeTo(writable, { signal: ended }).catch(() => {});
  return readable;
}
