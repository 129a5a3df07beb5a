import type { Handler, HttpRequest, HttpResponse } from "../../../http/messages/message.ts";
import { pathOf } from "../../../http/messages/message.ts";
import { BodyCutOff } from "../../../http2/stream.ts";
import { type Application, refusal } from "./fetch-request.ts";
import type { NodeRequest } from "./node-request.ts";

/**
 * The handlers that run without the objects of the Fetch standard, which cost more than an answer (docs/explanation/benchmarks.md).
 */
export interface PathHandlers {
  /** The handler of a path; undefined if the application answers it. */
  at(path: string): Handler | undefined;
  /** Makes the response if a handler threw. */
  readonly failed: (request: HttpRequest, error: unknown) => HttpResponse;
}

/** The handlers of requests. */
export interface RequestHandlers {
  readonly paths: PathHandlers | undefined;
  readonly application: Application;
  /** Called for an error that could not become a response. */
  readonly onError: (error: unknown) => void;
}

/** Answers one request. An exception becomes a 500, or ends this request only. */
export function answerRequest(request: NodeRequest, handlers: RequestHandlers): void {
  const { paths, application } = handlers;
  try {
    const handler = paths?.at(pathOf(request.url));
    const answered = handler === undefined ? application(request) : handler(request);
    if (answered instanceof Promise)
      answered
        .then((response) => request.respond(response))
        .catch((error) => answerFailure(request, error, handlers));
    else request.respond(answered);
  } catch (error) {
    answerFailure(request, error, handlers);
  }
}

function answerFailure(request: NodeRequest, error: unknown, { paths, onError }: RequestHandlers): void {
  try {
    if (error instanceof BodyCutOff) {
      request.respond(refusal(400, error.message));
      return;
    }
    if (paths === undefined) onError(error);
    request.respond(
      paths?.failed(request, error) ?? refusal(500, "the gateway failed to answer; its log has the reason"),
    );
  } catch (again) {
    onError(again);
    request.abort();
  }
}
