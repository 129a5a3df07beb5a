import { MAX_NAME_BYTES } from "../../dns/codes.ts";
import { type FoldedName, nameKey, readFoldedName } from "../../dns/folded-name.ts";
import { readName } from "../../dns/wire-reader.ts";

/** A name of a message. */
export interface WireName {
  readonly folded: FoldedName;
  /** `nameKey` of it: the wire form, letters in lower case, a character for each byte. */
  readonly key: string;
  /** The offset behind it in the message. */
  readonly end: number;
}

/** The name that is read, uncompressed; used again, since reading it is synchronous. */
const expanded = new Uint8Array(MAX_NAME_BYTES);

/** Reads a possibly compressed name; undefined where it is malformed or cut off. */
export function readWireName(message: Uint8Array, start: number): WireName | undefined {
  const end = readName(message, start, expanded);
  const folded = end < 0 ? undefined : readFoldedName(expanded, 0);
  return folded && { folded, key: nameKey(folded), end };
}

/** Whether a name is that of a zone, or below. Both as keys. */
export function isWithin(name: string, zone: string): boolean {
  let at = 0;
  while (name.length - at > zone.length) at += name.charCodeAt(at) + 1;
  return name.length - at === zone.length && name.slice(at) === zone;
}
