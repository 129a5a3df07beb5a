import type { Clock } from "../../gateway/clock.ts";
import { findJsonError, JsonShape, lineAndColumn } from "../../snapshot/lines/json-syntax.ts";
import { ApiError } from "../exchange/api-error.ts";
import { essence, JSON_TYPE } from "../exchange/media-type.ts";
import type { BodyAccount } from "./body-budget.ts";
import type { BodyLimits } from "./push-limits.ts";
import { SlowBody } from "./slow-body.ts";

/** A compression ratio says nothing about small bodies. */
const RATIO_FROM_BYTES = 1024 * 1024;
const UTF8 = /;\s*charset\s*=\s*"?([^";\s]*)/i;

/** How a body is read. */
export interface BodyReading {
  readonly limits: BodyLimits;
  readonly setTimer: Clock["setTimer"];
  /** Counts the bytes while they are held. Default: nobody counts them. */
  readonly account?: BodyAccount;
  /** Called with the members and elements of the whole body before it is parsed; may reject it by throwing. */
  readonly work?: (values: number) => void;
  /** Waits for the body's turn to be parsed and taken. Default: at once. */
  readonly turn?: <Result>(account: BodyAccount, task: () => Promise<Result>) => Promise<Result>;
}

const UNCOUNTED: BodyAccount = { charge: () => {}, isSmall: true, release: () => {} };

/**
 * Reads a JSON body, plain or compressed by gzip, and hands it to `take` while its bytes count.
 * @throws {ApiError} 400, 408, 413, 415, 429 or 503, saying what is wrong where.
 */
export async function takeJsonBody<Result>(
  request: Request,
  reading: BodyReading,
  take: (value: unknown) => Result | Promise<Result>,
): Promise<Result> {
  const { limits, account = UNCOUNTED, work = () => {}, turn = (_, task) => task() } = reading;
  checkContentType(request.headers.get("content-type"));
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (!(declared <= limits.pushSentBytes)) throw tooLarge(limits.pushSentBytes, "sent");
  try {
    const body = await readText(request, reading, account);
    work(body.values);
    return await turn(account, async () => take(body.parse()));
  } finally {
    account.release();
  }
}

interface WholeBody {
  /** Members and elements, about. */
  readonly values: number;
  /** The value; lets go of the text, since either may have many MB. */
  parse(): unknown;
}

async function readText(
  request: Request,
  { limits, setTimer }: BodyReading,
  account: BodyAccount,
): Promise<WholeBody> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  const shape = new JsonShape();
  let text = "";
  for await (const part of readBody(request, limits, setTimer)) {
    account.charge(part.length);
    shape.feed(part);
    checkShape(shape, limits);
    text += decode(decoder, part);
  }
  text += decode(decoder, undefined);
  return {
    values: shape.values,
    parse: () => {
      const whole = text;
      text = "";
      return parse(whole);
    },
  };
}

/** Before the parser makes objects of it: deep texts would take its stack, and wide ones the memory. */
function checkShape({ deepest, values }: JsonShape, limits: BodyLimits): void {
  if (deepest > limits.pushLevels)
    throw new ApiError(
      400,
      "JSON_TOO_DEEP",
      `the JSON is nested more than ${limits.pushLevels} levels deep`,
      {
        limit: "limits.pushLevels",
      },
    );
  if (values > limits.pushValues)
    throw new ApiError(
      413,
      "TOO_MANY_VALUES",
      `the JSON has more than ${limits.pushValues} members and elements`,
      { limit: "limits.pushValues" },
    );
}

function checkContentType(contentType: string | null): void {
  const charset = UTF8.exec(contentType ?? "")?.[1]?.toLowerCase() ?? "utf-8";
  if (contentType !== null && essence(contentType) === JSON_TYPE && charset === "utf-8") return;
  throw new ApiError(415, "UNSUPPORTED_MEDIA_TYPE", `the Content-Type must be ${JSON_TYPE} (UTF-8)`, {
    headers: { accept: JSON_TYPE },
  });
}

async function* readBody(
  request: Request,
  limits: BodyLimits,
  setTimer: Clock["setTimer"],
): AsyncGenerator<Uint8Array> {
  const encoding = (request.headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  const isCompressed = encoding === "gzip" || encoding === "x-gzip";
  if (!isCompressed && encoding !== "identity")
    throw new ApiError(415, "UNSUPPORTED_ENCODING", "the Content-Encoding must be gzip, or absent", {
      headers: { "accept-encoding": "gzip" },
    });
  if (request.body === null) return;
  let sent = 0;
  let fault: ApiError | undefined;
  let slow: SlowBody | undefined;
  const counted = request.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      start(controller) {
        slow = new SlowBody(limits, setTimer, (error) => {
          fault = error;
          controller.error(error);
        });
      },
      transform(part, controller) {
        slow?.arrived();
        sent += part.length;
        if (sent > limits.pushSentBytes) {
          fault = tooLarge(limits.pushSentBytes, "sent");
          throw fault;
        }
        controller.enqueue(part);
      },
    }),
  );
  const plain = isCompressed ? counted.pipeThrough(new DecompressionStream("gzip") as GzipStream) : counted;
  const reader = plain.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw fault ?? unreadable(isCompressed);
      });
      if (done) return;
      bytes += value.length;
      if (bytes > limits.pushBytes) throw tooLarge(limits.pushBytes, "decompressed");
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
    // Also when the reader of these parts gave up: the sender should not go on.
    await reader.cancel().catch(() => {});
  }
}

type GzipStream = ReadableWritablePair<Uint8Array, Uint8Array>;

function decode(decoder: InstanceType<typeof TextDecoder>, part: Uint8Array | undefined): string {
  try {
    return part === undefined ? decoder.decode() : decoder.decode(part, { stream: true });
  } catch {
    throw new ApiError(400, "INVALID_UTF8", "the body is not UTF-8");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const position = findJsonError(text);
    const { line, column } = lineAndColumn(text, position);
    const found =
      position >= text.length
        ? "the body ends"
        : `found ${JSON.stringify(text.slice(position, position + 12))}`;
    throw new ApiError(
      400,
      "INVALID_JSON",
      `the body is not JSON: ${found} at line ${line}, column ${column}`,
      {
        details: { position, line, column },
      },
    );
  }
}

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
