import type { Client } from "../../access/client.ts";
import type { App } from "../../http/app.ts";
import type { HttpResponse } from "../../http/messages/message.ts";
import { FetchRequest, pathOf } from "../../http/messages/message.ts";
import { locationOf } from "./bindings.ts";

/** A request of Cloudflare to a Worker. */
export type EdgeRequest = Request<unknown, IncomingRequestCfProperties>;

/**
 * The client of a request at Cloudflare. Members are read on demand, since every access leaves JavaScript.
 */
export class EdgeClient implements Client {
  readonly certificate = "none";
  readonly #request: EdgeRequest;

  constructor(request: EdgeRequest) {
    this.#request = request;
  }

  /** Cloudflare overwrites a client's field of this name. */
  get address(): string | undefined {
    return this.#request.headers.get("cf-connecting-ip") ?? undefined;
  }

  get location() {
    return locationOf(this.#request.cf);
  }
}

/**
 * Answers a request. DNS and JSON bypass the objects of the Fetch standard, which cost more than the answer
 * (docs/explanation/benchmarks.md).
 */
export function answerAtEdge(
  app: App,
  request: EdgeRequest,
  context: ExecutionContext,
): Response | Promise<Response> {
  const received = new FetchRequest(request, new EdgeClient(request));
  const background = (work: Promise<void>) => context.waitUntil(work);
  const handler = app.handlerAt(pathOf(received.url));
  if (handler === undefined) return app.fetch(request, new EdgeClient(request), background);
  // The runtime takes the length of a response to HEAD from this field only.
  const toResponse = request.method === "HEAD" ? withAllFields : withFewFields;
  try {
    const answered = handler(received, background);
    if (!(answered instanceof Promise)) return toResponse(answered);
    return answered.then(toResponse, (error) => toResponse(app.failed(received, error)));
  } catch (error) {
    return toResponse(app.failed(received, error));
  }
}

/** Answers share equal header fields, and so also the form that workerd copies fastest. */
const kept = new WeakMap<HttpResponse["headers"], Headers>();

function withFewFields({ status, headers, body }: HttpResponse): Response {
  let fields = kept.get(headers);
  if (fields === undefined) {
    fields = new Headers(headers);
    // The runtime knows the length of the body, and every field of a response costs time.
    fields.delete("content-length");
    if (Object.isFrozen(headers)) kept.set(headers, fields);
  }
  return new Response(body, { status, headers: fields });
}

function withAllFields({ status, headers }: HttpResponse): Response {
  return new Response(null, { status, headers });
}
