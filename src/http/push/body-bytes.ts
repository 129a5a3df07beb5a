import type { Clock } from "../../gateway/clock.ts";
import { ApiError } from "../messages/api-error.ts";
import { essence } from "../messages/media-type.ts";
import type { BodyAccount } from "./body-budget.ts";
import type { BodyLimits } from "./push-limits.ts";
import { SlowBody } from "./slow-body.ts";

/** A compression ratio says nothing about small bodies. */
const RATIO_FROM_BYTES = 1024 * 1024;
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/**
 * Checks the Content-Type and the Content-Length before anything is read.
 * @param hint follows the type in the message of an error
 * @throws {ApiError} 413 or 415
 */
export function checkHead({ headers }: Request, type: string, limits: BodyLimits, hint = ""): void {
  const contentType = headers.get("content-type");
  const charset = CHARSET.exec(contentType ?? "")?.[1]?.toLowerCase() ?? "utf-8";
  if (contentType === null || essence(contentType) !== type || charset !== "utf-8")
    throw new ApiError(415, "UNSUPPORTED_MEDIA_TYPE", `the Content-Type must be ${type} (UTF-8)${hint}`, {
      headers: { accept: type },
    });
  const declared = Number(headers.get("content-length") ?? 0);
  if (!(declared <= limits.pushSentBytes)) throw tooLarge(limits.pushSentBytes, "sent");
}

/** How the bytes of a body are read. */
export interface BytesReading {
  readonly limits: BodyLimits;
  readonly setTimer: Clock["setTimer"];
  /** Counts the bytes that the body takes in the memory: what was sent, or decompressed if that is more. Default: nobody counts them. */
  readonly account?: Pick<BodyAccount, "charge">;
}

/**
 * The bytes of a body, decompressed. The body is received as fast as it is sent, whatever its reader does meanwhile: only its sender can make
 * it too slow, for the limits here as for those of the host.
 * @throws {ApiError} 400, 408, 413, 415, or what the account throws
 */
export async function* readBytes(request: Request, reading: BytesReading): AsyncGenerator<Uint8Array> {
  const { limits, setTimer, account } = reading;
  const encoding = (request.headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  const isCompressed = encoding === "gzip" || encoding === "x-gzip";
  if (!isCompressed && encoding !== "identity")
    throw new ApiError(415, "UNSUPPORTED_ENCODING", "the Content-Encoding must be gzip, or absent", {
      headers: { "accept-encoding": "gzip" },
    });
  if (request.body === null) return;
  let sent = 0;
  let charged = 0;
  const charge = (bytes: number) => {
    if (bytes <= charged) return;
    const more = bytes - charged;
    charged = bytes;
    account?.charge(more);
  };
  let failure: unknown;
  let slow: SlowBody | undefined;
  let giveUp = () => {};
  const counted = request.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>(
      {
        start(controller) {
          giveUp = () => controller.error(new Error("the body is given up"));
          slow = new SlowBody(limits, setTimer, (error) => {
            failure = error;
            controller.error(error);
          });
        },
        transform(part, controller) {
          slow?.arrived();
          sent += part.length;
          try {
            if (sent > limits.pushSentBytes) throw tooLarge(limits.pushSentBytes, "sent");
            charge(Math.min(sent, limits.pushBytes));
          } catch (error) {
            failure = error;
            throw error;
          }
          controller.enqueue(part);
        },
        flush: () => slow?.end(),
      },
      undefined,
      new ByteLengthQueuingStrategy({ highWaterMark: limits.pushSentBytes }),
    ),
  );
  const plain = isCompressed ? counted.pipeThrough(new DecompressionStream("gzip") as GzipStream) : counted;
  const reader = plain.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw failure ?? unreadable(isCompressed);
      });
      if (done) return;
      bytes += value.length;
      if (bytes > limits.pushBytes) throw tooLarge(limits.pushBytes, "decompressed");
      charge(bytes);
      if (bytes > RATIO_FROM_BYTES && bytes > sent * limits.pushRatio)
        throw new ApiError(
          413,
          "COMPRESSION_RATIO",
          `the body decompresses to more than ${limits.pushRatio} times its size`,
          { limit: "limits.pushRatio" },
        );
      yield value;
    }
  } finally {
    slow?.end();
    // Also when the reader of these parts gave up: the sender should not go on. A decompressor ends by its input: on Node it writes into a
    // stream that was cancelled, and that ends the process.
    if (isCompressed) {
      reader.closed.catch(() => {});
      giveUp();
    } else await reader.cancel().catch(() => {});
  }
}

type GzipStream = ReadableWritablePair<Uint8Array, Uint8Array>;

function tooLarge(most: number, how: "sent" | "decompressed"): ApiError {
  return new ApiError(413, "BODY_TOO_LARGE", `the body has more than ${most} bytes ${how}`, {
    limit: how === "sent" ? "limits.pushSentBytes" : "limits.pushBytes",
  });
}

function unreadable(isCompressed: boolean): ApiError {
  return isCompressed
    ? new ApiError(400, "INVALID_GZIP", "the body is not gzip, is cut off, or has trailing bytes")
    : new ApiError(400, "UNREADABLE_BODY", "the body ended before it was complete");
}
