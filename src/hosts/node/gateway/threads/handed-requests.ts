import type { MessagePort, Transferable } from "node:worker_threads";
import type { FetchHandler } from "../../server/fetch-request.ts";
import {
  type HandedBody,
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
  const answer = async ({ id, method, url, headers, client, body }: HandedRequest): Promise<void> => {
    const request = new Request(url, {
      ...{ method, headers: headers as [string, string][] },
      ...(body !== null && { body: endedBy(body, ended), duplex: "half" }),
    } as RequestInit);
    const response = await fetch(request, client);
    const { status } = response;
    const answered = await bodyOf(response, ended);
    // A body that nobody read would keep its ports open in both threads.
    if (request.body?.locked === false) request.body.cancel().catch(() => {});
    const message: HandedResponse = { id, status, headers: [...response.headers], body: answered };
    port.postMessage(message, transferred(answered) as Transferable[]);
  };
  port.on("message", (request: HandedRequest) => {
    let isAnswered = false;
    answer(request)
      .catch((error) => {
        onError(error);
        port.postMessage({ id: request.id, status: 500, headers: [], body: null } satisfies HandedResponse);
      })
      .finally(() => {
        isAnswered = true;
      });
    // Most are answered by then.
    setImmediate(() => {
      if (!isAnswered) port.postMessage({ taken: request.id } satisfies TakenRequest);
    });
  });
}

/** A response without an end in sight is streamed (fetch-request.ts); any other is whole. */
async function bodyOf(response: Response, ended: AbortSignal): Promise<HandedBody> {
  if (response.body === null) return null;
  if (response.headers.get("x-accel-buffering") === "no") return endedBy(response.body, ended);
  return new Uint8Array(await response.arrayBuffer());
}

/** The other end of a stream in a thread that has ended is never heard of. */
function endedBy(body: ReadableStream<Uint8Array>, ended: AbortSignal): ReadableStream<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  body.pipeTo(writable, { signal: ended }).catch(() => {});
  return readable;
}
