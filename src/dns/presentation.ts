import { formatAddress } from "./address.ts";
import {
  formatName,
  MAX_NAME_BYTES,
  type RecordPlace,
  RecordType,
  readLong,
  readName,
  readWord,
} from "./name.ts";

/** A message is malformed. */
export class MessageError extends Error {
  readonly code = "MALFORMED_MESSAGE";
}

/**
 * The name at an offset of a message, compressed or not, in master-file form with the trailing dot.
 * @throws {MessageError} if it is malformed or cut off
 */
export function formatNameAt(message: Uint8Array, start: number): string {
  const name = new Uint8Array(MAX_NAME_BYTES);
  if (readName(message, start, name) < 0)
    throw new MessageError("a name is cut off or too long, or its pointers do not point backwards");
  return formatName(name);
}

/** A character-string in quotes with RFC 1035's escapes (section 5.1). */
export function formatCharacterString(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) {
    if (byte === 0x22 || byte === 0x5c) text += `\\${String.fromCharCode(byte)}`;
    else if (byte < 0x20 || byte > 0x7e) text += `\\${String(byte).padStart(3, "0")}`;
    else text += String.fromCharCode(byte);
  }
  return `"${text}"`;
}

const SPF = 99;
const MX = 15;
const DNAME = 39;
const CAA = 257;

/**
 * A record's RDATA in the form of zone files (RFC 1035 section 5.1); types other than those of RFC 1035,
 * AAAA, SRV, DNAME and CAA in the form that every type has (RFC 3597 section 5).
 * @throws {MessageError} if the data does not have the form of its type
 */
export function formatRdata(
  message: Uint8Array,
  { type, dataStart, end }: Pick<RecordPlace, "type" | "dataStart" | "end">,
): string {
  const data = message.subarray(dataStart, end);
  const whole = (isWhole: boolean) => {
    if (!isWhole) throw new MessageError(`the data of a record of type ${type} has the wrong length`);
  };
  /** The name after `before` bytes; `behind` bytes of the data follow it. */
  const nameBehind = (bytes: number, behind = 0): string => {
    whole(data.length > bytes);
    const name = formatNameAt(message, dataStart + bytes);
    whole(readName(message, dataStart + bytes) === end - behind);
    return name;
  };
  switch (type) {
    case RecordType.A:
    case RecordType.AAAA:
      whole(data.length === (type === RecordType.A ? 4 : 16));
      return formatAddress(data);
    case RecordType.NS:
    case RecordType.CNAME:
    case RecordType.PTR:
    case DNAME:
      return nameBehind(0);
    case MX:
      return `${numberAt(data, 0)} ${nameBehind(2)}`;
    case RecordType.SRV:
      return `${numberAt(data, 0)} ${numberAt(data, 2)} ${numberAt(data, 4)} ${nameBehind(6)}`;
    case RecordType.SOA: {
      const primary = formatNameAt(message, dataStart);
      const mailbox = nameBehind(readName(message, dataStart) - dataStart, 20);
      const timers = [20, 16, 12, 8, 4].map((back) => readLong(message, end - back));
      return `${primary} ${mailbox} ${timers.join(" ")}`;
    }
    case RecordType.TXT:
    case SPF:
    case RecordType.HINFO:
      return characterStrings(data).map(formatCharacterString).join(" ");
    case CAA: {
      const valueAt = 2 + (data[1] ?? 0);
      const tag = String.fromCharCode(...data.subarray(2, valueAt));
      if (valueAt > data.length || !/^[A-Za-z0-9]+$/.test(tag)) return generic(data);
      return `${data[0]} ${tag} ${formatCharacterString(data.subarray(valueAt))}`;
    }
    default:
      return generic(data);
  }
}

function generic(data: Uint8Array): string {
  const hex = Array.from(data, (byte) => byte.toString(16).padStart(2, "0"));
  return `\\# ${data.length}${hex.length === 0 ? "" : ` ${hex.join("")}`}`;
}

function characterStrings(data: Uint8Array): Uint8Array[] {
  const strings: Uint8Array[] = [];
  for (let at = 0; at < data.length; at += data[at]! + 1) {
    if (at + 1 + data[at]! > data.length) throw new MessageError("a character-string is cut off");
    strings.push(data.subarray(at + 1, at + 1 + data[at]!));
  }
  return strings;
}

function numberAt(data: Uint8Array, at: number): number {
  if (at + 2 > data.length) throw new MessageError("a record's data is cut off");
  return readWord(data, at);
}
