import { HEADER_BYTES, RecordType } from "../dns/name.ts";
import { optionEnd, readWord } from "../dns/wire-reader.ts";
import { ANNOUNCED_PAYLOAD_BYTES } from "./message-writer.ts";
import { isQuery, readQuery } from "./query.ts";

/**
 * The default EDNS(0) option code of the source cluster: the first one for local use (RFC 6891 section 9).
 */
export const SOURCE_CLUSTER_OPTION = 65001;

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
