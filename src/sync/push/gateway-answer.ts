import type { Dispatcher } from "undici";

const MOST_ANSWER_BYTES = 64 * 1024;

/** The text of an answer; what is longer is cut off. */
export async function readAnswer(body: Dispatcher.ResponseData["body"]): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += (chunk as Buffer).length;
    if (bytes > MOST_ANSWER_BYTES) break;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Milliseconds of the field Retry-After, at most 300 seconds; 0 without it. */
export function readRetryAfter(field: string | string[] | undefined): number {
  const seconds = Number(field);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 300) * 1000 : 0;
}
