import { HEADER_BYTES, RecordType, ResponseCode } from "../dns/codes.ts";
import { parseName } from "../dns/name.ts";
import type { Answer, Outcome } from "../resolve/answer.ts";
import { answerOutOfZone } from "../resolve/error-responses.ts";
import { beginAnswer, type MessageWriter } from "../resolve/message/message-writer.ts";
import type { Query } from "../resolve/query.ts";
import { withRecursion } from "./cached-answer.ts";
import type { LocalZone } from "./locally-served.ts";

// The SOA record that a locally served zone should have (RFC 6303 section 3): the zone's own name, this mailbox, these numbers.
const NOBODY = parseName("nobody.invalid");
const SERIAL = 1;
const REFRESH = 3600;
const RETRY = 1200;
const EXPIRE = 604_800;
const MINIMUM = 10_800;
const POINTER_BYTES = 2;

const LOOPBACK: ReadonlyMap<number, Uint8Array> = new Map([
  [RecordType.A, Uint8Array.of(127, 0, 0, 1)],
  [RecordType.AAAA, Uint8Array.from({ length: 16 }, (_, index) => (index === 15 ? 1 : 0))],
]);

/**
 * Answers a name that is never forwarded.
 * @param isAncestor whether names below it have answers, so that it exists
 */
export function answerLocally(
  message: Uint8Array,
  query: Query,
  { kind, start }: LocalZone,
  isAncestor: boolean,
): Answer {
  if (kind === "own") return answerHidden(message, query, isAncestor);
  const address = kind === "loopback" ? LOOPBACK.get(query.type) : undefined;
  const writer = beginAnswer(message, query);
  if (address !== undefined) {
    writer.writeRecordHeader(HEADER_BYTES, query.type, MINIMUM, address.length);
    writer.writeBytes(address, 0, address.length);
    writer.answers = 1;
    return finish(writer, query, ResponseCode.NOERROR, "answer");
  }
  const isApexSoa = start === 0 && query.type === RecordType.SOA;
  writeSoa(writer, HEADER_BYTES + start);
  if (isApexSoa) writer.answers = 1;
  else writer.authorities = 1;
  // The zone itself exists, and so does every name below localhost.
  if (isApexSoa) return finish(writer, query, ResponseCode.NOERROR, "answer");
  return kind === "loopback" || start === 0 || isAncestor
    ? finish(writer, query, ResponseCode.NOERROR, "nodata")
    : finish(writer, query, ResponseCode.NXDOMAIN, "nxdomain");
}

/** Denies a name in one of the gateway's zones that is hidden from the client. */
export function answerHidden(message: Uint8Array, query: Query, isAncestor: boolean): Answer {
  const answer = answerOutOfZone(message, query, "nxdomain", isAncestor);
  return { ...answer, bytes: withRecursion(answer.bytes) };
}

function finish(writer: MessageWriter, query: Query, rcode: number, outcome: Outcome): Answer {
  writer.writeOpt(query, rcode, -1);
  return { bytes: withRecursion(writer.finish(query, rcode, true)), outcome, freshness: MINIMUM };
}

function writeSoa(writer: MessageWriter, apexAt: number): void {
  writer.writeRecordHeader(apexAt, RecordType.SOA, MINIMUM, POINTER_BYTES + NOBODY.length + 20);
  writer.write16(0xc000 | apexAt);
  writer.writeBytes(NOBODY, 0, NOBODY.length);
  for (const value of [SERIAL, REFRESH, RETRY, EXPIRE, MINIMUM]) writer.write32(value);
}
