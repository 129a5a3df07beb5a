import type { HttpRequest, HttpResponse } from "../../../http/messages/message.ts";
import type { NodeClient } from "../access/node-admission.ts";

/** A request that Node's server received, and the only way to answer it. Implemented for HTTP/1.1 and for HTTP/2. */
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
   * The whole body, if it came in one read with the request and is at most `most` bytes long. Otherwise undefined: then it is still to be read. May be called in the turn in
   * which the request came. Nobody else uses the memory of the bytes.
   */
  arrivedBody(most: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** The body as it comes, no faster than it is read. Cancelling it stops reading, but the connection continues. */
  bodyStream(): ReadableStream<Uint8Array>;
  /**
   * Sends the response. The rest of the request's body is read and dropped up to a bound: clients that write a
   * whole body before they read would otherwise never see an early answer.
   * @throws {Error} if a response was sent already, or Node rejects its header fields
   */
  respond(response: HttpResponse): void;
  /** Ends the request without a response: resets the HTTP/2 stream, closes the HTTP/1.1 connection. */
  abort(): void;
}
