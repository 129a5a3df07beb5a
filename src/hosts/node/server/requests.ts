import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { CertificateIdentity, Client } from "../../../access/client.ts";
import type { MaybePromise } from "../../../access/url-tokens.ts";
import type { ServerLimits } from "../../../config/limits.ts";
import { type Handler, type HttpRequest, type HttpResponse, pathOf } from "../../../http/messages/message.ts";
import { BodyCutOff } from "../../../http2/body.ts";
import { Http2Connection } from "../../../http2/connection.ts";
import { ErrorCode } from "../../../http2/protocol.ts";
import type { Http2Events, Http2Stream } from "../../../http2/stream.ts";
import { identityOf } from "../access/node-authority.ts";
import type { IsMisdirected } from "../tls.ts";
import type { ConnectionGuard, HeldConnection, ServerProtection } from "./connections.ts";

/**
 * The handlers that run without the objects of the Fetch standard, which cost more than an answer
 * (docs/explanation/benchmarks.md).
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

/** Answers requests of the Fetch standard. */
export type FetchHandler = (request: Request, client: Client) => Response | Promise<Response>;

/** Answers the requests that no handler of a path answers. */
export type Application = (request: NodeRequest) => Promise<HttpResponse>;

/**
 * The Fetch standard forbids these methods, or changes them to upper case, which makes them other methods
 * (RFC 9110 section 9.1).
 */
const NOT_FETCHED = /^(?:connect|trace|track)$/i;
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const NORMALIZED = /^(?:delete|get|head|options|patch|post|put)$/i;

/** Answers requests with a handler of the Fetch standard. */
export function answerByFetch(fetch: FetchHandler): Application {
  return async (request) => {
    const url = targetOf(request);
    return typeof url === "string"
      ? toHttpResponse(await fetch(toRequest(request, url), request.client))
      : url;
  };
}

/** The URL of a request; the response for one that the Fetch standard cannot express. */
export function targetOf(request: NodeRequest): string | HttpResponse {
  const { method } = request;
  if (NOT_FETCHED.test(method) || (NORMALIZED.test(method) && method !== method.toUpperCase()))
    return refusal(501, `the method ${JSON.stringify(method)} is not implemented`);
  // RFC 9110 section 9.3.7: the server as a whole.
  if (request.url === "*" && method === "OPTIONS")
    return { status: 204, headers: { allow: METHODS }, body: null };
  return urlOf(request) ?? refusal(400, "the request's target or its host is malformed");
}

/** A response as hosts send it: whole, unless its end is not in sight. */
export async function toHttpResponse(response: Response): Promise<HttpResponse> {
  const headers = Object.fromEntries(response.headers);
  if (response.body === null) return { status: response.status, headers, body: null };
  // A response that no proxy may buffer has no end in sight.
  if (headers["x-accel-buffering"] === "no")
    return { status: response.status, headers, body: null, stream: response.body };
  const body = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, headers: { "content-length": String(body.length), ...headers }, body };
}

/** A response of one line of text. */
export function refusal(
  status: number,
  says: string,
  headers: Readonly<Record<string, string>> = {},
): HttpResponse {
  const body = new TextEncoder().encode(`${says}\n`);
  const length = String(body.length);
  const common = { "content-type": "text/plain", "cache-control": "no-store", "content-length": length };
  return { status, headers: { ...common, ...headers }, body };
}

/**
 * RFC 9110 section 7.1; undefined if the parts are not a URL, or the host is more than a host and a port. A
 * client of HTTP/1.0 need not name the host, and an empty host is valid (RFC 9112 section 3.2).
 */
function urlOf({ scheme, host, url }: NodeRequest): string | undefined {
  const base = URL.parse(`${scheme}://${host === "" ? "localhost" : host}`);
  if (base === null || base.pathname !== "/" || base.username !== "" || /[?#@/\\]/.test(host))
    return undefined;
  const parsed = url.startsWith("/") ? URL.parse(base.origin + url) : URL.parse(url);
  return parsed === null || !/^https?:$/.test(parsed.protocol) ? undefined : parsed.href;
}

function toRequest(request: NodeRequest, url: string): Request {
  const { method, rawHeaders } = request;
  const headers = headersOf(rawHeaders);
  if (!mayHaveBody(method)) return new Request(url, { method, headers });
  const body = request.bodyStream();
  const gone = new AbortController();
  request.whenGone(() => gone.abort());
  return new Request(url, { method, headers, body, duplex: "half", signal: gone.signal } as RequestInit);
}

/** The Fetch standard has no body with these methods. */
export function mayHaveBody(method: string): boolean {
  return method !== "GET" && method !== "HEAD";
}

/** @param raw names and values in turn */
export function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers();
  for (let index = 0; index < raw.length; index += 2)
    if (!raw[index]!.startsWith(":")) headers.append(raw[index]!, raw[index + 1]!);
  return headers;
}

/**
 * A request that Node's server received, and the only way to answer it. Implemented for HTTP/1.1 and for
 * HTTP/2.
 */
export interface NodeRequest extends HttpRequest {
  readonly client: NodeClient;
  /** Whether the request has its response, or its client has gone. */
  readonly isClosed: boolean;
  readonly scheme: "http" | "https";
  /** Header fields in their order: names and values in turn. */
  readonly rawHeaders: readonly string[];
  /** Calls back once if the client goes, or is cut off, before it has its whole response. */
  whenGone(callback: () => void): void;
  /**
   * The whole body, if it came in one read with the request and is at most `most` bytes long. Otherwise
   * undefined: then it is still to be read. May be called in the turn in which the request came. Nothing else
   * uses the memory of the bytes.
   */
  arrivedBody(most: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /**
   * The body as it comes, no faster than it is read. Cancelling it stops reading, but the connection
   * continues.
   */
  bodyStream(): ReadableStream<Uint8Array>;
  /**
   * Sends the response. The rest of the request's body is read and dropped up to a bound: clients that write
   * a whole body before they read would otherwise never see an early answer.
   * @throws {Error} if a response was sent already, or Node rejects its header fields
   */
  respond(response: HttpResponse): void;
  /** Ends the request without a response: resets the HTTP/2 stream, closes the HTTP/1.1 connection. */
  abort(): void;
}

/** The response to a field Expect with anything else (RFC 9110 section 10.1.1). */
export const UNMET_EXPECTATION = refusal(417, "the gateway supports no expectation but 100-continue");

/**
 * The response to header fields that exceed the limits. It has no body: the method, which may be HEAD, may
 * not have been read.
 */
export const TOO_LARGE: HttpResponse = {
  status: 431,
  headers: { "cache-control": "no-store", "content-length": "0" },
  body: null,
};

/**
 * The response to a request for another server (RFC 9110 section 15.5.20): the client asks again over another
 * connection.
 */
const MISDIRECTED = refusal(421, "this connection is for another host: use one of its own");

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

/** When the client certificate of a connection expires, in Unix milliseconds. */
const expiries = new WeakMap<object, number>();

/** The client of a request on Node; members are computed when they are read. */
export class NodeClient implements Client {
  readonly isOfConnection: boolean;
  readonly #socket: Socket;

  /** @param isOfConnection whether all requests of the connection have this object */
  constructor(socket: Socket, isOfConnection = false) {
    this.#socket = socket;
    this.isOfConnection = isOfConnection;
  }

  get address(): string | undefined {
    return this.#socket.remoteAddress;
  }

  get certificate(): "none" | "refused" | "verified" {
    const socket = this.#socket as Partial<TLSSocket>;
    // Node 20 calls a resumed TLS 1.3 session authorized even if its client never had a certificate.
    const certificate = socket.getPeerX509Certificate?.();
    if (certificate === undefined) return "none";
    // The handshake's verdict is as old as the connection, or as the session that it resumed.
    const expiry = expiries.get(socket) ?? Date.parse(certificate.validTo);
    expiries.set(socket, expiry);
    return socket.authorized === true && Date.now() <= expiry ? "verified" : "refused";
  }

  get certificateIdentity(): CertificateIdentity | undefined {
    if (this.certificate !== "verified") return undefined;
    const certificate = (this.#socket as TLSSocket).getPeerX509Certificate();
    return certificate === undefined ? undefined : identityOf(certificate);
  }
}
