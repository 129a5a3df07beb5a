import type { TLSSocket } from "node:tls";
import type { ServerLimits } from "../../../config/limits/server-limits.ts";
import type { HttpResponse } from "../../../http/messages/http-message.ts";
import { NodeClient } from "../access/node-client.ts";
import type { IsMisdirected } from "../tls/misdirected.ts";
import { answerRequest, type RequestHandlers } from "./answer-request.ts";
import type { ConnectionGuard } from "./connection-guard.ts";
import { Http2Connection } from "./http2/connection.ts";
import type { Http2Events } from "./http2/options.ts";
import { ErrorCode } from "./http2/protocol.ts";
import type { Http2Stream } from "./http2/stream.ts";
import { Http2Request } from "./http2-request.ts";
import { MISDIRECTED, TOO_LARGE, UNMET_EXPECTATION } from "./request-checks.ts";
import type { ServerProtection } from "./server-protection.ts";

/** What answers requests, within their limits. */
export interface AnsweringParts {
  readonly limits: ServerLimits;
  readonly handlers: RequestHandlers;
  readonly guard: ConnectionGuard;
  readonly protection: Pick<ServerProtection, "counters" | "errors">;
  /** Default: no request is. */
  readonly isMisdirected?: IsMisdirected | undefined;
}

const CONTINUE = /^100-continue$/i;

/** Answers the requests of a connection for which HTTP/2 was negotiated. */
export function answerHttp2(
  socket: TLSSocket,
  { limits, handlers, guard, protection, isMisdirected }: AnsweringParts,
): void {
  const held = guard.heldBelow(socket);
  if (held === undefined) {
    socket.destroy();
    return;
  }
  const { counters, errors } = protection;
  const client = new NodeClient(socket, true);
  const ended = () => guard.ended(held);
  const events: Http2Events = {
    request(stream) {
      try {
        if (!guard.began(held, stream)) return;
        stream.whenClosed = ended;
        const refused = reject(stream);
        if (refused !== undefined) stream.respond(refused);
        else answerRequest(new Http2Request(stream, client), handlers);
      } catch (error) {
        handlers.onError(error);
        stream.reset(ErrorCode.INTERNAL_ERROR);
      }
    },
    reset: () => guard.reset(held),
    flooded: () => counters.hit("http2"),
    failed: errors.listeners.http2,
  };
  const reject = (stream: Http2Stream): HttpResponse | undefined => {
    const { exceeds } = stream;
    if (exceeds !== undefined) {
      counters.hit(exceeds === "fields" ? "limits.headerFields" : "limits.headerBytes");
      return TOO_LARGE;
    }
    if (isMisdirected?.(socket, stream.line.authority)) return MISDIRECTED;
    const expect = stream.field("expect");
    return expect === null || CONTINUE.test(expect) ? undefined : UNMET_EXPECTATION;
  };
  const { streamsPerConnection: streams, headerBytes, headerFields } = limits;
  guard.started(held, new Http2Connection(socket, { streams, headerBytes, headerFields }, events));
}
