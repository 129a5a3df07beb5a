import type { MessagePort, Transferable } from "node:worker_threads";
import { type FetchHandler, headersOf, toHttpResponse } from "../../server/fetch-request.ts";
import {
  type GoneClient,
  type HandedRequest,
  type HandedResponse,
  type TakenRequest,
  transferred,
} from "./handed-messages.ts";

/**
 * Answers the requests that an answering thread hands over.
 * @param ended aborts when the thread has ended: then bodies that it would have sent or read end with an error
 */
export function answerHanded(
  port: MessagePort,
  fetch: FetchHandler,
  ended: AbortSignal,
  onError: (error: unknown) => void,
): void {
  const clients = new Map<number, AbortController>();
  const answer = async ({ id, method, url, headers, client, body }: HandedRequest): Promise<void> => {
    const gone = new AbortController();
    clients.set(id, gone);
    const request = new Request(url, {
      ...{ method, headers: headersOf(headers), signal: gone.signal },
      ...(body !== null && {
        body: body instanceof ReadableStream ? endedBy(body, ended) : body,
        duplex: "half",
      }),
    } as RequestInit);
    const {
      status,
      headers: fields,
      body: whole,
      stream,
    } = await toHttpResponse(await fetch(request, client));
    // A body that nobody read would keep its ports open in both threads.
    if (request.body?.locked === false) request.body.cancel().catch(() => {});
    const streamed = stream && endedBy(stream, ended);
    const message: HandedResponse = { id, status, headers: fields, body: whole, stream: streamed };
    port.postMessage(message, transferred(streamed ?? whole) as Transferable[]);
  };
  port.on("message", (request: HandedRequest | GoneClient) => {
    if ("gone" in request) {
      clients.get(request.gone)?.abort();
      return;
    }
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
  });
}

/** The other end of a stream in a thread that has ended is never heard of. */
function endedBy(body: ReadableStream<Uint8Array>, ended: AbortSignal): ReadableStream<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  body.pipeTo(writable, { signal: ended }).catch(() => {});
  return readable;
}
