import type { TLSSocket } from "node:tls";
import type { MaybePromise } from "../../../access/url-tokens.ts";
import type { ServerLimits } from "../../../config/limits.ts";
import type { HttpResponse } from "../../../http/messages/message.ts";
import { Http2Connection } from "../../../http2/connection.ts";
import { ErrorCode } from "../../../http2/protocol.ts";
import type { Http2Events, Http2Stream } from "../../../http2/stream.ts";
import { NodeClient } from "../access/node-admission.ts";
import type { IsMisdirected } from "../tls.ts";
import type { NodeRequest } from "./answer-request.ts";
import {
  answerRequest,
  MISDIRECTED,
  type RequestHandlers,
  TOO_LARGE,
  UNMET_EXPECTATION,
} from "./answer-request.ts";
import type { ConnectionGuard } from "./connection-guard.ts";
import type { HeldConnection, ServerProtection } from "./connections.ts";

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
  readonly #ended: (stream: Http2Stream) => void;

  constructor(socket: TLSSocket, held: HeldConnection, parts: AnsweringParts) {
    this.failed = parts.protection.errors.listeners.http2;
    this.#socket = socket;
    this.#held = held;
    this.#parts = parts;
    this.#client = new NodeClient(socket, true);
    this.#ended = (stream) => parts.guard.ended(held, stream);
  }

  request(stream: Http2Stream): void {
    const { guard, handlers } = this.#parts;
    try {
      if (!guard.began(this.#held, stream)) return;
      stream.whenClosed = this.#ended;
      const refused = this.#reject(stream);
      if (refused !== undefined) stream.respond(refused);
      else answerRequest(new Http2Request(stream, this.#client, this), handlers);
    } catch (error) {
      handlers.onError(error);
      stream.reset(ErrorCode.INTERNAL_ERROR);
    }
  }

  /** A response of so many bytes was begun. */
  responded(stream: Http2Stream, bytes: number): void {
    if (stream.output !== undefined) this.#parts.guard.waits(this.#held, stream, bytes);
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

/** A request over HTTP/2. */
export class Http2Request implements NodeRequest {
  readonly method: string;
  readonly url: string;
  readonly scheme = "https";
  readonly #stream: Http2Stream;
  readonly #connection: Pick<AnsweredConnection, "responded">;
  /** The same object for all requests of a connection. */
  readonly client: NodeClient;

  constructor(stream: Http2Stream, client: NodeClient, connection: Pick<AnsweredConnection, "responded">) {
    this.#connection = connection;
    this.method = stream.line.method;
    this.url = stream.line.path;
    this.#stream = stream;
    this.client = client;
  }

  /** RFC 9113 section 8.3.1: `:authority`, or else the Host field. */
  get host(): string {
    return this.#stream.line.authority;
  }

  get isClosed(): boolean {
    return this.#stream.isClosed;
  }

  whenGone(callback: () => void): void {
    this.#stream.whenCutOff = callback;
  }

  get rawHeaders(): readonly string[] {
    return this.#stream.fields;
  }

  header(name: string): string | null {
    return this.#stream.field(name);
  }

  body(most: number): MaybePromise<Uint8Array<ArrayBuffer> | undefined> {
    if ((this.#stream.line.contentLength ?? 0) > most) return undefined;
    return this.#stream.collect(most);
  }

  async arrivedBody(most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    // The frames that follow the header fields in the same read are taken after it.
    await undefined;
    return this.#stream.body.whole(most);
  }

  bodyStream(): ReadableStream<Uint8Array> {
    return this.#stream.body.stream();
  }

  respond(response: HttpResponse): void {
    this.#stream.respond(response);
    this.#connection.responded(this.#stream, response.body?.length ?? 0);
  }

  abort(): void {
    this.#stream.reset(ErrorCode.INTERNAL_ERROR);
  }
}
