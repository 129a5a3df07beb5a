import { RecordType } from "../dns/codes.ts";
import type { Zone } from "../zone/frame.ts";
import { SOA_TIMERS } from "../zone/options.ts";
import type { World } from "../zone/world.ts";
import { type MessageWriter, RECORD_HEADER_BYTES } from "./message/message-writer.ts";

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
