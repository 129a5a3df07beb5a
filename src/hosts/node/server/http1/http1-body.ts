import type { Readable } from "node:stream";
import { BodyCutOff } from "../../../../http2/stream.ts";

/** The most bytes of an unused body that are read and dropped; `limits.requestSeconds` limits the time. */
const MOST_DROPPED_BYTES = 64 * 1024 * 1024;
const NOTHING = Buffer.alloc(0);

/**
 * Reads a body; resolves with undefined once it is longer than `most` bytes.
 * @throws {BodyCutOff}
 */
export function readBody(parts: Readable, most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
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

/**
 * The body as it comes. Cancelling it stops reading, but the connection continues.
 * @param wanted called whenever somebody waits for a part
 */
export function bodyStream(parts: Readable, wanted: () => void): ReadableStream<Uint8Array> {
  let end = () => {};
  const source = {
    start(controller: ReadableStreamDefaultController<Uint8Array>) {
      const take = (part: Buffer) => {
        controller.enqueue(part);
        if ((controller.desiredSize ?? 0) <= 0) parts.pause();
      };
      const whole = () => {
        end();
        controller.close();
      };
      const cut = () => {
        end();
        controller.error(new BodyCutOff());
      };
      end = () => {
        parts.off("data", take);
        parts.off("end", whole);
        parts.off("close", cut);
      };
      parts.pause();
      parts.on("data", take);
      parts.on("end", whole);
      parts.on("close", cut);
    },
    pull: () => {
      wanted();
      parts.resume();
    },
    cancel: () => {
      end();
      // Another thread may cancel it after the response, when the rest is read and dropped.
      if (parts.listenerCount("data") === 0) parts.pause();
    },
  };
  return new ReadableStream<Uint8Array>(source, { highWaterMark: 0 });
}
