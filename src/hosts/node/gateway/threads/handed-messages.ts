import type { CertificateIdentity } from "../../../../access/certificates.ts";
import type { Client } from "../../../../access/client.ts";
import type { HttpResponse } from "../../../../http/messages/message.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A client in the form in which it can be posted. */
export interface HandedClient extends Client {
  readonly certificateIdentity: CertificateIdentity | undefined;
}

/** A request that an answering thread hands to the main thread. */
export interface HandedRequest {
  readonly id: number;
  readonly method: string;
  readonly url: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly client: HandedClient;
  /** Whole if it came with the request: a stream costs messages in both directions. Read as fast as the other thread takes it. */
  readonly body: ReadableStream<Uint8Array> | Bytes | null;
}

/** The client of a request has gone before it had its response. */
export interface GoneClient {
  readonly gone: number;
}

/** Its response. */
export interface HandedResponse extends HttpResponse {
  readonly id: number;
}

/** The main thread has begun with a request, which takes longer. */
export interface TakenRequest {
  readonly taken: number;
}

/** What has to be transferred with a message that has a body. */
export function transferred(
  body: ReadableStream<Uint8Array> | Bytes | null,
): (ReadableStream | ArrayBuffer)[] {
  if (body === null) return [];
  return [body instanceof ReadableStream ? body : body.buffer];
}
