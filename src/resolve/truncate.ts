import { ResponseCode } from "../dns/name.ts";
import { read16 } from "../zone/record-block.ts";
import type { Answer } from "./answer.ts";
import { answerError } from "./error-responses.ts";
import { beginAnswer, longestAnswerFor, type Transport } from "./message-writer.ts";
import { isQuery, type Query, type QueryError, readQuery } from "./query.ts";

/**
 * Answers without records and with TC, so that the client repeats the query over TCP. Hardly longer than the query. Undefined for bytes that
 * are not a DNS query.
 */
export function answerTruncated(message: Uint8Array, transport: Transport): Uint8Array | undefined {
  if (!isQuery(message)) return undefined;
  return truncated(message, readQuery(message), transport);
}

/** Adapts an answer from elsewhere to the transport: replaces it with a truncated one if it is too long. */
export function fitAnswer(message: Uint8Array, answer: Answer, transport: Transport): Answer {
  const query = readQuery(message);
  if ("code" in query || answer.bytes.length <= longestAnswerFor(transport, query.edns)) return answer;
  const rcode = read16(answer.bytes, 2) & 0x0f;
  return { ...answer, bytes: truncated(message, query, transport, rcode), freshness: 0 };
}

function truncated(
  message: Uint8Array,
  query: Query | QueryError,
  transport: Transport,
  rcode: number = ResponseCode.NOERROR,
): Uint8Array<ArrayBuffer> {
  if ("code" in query) return answerError(message, query, { transport }).bytes;
  const writer = beginAnswer(message, query, { transport });
  writer.truncated = true;
  writer.writeOpt(query, rcode, -1);
  return writer.finish(query, rcode, false);
}
