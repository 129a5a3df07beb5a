import { HEADER_BYTES, RecordType } from "../dns/name.ts";
import { readName, readRecord, readWord } from "../dns/wire-reader.ts";
import type { Answer } from "../resolve/answer.ts";
import { beginAnswer } from "../resolve/message-writer.ts";
import type { Query } from "../resolve/query.ts";
import { withRecursion } from "./cached-answer.ts";
import { copyRecord } from "./records.ts";
import { readExtendedError } from "./upstream.ts";

/** A client's query with another name: the target of a CNAME record, in wire form. */
export function queryForTarget(message: Uint8Array, query: Query, target: Uint8Array): Uint8Array {
  const opt = message.subarray(query.questionEnd);
  const asked = new Uint8Array(HEADER_BYTES + target.length + 4 + opt.length);
  asked.set(message.subarray(0, HEADER_BYTES));
  asked.set(target, HEADER_BYTES);
  asked.set(message.subarray(query.questionEnd - 4), HEADER_BYTES + target.length);
  return asked;
}

/**
 * Appends the answer for a CNAME target to the CNAME record (RFC 1034 section 5.3.3), with the response code of the last name (RFC 6604
 * section 3). Undefined if the records cannot be copied.
 * @param message the client's query, which `given` answers up to the CNAME record
 * @param rest the answer for the target
 */
export function appendTarget(
  message: Uint8Array,
  query: Query,
  given: Answer,
  rest: Answer,
): Answer | undefined {
  const writer = beginAnswer(message, query);
  const ours = recordsEnd(given.bytes, query.questionEnd, readWord(given.bytes, 6));
  writer.writeBytes(given.bytes, query.questionEnd, ours);
  writer.answers = readWord(given.bytes, 6);
  const { bytes } = rest;
  let position = readName(bytes, HEADER_BYTES) + 4;
  const answers = readWord(bytes, 6);
  const authorities = readWord(bytes, 8);
  const owners = new Map<string, number>();
  for (let index = 0; index < answers + authorities; index++) {
    const record = readRecord(bytes, position);
    if (record === undefined || !copyRecord(writer, bytes, record, owners)) return undefined;
    position = record.end;
    if (index < answers) writer.answers++;
    else writer.authorities++;
  }
  const rcode = readWord(bytes, 2) & 0x0f;
  writer.writeOpt(query, rcode, extendedErrorOf(bytes, position));
  const answer = withRecursion(writer.finish(query, rcode, true));
  return {
    bytes: answer,
    outcome: rest.outcome === "nodata" ? "answer" : rest.outcome,
    freshness: Math.min(given.freshness, rest.freshness),
  };
}

function recordsEnd(bytes: Uint8Array, start: number, count: number): number {
  let position = start;
  for (let left = count; left > 0; left--) position = readRecord(bytes, position)!.end;
  return position;
}

/** The info code of the Extended DNS Error in the OPT record at `start`, or -1. */
function extendedErrorOf(bytes: Uint8Array, start: number): number {
  const opt = readRecord(bytes, start);
  return opt?.type === RecordType.OPT ? readExtendedError(bytes, opt) : -1;
}
