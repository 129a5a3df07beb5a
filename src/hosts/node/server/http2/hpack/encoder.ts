import { findStaticField, findStaticName } from "./static-table.ts";

/**
 * The first byte of a connection's first field block: a table of size 0 (RFC 7541 sections 4.2 and 6.3). The encoder indexes nothing, so that no
 * setting of the peer is ever smaller.
 */
export const NO_TABLE = 0x20;

/** Encodes a field: from the static table, or as a literal that is not indexed, without Huffman codes. Names are in lower case. */
export function encodeField(name: string, value: string): Buffer {
  const index = findStaticField(name, value);
  if (index > 0) return Buffer.from([0x80 | index]);
  const nameIndex = findStaticName(name);
  const head = nameIndex > 0 ? integer(0, 4, nameIndex) : Buffer.concat([Buffer.from([0]), string(name)]);
  return Buffer.concat([head, string(value)]);
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  return Buffer.concat([integer(0, 7, bytes.length), bytes]);
}

/** RFC 7541 section 5.1. */
function integer(flags: number, prefix: number, value: number): Buffer {
  const most = (1 << prefix) - 1;
  if (value < most) return Buffer.from([flags | value]);
  const bytes = [flags | most];
  let rest = value - most;
  for (; rest >= 0x80; rest >>= 7) bytes.push(0x80 | (rest & 0x7f));
  bytes.push(rest);
  return Buffer.from(bytes);
}
