import type { Clock } from "../../gateway/clock.ts";
import { findJsonError, JsonShape, lineAndColumn } from "../../snapshot/lines/json-syntax.ts";
import { ApiError } from "../messages/api-error.ts";
import { JSON_TYPE } from "../messages/media-type.ts";
import type { BodyAccount } from "./body-budget.ts";
import { checkHead, readBytes } from "./body-bytes.ts";
import type { BodyLimits } from "./push-limits.ts";

/** How a JSON body is read. */
export interface JsonReading {
  readonly limits: BodyLimits;
  readonly setTimer: Clock["setTimer"];
  /** Counts the bytes while they are held. Default: nobody counts them. */
  readonly account?: BodyAccount;
}

/**
 * Reads a small JSON body, plain or compressed by gzip.
 * @throws {ApiError} 400, 408, 413, 415, 429 or 503, saying what is wrong where
 */
export async function readJsonBody(request: Request, reading: JsonReading): Promise<unknown> {
  const { limits, account } = reading;
  checkHead(request, JSON_TYPE, limits);
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  const shape = new JsonShape();
  let text = "";
  try {
    for await (const part of readBytes(request, reading)) {
      shape.feed(part);
      checkLevels(shape, limits);
      text += decode(decoder, part);
    }
    return parse(text + decode(decoder, undefined));
  } finally {
    account?.release();
  }
}

function checkLevels({ deepest }: JsonShape, { pushLevels }: BodyLimits): void {
  if (deepest <= pushLevels) return;
  const message = `the JSON is nested more than ${pushLevels} levels deep`;
  throw new ApiError(400, "JSON_TOO_DEEP", message, { limit: "limits.pushLevels" });
}

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
    const message = `the body is not JSON: ${found} at line ${line}, column ${column}`;
    throw new ApiError(400, "INVALID_JSON", message, { details: { position, line, column } });
  }
}
