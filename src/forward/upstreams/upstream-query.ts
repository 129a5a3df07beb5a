import { CLASS_IN, EdnsOption, HEADER_BYTES, HeaderFlag, RecordType } from "../../dns/codes.ts";
import { nameKey } from "../../dns/folded-name.ts";
import { ANNOUNCED_PAYLOAD_BYTES } from "../../resolve/message/limits.ts";
import type { Query } from "../../resolve/query.ts";

const OPT_BYTES = 11;
const OPTION_HEADER_BYTES = 4;
/** Queries over TLS are padded to a multiple of this (RFC 8467 section 4.1). */
const PADDED_QUERY_BYTES = 128;

/**
 * The query to an upstream: the question with letters folded, RD, and the client's CD and DNSSEC OK. The
 * OPT record is the gateway's own: EDNS is hop by hop (RFC 6891 section 6.1.1), and none of a client's options, such as its subnet
 * (RFC 7871) or cookie, leaves the gateway. The ID is 0.
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
  const query = new Uint8Array(nameEnd + 4 + OPT_BYTES);
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

/** A query that ends with an OPT record without options, padded for an encrypted transport (RFC 7830, RFC 8467). */
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
