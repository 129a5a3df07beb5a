import { HEADER_BYTES, RecordType } from "../dns/name.ts";
import { optionEnd, readWord } from "../dns/wire-reader.ts";
import type { Zone } from "../zone/frame.ts";
import type { World } from "../zone/world.ts";
import { SOA_TIMERS } from "../zone/zone-plan.ts";
import { ANNOUNCED_PAYLOAD_BYTES, type MessageWriter, RECORD_HEADER_BYTES } from "./message-writer.ts";
import { isQuery, readQuery } from "./query.ts";

// ns.dns and hostmaster, the labels below the zone in its SOA and NS records: the names that CoreDNS uses.
const NAME_SERVER = Uint8Array.from([2, 110, 115, 3, 100, 110, 115]);
const MAILBOX = Uint8Array.from([10, 104, 111, 115, 116, 109, 97, 115, 116, 101, 114]);

/** Bytes of the SOA and NS data with a compression pointer to the zone. */
const POINTER_BYTES = 2;
const SOA_DATA_BYTES = NAME_SERVER.length + POINTER_BYTES + MAILBOX.length + POINTER_BYTES + 20;

/** Writes the SOA record (RFC 1035 section 3.3.13) of the zone whose name is at `apexAt` in the message; false if it does not fit. */
export function writeSoa(writer: MessageWriter, world: World, apexAt: number): boolean {
  if (!writer.hasRoom(RECORD_HEADER_BYTES + SOA_DATA_BYTES)) return false;
  writer.writeRecordHeader(apexAt, RecordType.SOA, world.frame.negativeTtl, SOA_DATA_BYTES);
  writer.writeBytes(NAME_SERVER, 0, NAME_SERVER.length);
  writer.write16(0xc000 | apexAt);
  writer.writeBytes(MAILBOX, 0, MAILBOX.length);
  writer.write16(0xc000 | apexAt);
  writeSoaNumbers(writer, world);
  return true;
}

/** Writes the NS record of the zone whose name is at `apexAt`; returns the offset of its target, or -1 if it does not fit. */
export function writeNs(writer: MessageWriter, world: World, apexAt: number): number {
  if (!writer.hasRoom(RECORD_HEADER_BYTES + NAME_SERVER.length + POINTER_BYTES)) return -1;
  writer.writeRecordHeader(
    apexAt,
    RecordType.NS,
    world.frame.negativeTtl,
    NAME_SERVER.length + POINTER_BYTES,
  );
  const target = writer.position;
  writer.writeBytes(NAME_SERVER, 0, NAME_SERVER.length);
  writer.write16(0xc000 | apexAt);
  return target;
}

/** Writes the SOA record of a reverse name, which is a zone of its own because the zone around it is not ours; false if it does not fit. */
export function writeReverseSoa(writer: MessageWriter, world: World, zone: Zone, apexAt: number): boolean {
  const names = NAME_SERVER.length + MAILBOX.length + 2 * zone.wire.length;
  if (!writer.hasRoom(RECORD_HEADER_BYTES + names + 20)) return false;
  writer.writeRecordHeader(apexAt, RecordType.SOA, world.frame.negativeTtl, names + 20);
  writer.writeBytes(NAME_SERVER, 0, NAME_SERVER.length);
  writer.writeBytes(zone.wire, 0, zone.wire.length);
  writer.writeBytes(MAILBOX, 0, MAILBOX.length);
  writer.writeBytes(zone.wire, 0, zone.wire.length);
  writeSoaNumbers(writer, world);
  return true;
}

function writeSoaNumbers(writer: MessageWriter, world: World): void {
  writer.write32(world.serial);
  writer.write32(SOA_TIMERS.refresh);
  writer.write32(SOA_TIMERS.retry);
  writer.write32(SOA_TIMERS.expire);
  writer.write32(world.frame.negativeTtl);
}

/** The default EDNS(0) option code of the source cluster: the first one for local use (RFC 6891 section 9). */
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
 * A query's header and question with a new OPT record, which has the source cluster, if any. The query's own options are left
 * out: OPT is hop by hop (RFC 6891 section 6.1.1), and the gateway must not vouch for a client's option.
 * The DNSSEC OK bit is kept.
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
