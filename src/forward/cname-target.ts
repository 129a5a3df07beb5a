import { HEADER_BYTES, MAX_NAME_BYTES, RecordType } from "../dns/name.ts";
import { type RecordPlace, readName, readRecord, readWord } from "../dns/wire-reader.ts";
import type { Answer } from "../resolve/answer.ts";
import { beginAnswer, type MessageWriter } from "../resolve/message-writer.ts";
import type { Query } from "../resolve/query.ts";
import { withRecursion } from "./cached-answer.ts";
import { NAMES_IN_DATA } from "./records.ts";
import { readExtendedError } from "./upstream.ts";

/** The current name, uncompressed. The buffer is reused, since writing a name is synchronous. */
const expanded = new Uint8Array(MAX_NAME_BYTES);

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
  for (let index = 0; index < answers + authorities; index++) {
    const record = readRecord(bytes, position);
    if (record === undefined || !copyRecord(writer, bytes, record)) return undefined;
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

/** Copies a record into another message, with its names uncompressed. False if there is no room, or if it is malformed. */
function copyRecord(writer: MessageWriter, bytes: Uint8Array, record: RecordPlace): boolean {
  // Uncompressed names are longer.
  if (writer.position + (record.end - record.start) + 3 * MAX_NAME_BYTES > writer.limit) return false;
  if (expandName(writer, bytes, record.start) < 0) return false;
  writer.write16(record.type);
  writer.write16(record.class);
  writer.write32(record.ttl);
  const lengthAt = writer.position;
  writer.write16(0);
  const [before, names] = NAMES_IN_DATA.get(record.type) ?? [0, 0];
  let position = record.dataStart + before;
  writer.writeBytes(bytes, record.dataStart, Math.min(position, record.end));
  for (let left = names; left > 0; left--) {
    position = position < record.end ? expandName(writer, bytes, position) : -1;
    if (position < 0 || position > record.end) return false;
  }
  writer.writeBytes(bytes, position, record.end);
  const length = writer.position - lengthAt - 2;
  writer.bytes[lengthAt] = length >>> 8;
  writer.bytes[lengthAt + 1] = length;
  return true;
}

/** Writes a possibly compressed name uncompressed. @returns the offset after it in the source, or -1 if it is malformed */
function expandName(writer: MessageWriter, bytes: Uint8Array, start: number): number {
  const end = readName(bytes, start, expanded);
  if (end >= 0) writer.writeBytes(expanded, 0, readName(expanded, 0));
  return end;
}
