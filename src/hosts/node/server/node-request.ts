import type { Readable } from "node:stream";
import type { HttpRequest, HttpResponse } from "../../../http/messages/http-message.ts";
import type { NodeClient } from "../access/node-client.ts";

/** A request that Node's server received, and the only way to answer it. Implemented for HTTP/1.1 and for HTTP/2. */
export interface NodeRequest extends HttpRequest {
  readonly client: NodeClient;
  readonly scheme: "http" | "https";
  /** Header fields in their order: names and values in turn. */
  readonly rawHeaders: readonly string[];
  /** The body in parts. */
  readonly parts: Readable;
  /**
   * Sends the response. The rest of the request's body is read and dropped up to a bound: clients that write a
   * whole body before they read would otherwise never see an early answer.
   * @throws {Error} if a response was sent already, or Node rejects its header fields
   */
  respond(response: HttpResponse): void;
  /** Ends the request without a response: resets the HTTP/2 stream, closes the HTTP/1.1 connection. */
  abort(): void;
}

/** The client did not send the whole body. This is not a failure of the gateway. */
export class BodyCutOff extends Error {
  constructor() {
    super("the body ended before it was complete");
  }
}

/** The most bytes of an unused body that are read and dropped; `limits.requestSeconds` limits the time. */
const MOST_DROPPED_BYTES = 64 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

/**
 * Reads a body; resolves with undefined once it is longer than `most` bytes.
 * @param length the body's length in bytes, if it is known: then the reader does not wait for the end of the stream
 * @throws {BodyCutOff}
 */
export function readBody(
  parts: Readable,
  most: number,
  length?: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return new Promise((resolve, reject) => {
    let body: Buffer<ArrayBuffer> = NOTHING;
    const end = () => {
      parts.off("data", take);
      parts.off("end", whole);
      parts.off("close", cut);
    };
    const cut = () => {
      end();
      reject(new BodyCutOff());
    };
    const whole = () => {
      // Node ends the body of an HTTP/2 stream that the client resets, too.
      if ((parts as { readonly rstCode?: number }).rstCode) return cut();
      end();
      resolve(new Uint8Array(body.buffer, body.byteOffset, body.length));
    };
    const take = (part: Buffer<ArrayBuffer>) => {
      if (body.length + part.length > most) {
        end();
        parts.pause();
        resolve(undefined);
        return;
      }
      body = body === NOTHING ? part : Buffer.concat([body, part]);
      if (length === undefined || body.length < length) return;
      // Node destroys an HTTP/2 stream that was read to its end before the answer is written, with an error object for each.
      parts.pause();
      whole();
    };
    parts.on("data", take);
    parts.on("end", whole);
    parts.on("close", cut);
  });
}

/** Reads the rest of a body and drops it. @param done called once: with true at its end, with false above the limit */
export function dropBody(parts: Readable, done: (whole: boolean) => void): void {
  let dropped = 0;
  const end = (whole: boolean) => {
    parts.off("data", count);
    parts.off("end", ended);
    parts.off("close", ended);
    done(whole);
  };
  const ended = () => end(true);
  const count = (part: Buffer) => {
    dropped += part.length;
    if (dropped > MOST_DROPPED_BYTES) end(false);
  };
  // An earlier reader got enough.
  parts.removeAllListeners("data");
  parts.on("data", count);
  parts.on("end", ended);
  parts.on("close", ended);
  parts.resume();
}

/** A header field with all of its values. */
export function fieldOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  name: string,
): string | null {
  const value = headers[name];
  return typeof value === "string" ? value : (value?.join(", ") ?? null);
}
