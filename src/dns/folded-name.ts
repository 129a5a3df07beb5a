import { MAX_LABEL_BYTES, MAX_NAME_BYTES } from "./codes.ts";
import { countLabels, FOLD, foldName, parseName } from "./name.ts";

/** A name as lookups compare it. It is immutable and independent of the message that it was read from. */
export interface FoldedName {
  /** Wire form with the root byte, letters in lower case (RFC 4343); then one byte per label: the offset where the label starts. */
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

/** Reads the name at an offset of a message; undefined if it is malformed, cut off or compressed. If `readName` can read it too, both agree. */
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
