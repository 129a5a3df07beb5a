import type { CertificateIdentity } from "../../../../access/certificates.ts";
import type { Client } from "../../../../access/client/client.ts";

/** A body on its way between threads: read as fast as the other thread takes it. */
export type HandedBody = ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null;

/** A client in the form in which it can be posted. */
export interface HandedClient extends Client {
  readonly certificateIdentity: CertificateIdentity | undefined;
}

/** A request that an answering thread hands to the main thread. */
export interface HandedRequest {
  readonly id: number;
  readonly method: string;
  readonly url: string;
  readonly headers: readonly [string, string][];
  readonly client: HandedClient;
  readonly body: ReadableStream<Uint8Array> | null;
}

/** Its response. */
export interface HandedResponse {
  readonly id: number;
  readonly status: number;
  readonly headers: readonly [string, string][];
  readonly body: HandedBody;
}

/** The main thread has begun with a request, which takes longer. */
export interface TakenRequest {
  readonly taken: number;
}

/** What has to be transferred with a message that has a body. */
export function transferred(body: HandedBody): (ReadableStream | ArrayBuffer)[] {
  if (body === null) return [];
  return [body instanceof ReadableStream ? body : body.buffer];
}
