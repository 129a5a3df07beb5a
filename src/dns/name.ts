/** `FOLD[byte]` is the byte with ASCII letters in lower case (RFC 4343 section 3). */
export const FOLD: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte,
);

/** A text is not a DNS name; `message` says why. */
export class NameError extends Error {
  readonly code = "INVALID_NAME";
}

/**
 * Reads a name in master-file form (RFC 1035 section 5.1: `\.` and `\DDD` escapes, trailing dot
 * optional) into wire format, case kept. Rejects characters outside ASCII: use an A-label.
 * @throws {NameError} naming the label that is empty, too long or malformed.
 */
export function parseName(text: string): Uint8Array<ArrayBuffer> {
  if (text === ".") return Uint8Array.of(0);
  if (text === "") throw new NameError("the name is empty; write the root as a dot");
  const bytes: number[] = [];
  let label: number[] = [];
  const endLabel = () => {
    if (label.length === 0) throw new NameError(`${JSON.stringify(text)} has an empty label`);
    if (label.length > MAX_LABEL_BYTES)
      throw new NameError(
        `${JSON.stringify(text)} has a label of ${label.length} bytes; at most ${MAX_LABEL_BYTES} are allowed`,
      );
    bytes.push(label.length, ...label);
    label = [];
  };
  for (let index = 0; index < text.length; index++) {
    const character = text[index]!;
    if (character === ".") {
      endLabel();
    } else if (character === "\\") {
      const escaped = /^(?:\d{3}|\D)/.exec(text.slice(index + 1, index + 4))?.[0] ?? "";
      const value = escaped.length === 3 ? Number(escaped) : escaped.charCodeAt(0);
      if (Number.isNaN(value) || value > 255)
        throw new NameError(
          `${JSON.stringify(text)} has a malformed escape at position ${index}: a backslash needs three digits (\\000 to \\255) or another character after it`,
        );
      label.push(value);
      index += escaped.length;
    } else {
      const code = character.charCodeAt(0);
      if (code > 0x7e || code < 0x21)
        throw new NameError(
          `${JSON.stringify(text)} has a character at position ${index} that a name must not contain; write it as \\DDD, or an international name as its A-label (xn--…)`,
        );
      label.push(code);
    }
  }
  if (label.length > 0) endLabel();
  bytes.push(0);
  if (bytes.length > MAX_NAME_BYTES)
    throw new NameError(
      `${JSON.stringify(text.slice(0, 64))}… takes ${bytes.length} bytes; at most ${MAX_NAME_BYTES} are allowed`,
    );
  return Uint8Array.from(bytes);
}

/**
 * Writes an uncompressed wire name in master-file form with the trailing dot, and escapes special characters.
 */
export function formatName(wire: Uint8Array, start = 0): string {
  if (wire[start] === 0) return ".";
  let text = "";
  let position = start;
  for (let length = wire[position]!; length !== 0; length = wire[position]!) {
    for (let index = position + 1; index <= position + length; index++) {
      const byte = wire[index]!;
      const character = String.fromCharCode(byte);
      if (byte < 0x21 || byte > 0x7e) text += `\\${String(byte).padStart(3, "0")}`;
      else text += /[."\\;()@$]/.test(character) ? `\\${character}` : character;
    }
    text += ".";
    position += length + 1;
  }
  return text;
}

/** A copy with ASCII letters in lower case: comparisons use this form (RFC 4343). */
export function foldName(wire: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(wire, (byte) => FOLD[byte]!);
}

/** A name in lower case with the trailing dot. @throws {NameError} if it is not a name */
export function canonicalName(text: string): string {
  return formatName(foldName(parseName(text)));
}

/** The number of labels of a wire name without the root label. */
function countLabels(wire: Uint8Array): number {
  let count = 0;
  for (let position = 0; wire[position] !== 0; position += wire[position]! + 1) count++;
  return count;
}

/** A name as lookups compare it. It is immutable and independent of the message that it was read from. */
export interface FoldedName {
  /**
   * Wire form with the root byte, letters in lower case (RFC 4343); then one byte per label: the offset where
   * the label starts.
   */
  readonly bytes: Uint8Array;
  /** Length of the wire form. */
  readonly length: number;
  /** The number of labels without the root label. */
  readonly labels: number;
}

/** A zone's name in wire form, letters in lower case. */
export interface ZoneName {
  readonly wire: Uint8Array<ArrayBuffer>;
  readonly labels: number;
}

/**
 * Reads the name at an offset of a message; undefined if it is malformed, cut off or compressed. If
 * `readName` can read it too, both agree.
 */
export function readFoldedName(message: Uint8Array, start: number): FoldedName | undefined {
  const { length: available } = message;
  let at = start;
  let labels = 0;
  for (;;) {
    if (at >= available) return undefined;
    const length = message[at]!;
    if (length === 0) break;
    if (length > MAX_LABEL_BYTES) return undefined;
    at += length + 1;
    labels++;
  }
  const wireLength = at - start + 1;
  if (wireLength > MAX_NAME_BYTES) return undefined;
  const bytes = allocate(wireLength + labels);
  // A length byte is at most 63 and a letter is at least 65, so folding keeps the lengths.
  for (let index = 0; index < wireLength; index++) bytes[index] = FOLD[message[start + index]!]!;
  for (let label = 0, index = 0; label < labels; label++) {
    bytes[wireLength + label] = index;
    index += bytes[index]! + 1;
  }
  return { bytes, length: wireLength, labels };
}

/** Names are cut from slabs: an ArrayBuffer for each name would double the cost of a short answer. */
const SLAB_BYTES = 1 << 14;
let slab = new ArrayBuffer(SLAB_BYTES);
let slabUsed = 0;

function allocate(bytes: number): Uint8Array {
  if (slabUsed + bytes > SLAB_BYTES) {
    slab = new ArrayBuffer(SLAB_BYTES);
    slabUsed = 0;
  }
  slabUsed += bytes;
  return new Uint8Array(slab, slabUsed - bytes, bytes);
}

/** Where a label of a name starts, counted from the left; the index after the last label is the root. */
export function labelStart({ bytes, length, labels }: FoldedName, label: number): number {
  return label < labels ? bytes[length + label]! : length - 1;
}

/** A label of a name in text; each byte becomes the character with its number. */
export function labelText(name: FoldedName, label: number): string {
  const at = labelStart(name, label);
  return String.fromCharCode(...name.bytes.subarray(at + 1, at + 1 + name.bytes[at]!));
}

/** The wire form of a name as a string with a character for each byte: a unique key. */
export function nameKey({ bytes, length }: FoldedName): string {
  let key = "";
  for (let index = 0; index < length; index++) key += String.fromCharCode(bytes[index]!);
  return key;
}

/** @throws {NameError} if the text is not a name */
export function parseZoneName(text: string): ZoneName {
  const wire = foldName(parseName(text));
  return { wire, labels: countLabels(wire) };
}

/** The offset at which the zone's name starts in a name of the zone; -1 for a name out of zone. */
export function startOfZone(name: FoldedName, { wire, labels }: ZoneName): number {
  if (name.labels < labels) return -1;
  const start = labelStart(name, name.labels - labels);
  if (name.length - start !== wire.length) return -1;
  const { bytes } = name;
  for (let index = 0; index < wire.length; index++) if (wire[index] !== bytes[start + index]) return -1;
  return start;
}

/** Whether a name is an ancestor of a zone. */
export function isAboveZone({ bytes, length, labels }: FoldedName, zone: ZoneName): boolean {
  const { wire } = zone;
  if (zone.labels <= labels) return false;
  let start = 0;
  for (let left = zone.labels - labels; left > 0; left--) start += wire[start]! + 1;
  if (wire.length - start !== length) return false;
  for (let index = 0; index < length; index++) if (wire[start + index] !== bytes[index]) return false;
  return true;
}

/** RR types that the gateway writes or treats specially (IANA DNS Parameters). */
export const RecordType = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  HINFO: 13,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  DNAME: 39,
  OPT: 41,
  RRSIG: 46,
  NSEC: 47,
  NSEC3: 50,
  SVCB: 64,
  HTTPS: 65,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
} as const;

/** CLASS IN (RFC 1035 section 3.2.4). */
export const CLASS_IN = 1;

/** Response codes (RFC 1035 section 4.1.1, RFC 6891 section 9). */
export const ResponseCode = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const;

/** EDNS option codes (RFC 7828, RFC 7830, RFC 8914). */
export const EdnsOption = { TCP_KEEPALIVE: 11, PADDING: 12, EXTENDED_ERROR: 15 } as const;

/** Extended DNS Error info codes (RFC 8914 section 4). */
export const ExtendedError = {
  OTHER: 0,
  STALE_ANSWER: 3,
  CACHED_ERROR: 13,
  NOT_READY: 14,
  BLOCKED: 15,
  PROHIBITED: 18,
  STALE_NXDOMAIN: 19,
  NOT_AUTHORITATIVE: 20,
  NOT_SUPPORTED: 21,
  NO_REACHABLE_AUTHORITY: 22,
  NETWORK_ERROR: 23,
} as const;

/** Bits of the second 16-bit word of the header (RFC 1035 section 4.1.1, RFC 4035 section 3). */
export const HeaderFlag = { QR: 0x8000, AA: 0x0400, TC: 0x0200, RD: 0x0100, RA: 0x0080, CD: 0x0010 } as const;

/** Size of the message header in bytes. */
export const HEADER_BYTES = 12;
/** The longest name on the wire in bytes, the root label included (RFC 1035 section 2.3.4). */
export const MAX_NAME_BYTES = 255;
/** The longest label in bytes (RFC 1035 section 2.3.4). */
export const MAX_LABEL_BYTES = 63;

/** Where a resource record lies in a message (RFC 1035 section 4.1.3). */
export interface RecordPlace {
  /** Offset of the owner name. */
  readonly start: number;
  readonly type: number;
  /** The CLASS field; in an OPT record the payload size. */
  readonly class: number;
  /** The TTL field; in an OPT record the extended rcode, version and flags. */
  readonly ttl: number;
  readonly dataStart: number;
  readonly end: number;
}

const FIXED_BYTES = 10;
const OPTION_HEADER_BYTES = 4;

/** The 16-bit number at an offset of a message. */
export function readWord(message: Uint8Array, at: number): number {
  return (message[at]! << 8) | message[at + 1]!;
}

/** The 32-bit number at an offset of a message. */
export function readLong(message: Uint8Array, at: number): number {
  return readWord(message, at) * 0x10000 + readWord(message, at + 2);
}

/**
 * Reads the name at an offset of a message (RFC 1035 section 4.1.4). Each compression pointer must point
 * before the name, before the previous pointer, and behind the header; so every name ends. Labels of more
 * than 63 bytes and names of more than 255 are malformed.
 * @param into receives the name uncompressed, case kept, with the root byte; 255 bytes are enough
 * @returns the offset after the name in the message, or -1 if it is malformed or cut off
 */
export function readName(message: Uint8Array, start: number, into?: Uint8Array): number {
  let end = -1;
  let bytes = 0;
  let least = start;
  let at = start;
  while (at < message.length) {
    const length = message[at]!;
    if (length >= 0xc0) {
      const target = at + 1 < message.length ? readWord(message, at) & 0x3fff : least;
      if (target >= least || target < HEADER_BYTES) return -1;
      if (end < 0) end = at + 2;
      at = least = target;
      continue;
    }
    const next = at + length + 1;
    if (length > MAX_LABEL_BYTES || next > message.length || bytes + length + 1 > MAX_NAME_BYTES) return -1;
    if (into !== undefined) for (let from = at; from < next; from++) into[bytes + from - at] = message[from]!;
    bytes += length + 1;
    at = next;
    if (length === 0) return end < 0 ? at : end;
  }
  return -1;
}

/** The record whose owner name starts at an offset; undefined if it is malformed or cut off. */
export function readRecord(message: Uint8Array, start: number): RecordPlace | undefined {
  const fixed = readName(message, start);
  if (fixed < 0 || fixed + FIXED_BYTES > message.length) return undefined;
  const dataStart = fixed + FIXED_BYTES;
  const end = dataStart + readWord(message, fixed + 8);
  if (end > message.length) return undefined;
  return {
    start,
    type: readWord(message, fixed),
    class: readWord(message, fixed + 2),
    ttl: readLong(message, fixed + 4),
    dataStart,
    end,
  };
}

/**
 * Where the EDNS option at an offset ends (RFC 6891 section 6.1.2), with 4 bytes of code and length; -1 if
 * `end` cuts it off.
 */
export function optionEnd(message: Uint8Array, at: number, end: number): number {
  if (at + OPTION_HEADER_BYTES > end) return -1;
  const next = at + OPTION_HEADER_BYTES + readWord(message, at + 2);
  return next <= end ? next : -1;
}
