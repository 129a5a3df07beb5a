import {
  CLASS_IN,
  EdnsOption,
  type FoldedName,
  HEADER_BYTES,
  HeaderFlag,
  optionEnd,
  RecordType,
  ResponseCode,
  readFoldedName,
  readName,
  readRecord,
  readWord,
} from "../dns/name.ts";

/** Bytes of an OPT record without options: root owner, type, size, rcode and flags, RDLENGTH. */
const OPT_BYTES = 11;
/** Bytes of a question after its name: type and class. */
const QUESTION_TAIL_BYTES = 4;
/** More records than this after the question make a query malformed: no client needs them. */
const MAX_ADDITIONAL = 16;

/** A query read from the wire: a value, independent of the message that it was read from. */
export type Query = ReturnType<typeof queryOf>;

/** The content of a query's OPT record. */
export type Edns = NonNullable<ReturnType<typeof readEdns>>;

/** A query that gets an error in place of records. */
export interface QueryError {
  readonly code: typeof ResponseCode.FORMERR | typeof ResponseCode.NOTIMP;
  /**
   * The readable part of its OPT record: the answer has an OPT record if the query has one (RFC 6891 section
   * 6.1.1).
   */
  readonly edns: Edns | undefined;
}

/**
 * Reads a query strictly: all counts must be correct and no byte may be left over (RFC 1035 section 4,
 * RFC 6891 section 6.1, RFC 9619). The message has at least a header.
 */
export function readQuery(message: Uint8Array): Query | QueryError {
  const isQueryOpcode = (readWord(message, 2) & 0x7800) === 0;
  const query = isQueryOpcode ? readStrictly(message) : undefined;
  if (query !== undefined) return query;
  const code = isQueryOpcode ? ResponseCode.FORMERR : ResponseCode.NOTIMP;
  return { code, edns: findEdns(message) };
}

function readStrictly(message: Uint8Array): Query | undefined {
  const flags = readWord(message, 2);
  const [authority, additional] = [readWord(message, 8), readWord(message, 10)];
  if (readWord(message, 4) !== 1 || readWord(message, 6) !== 0 || additional > MAX_ADDITIONAL)
    return undefined;
  // A compression pointer has no valid target there.
  const name = readFoldedName(message, HEADER_BYTES);
  if (name === undefined) return undefined;
  const questionEnd = HEADER_BYTES + name.length + QUESTION_TAIL_BYTES;
  // A request for an incremental transfer has the client's SOA record (RFC 1995 section 3).
  const mostAuthority = readWord(message, questionEnd - 4) === RecordType.IXFR ? 1 : 0;
  if (authority > mostAuthority) return undefined;
  let edns: Edns | undefined;
  let position = questionEnd;
  for (let left = authority + additional; left > 0; left--) {
    if (left <= additional && message[position] === 0 && readWord(message, position + 1) === RecordType.OPT) {
      const end = position + OPT_BYTES + readWord(message, position + 9);
      edns = edns === undefined && end <= message.length ? readEdns(message, position, end) : undefined;
      if (edns === undefined) return undefined;
      position = end;
      continue;
    }
    const record = readRecord(message, position);
    // An OPT record belongs to the root.
    if (record === undefined || record.type === RecordType.OPT) return undefined;
    position = record.end;
  }
  if (position !== message.length) return undefined;
  return queryOf(message, flags, name, edns);
}

/**
 * The content of the OPT record of a malformed message: reads records by the message's counts until one is
 * malformed.
 */
function findEdns(message: Uint8Array): Edns | undefined {
  let position: number = HEADER_BYTES;
  for (let left = readWord(message, 4); left > 0; left--) {
    const nameEnd = readName(message, position);
    if (nameEnd < 0) return undefined;
    position = nameEnd + QUESTION_TAIL_BYTES;
  }
  const others = readWord(message, 6) + readWord(message, 8);
  const records = others + readWord(message, 10);
  for (let index = 0; index < records; index++) {
    const record = readRecord(message, position);
    if (record === undefined) return undefined;
    if (index >= others && record.type === RecordType.OPT && message[position] === 0)
      return readEdns(message, position, record.end, true);
    position = record.end;
  }
  return undefined;
}

/** Builds the query of a message whose type and class follow the name. */
function queryOf(message: Uint8Array, flags: number, name: FoldedName, edns: Edns | undefined) {
  const nameEnd = HEADER_BYTES + name.length;
  return {
    id: readWord(message, 0),
    /** The second word of the header. */
    flags,
    /** Bytes of header and question together. */
    questionEnd: nameEnd + QUESTION_TAIL_BYTES,
    name,
    type: readWord(message, nameEnd),
    class: readWord(message, nameEnd + 2),
    /** The OPT record (RFC 6891), if there is one. */
    edns,
  } as const;
}

/**
 * Reads the OPT record at `start`, which ends at `end`; undefined if its options are malformed, unless the
 * caller tolerates that.
 */
function readEdns(message: Uint8Array, start: number, end: number, isLenient = false) {
  let padding = false;
  let keepalive = false;
  const optionsStart = start + OPT_BYTES;
  for (let option = optionsStart, next = option; option < end; option = next) {
    next = optionEnd(message, option, end);
    if (next < 0) {
      if (isLenient) break;
      return undefined;
    }
    const code = readWord(message, option);
    if (code === EdnsOption.PADDING) padding = true;
    else if (code === EdnsOption.TCP_KEEPALIVE) keepalive = true;
  }
  return {
    /** The range of its options in the message. */
    optionsStart,
    optionsEnd: end,
    version: message[start + 6]!,
    /** The longest answer in bytes that the client accepts over UDP (RFC 6891 section 6.2.3). */
    payloadBytes: readWord(message, start + 3),
    /** The DNSSEC OK bit (RFC 3225). */
    dnssecOk: (message[start + 7]! & 0x80) !== 0,
    /** Whether the client pads and wants padding (RFC 7830). */
    padding,
    /** Whether the client asks for the idle timeout of its connection (RFC 7828 section 3.2.1). */
    keepalive,
  } as const;
}

/** Whether the message is a query at all: long enough for a header, QR clear. */
export function isQuery(message: Uint8Array): boolean {
  return message.length >= HEADER_BYTES && (readWord(message, 2) & HeaderFlag.QR) === 0;
}

/** Whether the gateway answers the question's class: IN or ANY (RFC 1035 section 3.2.5). */
export function isAnsweredClass(value: number): boolean {
  return value === CLASS_IN || value === 255;
}

/**
 * The default EDNS(0) option code of the source cluster: the first one for local use (RFC 6891 section 9).
 */
export const SOURCE_CLUSTER_OPTION = 65001;

/** The UDP payload size announced in our OPT records (RFC 9715). */
export const ANNOUNCED_PAYLOAD_BYTES = 1232;

/** Two labels and the dot between them. */
const MOST_CLUSTER_ID_BYTES = 127;
const OPTION_HEADER_BYTES = 4;
const DNSSEC_OK = 0x8000;

/**
 * The source cluster in a query's EDNS(0) option: the cluster id in ASCII, without a terminator. Undefined
 * if the query has none or several, or is malformed; never throws. The caller decides whether the client may
 * name that cluster.
 */
export function readSourceCluster(message: Uint8Array, optionCode: number): string | undefined {
  const query = isQuery(message) ? readQuery(message) : undefined;
  const edns = query?.edns;
  if (query === undefined || "code" in query || edns === undefined) return undefined;
  let found: string | undefined;
  for (let option = edns.optionsStart, end = option; option < edns.optionsEnd; option = end) {
    end = optionEnd(message, option, edns.optionsEnd);
    if (readWord(message, option) !== optionCode) continue;
    if (found !== undefined) return undefined;
    found = readClusterId(message, option + OPTION_HEADER_BYTES, end);
    if (found === undefined) return undefined;
  }
  return found;
}

/**
 * A query's header and question with a new OPT record, which has the source cluster, if any. The query's own
 * options are left out: OPT is hop by hop (RFC 6891 section 6.1.1), and the gateway must not vouch for a
 * client's option. The DNSSEC OK bit is kept.
 * @throws {RangeError} for a message without a question
 */
export function withSourceCluster(
  message: Uint8Array,
  optionCode: number,
  clusterId: string | undefined,
): Uint8Array<ArrayBuffer> {
  const read = isQuery(message) ? readQuery(message) : undefined;
  if (read === undefined || "code" in read)
    throw new RangeError("only a query with one question can carry a source cluster");
  const { questionEnd, edns } = read;
  const optionBytes = clusterId === undefined ? 0 : OPTION_HEADER_BYTES + clusterId.length;
  const query = new Uint8Array(questionEnd + 11 + optionBytes);
  query.set(message.subarray(0, questionEnd));
  query.fill(0, 6, HEADER_BYTES);
  query[11] = 1;
  const view = new DataView(query.buffer);
  view.setUint16(questionEnd + 1, RecordType.OPT);
  view.setUint16(questionEnd + 3, ANNOUNCED_PAYLOAD_BYTES);
  view.setUint16(questionEnd + 7, edns?.dnssecOk === true ? DNSSEC_OK : 0);
  view.setUint16(questionEnd + 9, optionBytes);
  if (clusterId !== undefined) {
    view.setUint16(questionEnd + 11, optionCode);
    view.setUint16(questionEnd + 13, clusterId.length);
    for (let index = 0; index < clusterId.length; index++)
      query[questionEnd + 15 + index] = clusterId.charCodeAt(index);
  }
  return query;
}

function readClusterId(message: Uint8Array, start: number, end: number): string | undefined {
  if (end - start > MOST_CLUSTER_ID_BYTES) return undefined;
  const text = String.fromCharCode(...message.subarray(start, end));
  return /^[a-z0-9.-]+$/.test(text) ? text : undefined;
}
