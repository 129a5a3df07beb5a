import { MAX_NAME_BYTES } from "../../dns/codes.ts";
import { type FoldedName, nameKey, readFoldedName } from "../../dns/folded-name.ts";
import { readName } from "../../dns/wire-reader.ts";

/** A name of a message. */
export interface WireName {
  readonly folded: FoldedName;
  /** Its `nameKey`: the wire form with letters in lower case, one character per byte. */
  readonly key: string;
  /** The offset after it in the message. */
  readonly end: number;
}

/** The current name, uncompressed. The buffer is reused, since reading a name is synchronous. */
const expanded = new Uint8Array(MAX_NAME_BYTES);

/** Reads a possibly compressed name; undefined if it is malformed or cut off. */
export function readWireName(message: Uint8Array, start: number): WireName | undefined {
  const end = readName(message, start, expanded);
  const folded = end < 0 ? undefined : readFoldedName(expanded, 0);
  return folded && { folded, key: nameKey(folded), end };
}

/** Whether a name is at or below a zone's name. Both are keys. */
export function isWithin(name: string, zone: string): boolean {
  let at = 0;
  while (name.length - at > zone.length) at += name.charCodeAt(at) + 1;
  return name.length - at === zone.length && name.slice(at) === zone;
}
