import {
  CLASS_IN,
  EdnsOption,
  ExtendedError,
  FOLD,
  HEADER_BYTES,
  HeaderFlag,
  nameKey,
  optionEnd,
  type RecordPlace,
  RecordType,
  ResponseCode,
  readLong,
  readName,
  readRecord,
  readWord,
} from "../dns/name.ts";
import { MAX_MESSAGE_BYTES } from "../resolve/message-writer.ts";
import { ANNOUNCED_PAYLOAD_BYTES, type Query } from "../resolve/query.ts";

/** One name server over any transport. The host has the transports. */
export interface Upstream {
  /** The name server as it was registered. */
  readonly nameserver: string;
  /**
   * Sends a query with ID 0 and returns the answer, also with ID 0.
   * @throws any error if there is no answer, and soon after `signal` is aborted
   */
  exchange(query: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  /** Closes connections; exchanges in progress may fail. */
  close(): void;
}

/**
 * The same name server with padded queries for an encrypted transport, so that their length reveals less
 * about the name (RFC 8467).
 */
export function padded(upstream: Upstream): Upstream {
  return { ...upstream, exchange: (query, signal) => upstream.exchange(padQuery(query), signal) };
}

/** A valid answer of a name server: its counts are correct, and its question is that of the query. */
export interface UpstreamAnswer {
  readonly bytes: Uint8Array;
  /** The end of the records that may be passed on: before the OPT record, which is hop by hop. */
  readonly recordsEnd: number;
  readonly answers: number;
  readonly authorities: number;
  readonly additionals: number;
  readonly authoritative: boolean;
  readonly truncated: boolean;
  /** Without the codes of EDNS, which are about the hop. */
  readonly rcode: number;
  /** The info code of its Extended DNS Error (RFC 8914), or -1. */
  readonly extendedError: number;
}

/** Room for the gateway's OPT record with an Extended DNS Error. */
export const OPT_BYTES = 17;
/** A header has no others. */
const MOST_PLAIN_RCODE = 15;
const MOST_TTL = 0x7fffffff;

/**
 * Reads a name server's answer to a query with one question. Undefined if it does not match the query (RFC
 * 5452 section 9.1: ID, QR and question), or is malformed.
 */
export function readUpstreamAnswer(query: Uint8Array, bytes: Uint8Array): UpstreamAnswer | undefined {
  const questionEnd = readName(query, HEADER_BYTES) + 4;
  if (bytes.length < questionEnd || bytes.length > MAX_MESSAGE_BYTES - OPT_BYTES) return undefined;
  if (!answersQuestion(query, bytes, questionEnd)) return undefined;
  const flags = readWord(bytes, 2);
  const counts = [readWord(bytes, 6), readWord(bytes, 8), readWord(bytes, 10)] as const;
  const kept = [0, 0, 0];
  let opt: RecordPlace | undefined;
  let position = questionEnd;
  for (const [section, count] of counts.entries())
    for (let left = count; left > 0; left--) {
      const record = readRecord(bytes, position);
      if (record === undefined) return undefined;
      position = record.end;
      if (record.type === RecordType.OPT) {
        if (section !== 2 || opt !== undefined) return undefined;
        opt = record;
      } else if (opt === undefined) kept[section] = kept[section]! + 1;
    }
  const rcode = (flags & 0x0f) | (opt === undefined ? 0 : (opt.ttl >>> 24) << 4);
  if (rcode > MOST_PLAIN_RCODE) return failedAnswer(bytes, questionEnd);
  return {
    bytes,
    recordsEnd: opt?.start ?? position,
    answers: kept[0]!,
    authorities: kept[1]!,
    additionals: kept[2]!,
    authoritative: (flags & HeaderFlag.AA) !== 0,
    truncated: (flags & HeaderFlag.TC) !== 0,
    rcode,
    extendedError: opt === undefined ? -1 : readExtendedError(bytes, opt),
  };
}

/**
 * SERVFAIL, where no name server answered, or with an extended code (BADVERS, BADCOOKIE), which is about EDNS
 * between the gateway and the name server (RFC 6891 section 6.1.3).
 */
export function failedAnswer(bytes: Uint8Array = new Uint8Array(0), recordsEnd = 0): UpstreamAnswer {
  return {
    bytes,
    recordsEnd,
    answers: 0,
    authorities: 0,
    additionals: 0,
    authoritative: false,
    truncated: false,
    rcode: ResponseCode.SERVFAIL,
    extendedError: ExtendedError.NETWORK_ERROR,
  };
}

function answersQuestion(query: Uint8Array, bytes: Uint8Array, questionEnd: number): boolean {
  if (readWord(bytes, 0) !== readWord(query, 0) || (readWord(bytes, 2) & 0xf800) !== HeaderFlag.QR)
    return false;
  if (readWord(bytes, 4) !== 1) return false;
  const nameEnd = questionEnd - 4;
  for (let index = HEADER_BYTES; index < nameEnd; index++)
    if (FOLD[bytes[index]!] !== FOLD[query[index]!]) return false;
  return (
    readWord(bytes, nameEnd) === readWord(query, nameEnd) &&
    readWord(bytes, nameEnd + 2) === readWord(query, nameEnd + 2)
  );
}

/** RFC 2181 section 8: a TTL with the highest bit set counts as 0. */
export function validTtl(ttl: number): number {
  return ttl > MOST_TTL ? 0 : ttl;
}

/** RFC 2308 section 5: the smaller one of the SOA's TTL and its MINIMUM, which is its last field. */
export function negativeTtl(bytes: Uint8Array, soa: RecordPlace): number {
  if (soa.end - soa.dataStart < 22) return 0;
  const minimum = readLong(bytes, soa.end - 4);
  return Math.min(validTtl(soa.ttl), validTtl(minimum));
}

/** The info code of the first Extended DNS Error in an OPT record (RFC 8914 section 2), or -1. */
export function readExtendedError(bytes: Uint8Array, { dataStart, end }: RecordPlace): number {
  for (let option = dataStart, next = option; option < end; option = next) {
    next = optionEnd(bytes, option, end);
    if (next < 0) return -1;
    if (readWord(bytes, option) === EdnsOption.EXTENDED_ERROR && next - option >= 6)
      return readWord(bytes, option + 4);
  }
  return -1;
}

const QUERY_OPT_BYTES = 11;
const OPTION_HEADER_BYTES = 4;
/** Queries over TLS are padded to a multiple of this (RFC 8467 section 4.1). */
const PADDED_QUERY_BYTES = 128;

/**
 * The query to an upstream: the question with letters folded, RD, and the client's CD and DNSSEC OK. The OPT
 * record is the gateway's own: EDNS is hop by hop (RFC 6891 section 6.1.1), and none of a client's options,
 * such as its subnet (RFC 7871) or cookie, leaves the gateway. The ID is 0.
 */
export function upstreamQuery({
  flags,
  name,
  type,
  class: questionClass,
  edns,
}: Query): Uint8Array<ArrayBuffer> {
  const { bytes, length } = name;
  const nameEnd = HEADER_BYTES + length;
  const query = new Uint8Array(nameEnd + 4 + QUERY_OPT_BYTES);
  const view = new DataView(query.buffer);
  view.setUint16(2, HeaderFlag.RD | (flags & HeaderFlag.CD));
  view.setUint16(4, 1);
  view.setUint16(10, 1);
  query.set(bytes.subarray(0, length), HEADER_BYTES);
  view.setUint16(nameEnd, type);
  view.setUint16(nameEnd + 2, questionClass);
  view.setUint16(nameEnd + 5, RecordType.OPT);
  view.setUint16(nameEnd + 7, ANNOUNCED_PAYLOAD_BYTES);
  view.setUint16(nameEnd + 11, edns?.dnssecOk === true ? 0x8000 : 0);
  return query;
}

/**
 * The key of an answer in the cache: the folded name of the query, type, class, CD and DNSSEC OK. The
 * name is in wire form, so no two names have the same key.
 */
export function cacheKey({ flags, name, type, class: questionClass, edns }: Query): string {
  const bits = ((flags & HeaderFlag.CD) !== 0 ? 1 : 0) | (edns?.dnssecOk === true ? 2 : 0);
  const classes = questionClass === CLASS_IN ? "" : String.fromCharCode(questionClass);
  return nameKey(name) + String.fromCharCode(bits, type) + classes;
}

/**
 * A query that ends with an OPT record without options, padded for an encrypted transport (RFC 7830, RFC
 * 8467).
 */
export function padQuery(query: Uint8Array): Uint8Array<ArrayBuffer> {
  const unpadded = query.length + OPTION_HEADER_BYTES;
  const padded = new Uint8Array(Math.ceil(unpadded / PADDED_QUERY_BYTES) * PADDED_QUERY_BYTES);
  padded.set(query);
  const view = new DataView(padded.buffer);
  view.setUint16(query.length - 2, padded.length - query.length);
  view.setUint16(query.length, EdnsOption.PADDING);
  view.setUint16(query.length + 2, padded.length - unpadded);
  return padded;
}

/**
 * An answer that a cache held for some time, with TTLs that count from now (RFC 8484 section 5.1). The
 * negative TTL is in the SOA's, too (RFC 2308 section 5).
 * @param bytes of a message, which is changed @param age the Age field of the response, null if there is none
 */
export function withoutAge(bytes: Uint8Array, age: string | null): Uint8Array {
  const seconds = Number.parseInt(age ?? "", 10);
  if (!(seconds > 0) || bytes.length < HEADER_BYTES) return bytes;
  let position = HEADER_BYTES;
  for (let left = readWord(bytes, 4); left > 0; left--) {
    const end = readName(bytes, position);
    if (end < 0) return bytes;
    position = end + 4;
  }
  const answers = readWord(bytes, 6);
  const records = answers + readWord(bytes, 8) + readWord(bytes, 10);
  for (let index = 0; index < records; index++) {
    const record = readRecord(bytes, position);
    if (record === undefined) break;
    position = record.end;
    if (record.type === RecordType.OPT) continue;
    const isDenial = index >= answers && record.type === RecordType.SOA;
    const ttl = isDenial ? negativeTtl(bytes, record) : validTtl(record.ttl);
    writeTtl(bytes, record.dataStart - TTL_TO_DATA, ttl - seconds);
  }
  return bytes;
}

/** The bytes from a record's TTL to its data. */
export const TTL_TO_DATA = 6;

/** @param seconds below 0 for one that has passed */
export function writeTtl(bytes: Uint8Array, at: number, seconds: number): void {
  const ttl = Math.max(0, seconds);
  bytes[at] = ttl >>> 24;
  bytes[at + 1] = ttl >>> 16;
  bytes[at + 2] = ttl >>> 8;
  bytes[at + 3] = ttl;
}
