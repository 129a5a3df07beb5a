import {
  CLASS_IN,
  EdnsOption,
  HEADER_BYTES,
  HeaderFlag,
  MAX_LABEL_BYTES,
  MAX_NAME_BYTES,
  RecordType,
  ResponseCode,
} from "../dns/codes.ts";
import { FOLD } from "../dns/name.ts";
import { readRecord } from "../dns/record-walk.ts";
import { read16 } from "../zone/record-block.ts";

/** The most labels that 255 octets can hold. */
const MAX_LABELS = 127;
/** Octets of an OPT record without options: root owner, type, size, rcode and flags, RDLENGTH. */
const OPT_BYTES = 11;
/** Octets of a question behind its name: type and class. */
const QUESTION_TAIL_BYTES = 4;
/** More records than this behind the question make a query malformed: nobody needs them. */
const MAX_ADDITIONAL = 16;

/** What a query asks, read from the wire. The name is in `QuestionName`, which the next query overwrites. */
export interface Query {
  readonly id: number;
  /** The second word of the header. */
  readonly flags: number;
  /** Octets of header and question together. */
  readonly questionEnd: number;
  readonly type: number;
  readonly class: number;
  /** The OPT record (RFC 6891), if there is one. */
  readonly edns: Edns | undefined;
}

/** What the OPT record of a query says. */
export interface Edns {
  readonly version: number;
  /** The longest answer in octets that the client takes over UDP (RFC 6891 section 6.2.3). */
  readonly payloadBytes: number;
  /** The DNSSEC OK bit (RFC 3225). */
  readonly dnssecOk: boolean;
  /** Whether the client pads and wants padding (RFC 7830). */
  readonly padding: boolean;
  /** Whether the client asks how long it may keep its connection (RFC 7828 section 3.2.1). */
  readonly keepalive: boolean;
}

/** A query that cannot be answered as asked. */
export interface QueryFault {
  readonly code: typeof ResponseCode.FORMERR | typeof ResponseCode.NOTIMP;
  /** What its OPT record says, as far as that can be read: the answer has one where the query does (RFC 6891 section 6.1.1). */
  readonly edns: Edns | undefined;
}

/** The name of the query that was read last: reused, because nothing here is asynchronous. */
export const QuestionName = {
  /** Wire form, letters folded, with the root octet. */
  folded: new Uint8Array(MAX_NAME_BYTES),
  /** Octets of the name, the root octet included. */
  bytes: 0,
  /** Where each label starts. */
  labelAt: new Uint8Array(MAX_LABELS + 1),
  labels: 0,
};

/**
 * Reads the plain form that nearly every client sends: opcode QUERY, one question, nothing else but perhaps
 * one OPT of version 0. Undefined for anything unusual, which `readQuery` then judges; where both read a query, they agree.
 */
export function readPlainQuery(message: Uint8Array): Query | undefined {
  const { length } = message;
  if (length < HEADER_BYTES + 5) return undefined;
  const flags = read16(message, 2);
  if ((flags & 0xf800) !== 0 || message[4] !== 0 || message[5] !== 1) return undefined;
  if ((message[6]! | message[7]! | message[8]! | message[9]! | message[10]!) !== 0 || message[11]! > 1)
    return undefined;
  const nameEnd = readName(message);
  if (nameEnd < 0) return undefined;
  const questionEnd = nameEnd + QUESTION_TAIL_BYTES;
  let edns: Edns | undefined;
  if (message[11] === 1) {
    if (questionEnd + OPT_BYTES > length || message[questionEnd] !== 0) return undefined;
    if (read16(message, questionEnd + 1) !== RecordType.OPT) return undefined;
    if (questionEnd + OPT_BYTES + read16(message, questionEnd + 9) !== length) return undefined;
    edns = readEdns(message, questionEnd, length);
    if (edns === undefined) return undefined;
  } else if (questionEnd !== length) return undefined;
  return queryOf(message, flags, nameEnd, edns);
}

/**
 * Reads any query strictly: every count has to be true and every octet accounted for (RFC 1035 section 4,
 * RFC 6891 section 6.1, RFC 9619). The message has at least a header.
 */
export function readQuery(message: Uint8Array): Query | QueryFault {
  const isQueryOpcode = (read16(message, 2) & 0x7800) === 0;
  const query = isQueryOpcode ? readStrictly(message) : undefined;
  if (query !== undefined) return query;
  const code = isQueryOpcode ? ResponseCode.FORMERR : ResponseCode.NOTIMP;
  return { code, edns: findEdns(message) };
}

function readStrictly(message: Uint8Array): Query | undefined {
  const flags = read16(message, 2);
  const additional = read16(message, 10);
  if (read16(message, 4) !== 1 || read16(message, 6) !== 0 || read16(message, 8) !== 0) return undefined;
  if (additional > MAX_ADDITIONAL) return undefined;
  const nameEnd = readName(message);
  if (nameEnd < 0 || nameEnd + 4 > message.length) return undefined;
  const questionEnd = nameEnd + QUESTION_TAIL_BYTES;
  let edns: Edns | undefined;
  let position = questionEnd;
  for (let left = additional; left > 0; left--) {
    const fixed = skipName(message, position);
    if (fixed < 0 || fixed + 10 > message.length) return undefined;
    const end = fixed + 10 + read16(message, fixed + 8);
    if (end > message.length) return undefined;
    if (read16(message, fixed) === RecordType.OPT) {
      if (edns !== undefined || message[position] !== 0) return undefined;
      edns = readEdns(message, position, end);
      if (edns === undefined) return undefined;
    }
    position = end;
  }
  if (position !== message.length) return undefined;
  return queryOf(message, flags, nameEnd, edns);
}

/** What the OPT record says of a message that may be malformed anywhere: records are walked as its counts have it, as far as they can be read. */
function findEdns(message: Uint8Array): Edns | undefined {
  let position: number = HEADER_BYTES;
  for (let left = read16(message, 4); left > 0; left--) {
    const nameEnd = skipName(message, position);
    if (nameEnd < 0) return undefined;
    position = nameEnd + QUESTION_TAIL_BYTES;
  }
  const others = read16(message, 6) + read16(message, 8);
  const records = others + read16(message, 10);
  for (let index = 0; index < records; index++) {
    const record = readRecord(message, position);
    if (record === undefined) return undefined;
    if (index >= others && record.type === RecordType.OPT && message[position] === 0)
      return readEdns(message, position, record.end, true);
    position = record.end;
  }
  return undefined;
}

/** The query of a message whose question's name ends at `nameEnd`, with its type and class behind it. */
function queryOf(message: Uint8Array, flags: number, nameEnd: number, edns: Edns | undefined): Query {
  return {
    id: read16(message, 0),
    flags,
    questionEnd: nameEnd + QUESTION_TAIL_BYTES,
    type: read16(message, nameEnd),
    class: read16(message, nameEnd + 2),
    edns,
  };
}

/** Reads the question's name into QuestionName; the offset behind it, or -1 when it is malformed or compressed. */
function readName(message: Uint8Array): number {
  const { folded, labelAt } = QuestionName;
  const available = message.length - HEADER_BYTES;
  let at = 0;
  let labels = 0;
  for (;;) {
    if (at >= available) return -1;
    const length = message[HEADER_BYTES + at]!;
    if (length === 0) break;
    // A compression pointer has nothing to point at here, and the other label types were withdrawn (RFC 6891 section 5).
    if (length > MAX_LABEL_BYTES || at + length + 1 >= MAX_NAME_BYTES || at + length >= available) return -1;
    labelAt[labels++] = at;
    folded[at] = length;
    const stop = at + length;
    while (at < stop) {
      at++;
      folded[at] = FOLD[message[HEADER_BYTES + at]!]!;
    }
    at++;
  }
  folded[at] = 0;
  QuestionName.bytes = at + 1;
  QuestionName.labels = labels;
  const end = HEADER_BYTES + at + 1;
  return end + 4 <= message.length ? end : -1;
}

/** The offset behind a possibly compressed name, or -1. Pointers are not followed: only the length matters. */
function skipName(message: Uint8Array, start: number): number {
  let position = start;
  while (position < message.length) {
    const length = message[position]!;
    if (length === 0) return position + 1;
    if (length >= 0xc0) return position + 2 <= message.length ? position + 2 : -1;
    if (length > MAX_LABEL_BYTES || position - start + length + 1 >= MAX_NAME_BYTES) return -1;
    position += length + 1;
  }
  return -1;
}

/** Reads the OPT record at `start`, which ends at `end`; undefined when its options are malformed, unless that is of no importance. */
function readEdns(message: Uint8Array, start: number, end: number, isLenient = false): Edns | undefined {
  let padding = false;
  let keepalive = false;
  let option = start + OPT_BYTES;
  while (option + 4 <= end) {
    const code = read16(message, option);
    if (code === EdnsOption.PADDING) padding = true;
    else if (code === EdnsOption.TCP_KEEPALIVE) keepalive = true;
    option += 4 + read16(message, option + 2);
  }
  if (option !== end && !isLenient) return undefined;
  return {
    version: message[start + 6]!,
    payloadBytes: read16(message, start + 3),
    dnssecOk: (message[start + 7]! & 0x80) !== 0,
    padding,
    keepalive,
  };
}

/** Takes the uncompressed, well-formed name at `start` as if it had been asked for: an alias leads on to it. */
export function followName(bytes: Uint8Array, start: number): void {
  const { folded, labelAt } = QuestionName;
  let at = 0;
  let labels = 0;
  for (let length = bytes[start]!; length !== 0; length = bytes[start + at]!) {
    labelAt[labels++] = at;
    folded[at] = length;
    for (let index = 1; index <= length; index++) folded[at + index] = FOLD[bytes[start + at + index]!]!;
    at += length + 1;
  }
  folded[at] = 0;
  QuestionName.bytes = at + 1;
  QuestionName.labels = labels;
}

/** Whether the message is a query at all: long enough for a header, QR clear. */
export function isQuery(message: Uint8Array): boolean {
  return message.length >= HEADER_BYTES && (read16(message, 2) & HeaderFlag.QR) === 0;
}

/** Whether the question's class is one that is answered: IN, or ANY (RFC 1035 section 3.2.5). */
export function isAnsweredClass(value: number): boolean {
  return value === CLASS_IN || value === 255;
}
