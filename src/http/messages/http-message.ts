import type { Client } from "../../access/client/client.ts";
import type { MaybePromise } from "../../access/maybe-promise.ts";
import type { Background } from "../../transfer/secondary.ts";

/**
 * A request to the DNS and JSON routes, with the members that every host has without making a Request object. On Node
 * a Request and a Response cost more than the answer (docs/explanation/benchmarks.md).
 */
export interface HttpRequest {
  readonly method: string;
  /** The path and query, or the whole URL. */
  readonly url: string;
  /** The requested host, with its port if it has one (RFC 9110 section 7.2); empty if the client names no host. */
  readonly host: string;
  readonly client: Partial<Client> | undefined;
  /** A header field by its name in lower case; null if it is absent. */
  header(name: string): string | null;
  /**
   * The body; undefined if it is longer than `most` bytes. May be called once. Without a promise if the request came whole; then its bytes may
   * change after the turn.
   * @throws {Error} if the body ended before it was complete
   */
  body(most: number): MaybePromise<Uint8Array<ArrayBuffer> | undefined>;
}

/** A response that every host can send. `headers` contain the body's length; callers must not change them, since responses share them. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | null;
  /** A body that is sent as it comes, instead of `body`. */
  readonly stream?: ReadableStream<Uint8Array> | undefined;
}

/**
 * Answers one request; without a promise if it can.
 * @param background runs work that continues after the response; default: nothing is needed
 */
export type Handler = (request: HttpRequest, background?: Background) => HttpResponse | Promise<HttpResponse>;
