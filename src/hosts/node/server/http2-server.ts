import type { TLSSocket } from "node:tls";
import type { ServerLimits } from "../../../config/limits/server-limits.ts";
import type { HttpResponse } from "../../../http/messages/message.ts";
import { Http2Connection } from "../../../http2/connection.ts";
import { ErrorCode } from "../../../http2/protocol.ts";
import type { Http2Events, Http2Stream } from "../../../http2/stream.ts";
import { NodeClient } from "../access/node-client.ts";
import type { IsMisdirected } from "../tls/misdirected.ts";
import { answerRequest, type RequestHandlers } from "./answer-request.ts";
import type { ConnectionGuard } from "./connection-guard.ts";
import type { HeldConnection } from "./held-connections.ts";
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
export function answerHttp2(socket: TLSSocket, parts: AnsweringParts): void {
  const { guard, limits } = parts;
  const held = guard.heldBelow(socket);
  if (held === undefined) {
    socket.destroy();
    return;
  }
  const { streamsPerConnection: streams, headerBytes, headerFields } = limits;
  const events = new AnsweredConnection(socket, held, parts);
  guard.started(held, new Http2Connection(socket, { streams, headerBytes, headerFields }, events));
}

/** A class, since a function for each event and connection takes 400 bytes of an idle connection. */
class AnsweredConnection implements Http2Events {
  readonly failed: (error: Error) => void;
  readonly #socket: TLSSocket;
  readonly #held: HeldConnection;
  readonly #parts: AnsweringParts;
  readonly #client: NodeClient;
  readonly #ended: () => void;

  constructor(socket: TLSSocket, held: HeldConnection, parts: AnsweringParts) {
    this.failed = parts.protection.errors.listeners.http2;
    this.#socket = socket;
    this.#held = held;
    this.#parts = parts;
    this.#client = new NodeClient(socket, true);
    this.#ended = () => parts.guard.ended(held);
  }

  request(stream: Http2Stream): void {
    const { guard, handlers } = this.#parts;
    try {
      if (!guard.began(this.#held, stream)) return;
      stream.whenClosed = this.#ended;
      const refused = this.#reject(stream);
      if (refused !== undefined) stream.respond(refused);
      else answerRequest(new Http2Request(stream, this.#client), handlers);
    } catch (error) {
      handlers.onError(error);
      stream.reset(ErrorCode.INTERNAL_ERROR);
    }
  }

  reset(): void {
    this.#parts.guard.reset(this.#held);
  }

  flooded(): void {
    this.#parts.protection.counters.hit("http2");
  }

  #reject(stream: Http2Stream): HttpResponse | undefined {
    const { exceeds } = stream;
    const { protection, isMisdirected } = this.#parts;
    if (exceeds !== undefined) {
      protection.counters.hit(exceeds === "fields" ? "limits.headerFields" : "limits.headerBytes");
      return TOO_LARGE;
    }
    if (isMisdirected?.(this.#socket, stream.line.authority)) return MISDIRECTED;
    const expect = stream.field("expect");
    return expect === null || CONTINUE.test(expect) ? undefined : UNMET_EXPECTATION;
  }
}
