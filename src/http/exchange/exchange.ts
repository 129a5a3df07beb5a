import type { Client } from "../../access/client/client.ts";
import type { Background } from "../../transfer/secondary.ts";

/**
 * A request as the DNS and JSON routes see it: what every host has at hand, whether or not it makes a Request object. On Node
 * such an object, and the Response, cost more than the answer (docs/explanation/benchmarks.md).
 */
export interface HttpRequest {
  readonly method: string;
  /** The path and query, or the whole URL. */
  readonly url: string;
  /** The host that was asked, with its port where there is one (RFC 9110 section 7.2); empty where the client names none. */
  readonly host: string;
  readonly client: Partial<Client> | undefined;
  /** A header field by its name in lower case; null where it is absent. */
  header(name: string): string | null;
  /**
   * The body, undefined when it is longer than `most` octets. Called once at most.
   * @throws {Error} where the body ended before it was complete
   */
  body(most: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
}

/** A response that every host can send. `headers` name the body's length; they are not to be changed, since they may be shared. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | null;
}

/**
 * Answers one request: at once where nothing has to be waited for.
 * @param background takes work that goes on after the response; default: it just goes on
 */
export type Exchange = (
  request: HttpRequest,
  background?: Background,
) => HttpResponse | Promise<HttpResponse>;
