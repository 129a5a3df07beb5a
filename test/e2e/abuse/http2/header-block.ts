/** Indexed fields of the static table (RFC 7541 appendix A). */
const METHODS: Readonly<Record<string, number>> = { GET: 0x82, POST: 0x83 };
const SCHEME_HTTPS = 0x87;
const STATUSES: Readonly<Record<number, number>> = {
  136: 200,
  137: 204,
  138: 206,
  139: 304,
  140: 400,
  141: 404,
  142: 500,
};
const STATUS_INDEX = 8;

/** A header block without Huffman coding and without use of the dynamic table (RFC 7541 section 6.2.2). */
export function headerBlock(
  method: string,
  path: string,
  fields: Readonly<Record<string, string>> = {},
): Buffer {
  const known = METHODS[method];
  return Buffer.concat([
    known === undefined ? literal(":method", method) : Buffer.of(known),
    Buffer.of(SCHEME_HTTPS),
    literal(":authority", "localhost"),
    literal(":path", path),
    ...Object.entries(fields).map(([name, value]) => literal(name, value)),
  ]);
}

/**
 * A field with its name and value in full.
 * @param first the pattern of the first byte, 0x40 to have the dynamic table keep it
 */
export function literal(name: string, value: string, first = 0): Buffer {
  return Buffer.concat([Buffer.of(first), text(name), text(value)]);
}

/**
 * The status that a header block starts with: 200, or that of an error; 0 where it is written in another way.
 */
export function statusOf(block: Buffer): number {
  let at = 0;
  // Updates of the dynamic table's size come first (RFC 7541 section 4.2).
  while ((block[at]! & 0xe0) === 0x20) at++;
  const first = block[at]!;
  if (first >= 0x80) return STATUSES[first] ?? 0;
  if ((first & 0x0f) !== STATUS_INDEX && first !== (0x40 | STATUS_INDEX)) return 0;
  const length = block[at + 1]!;
  const value = block.subarray(at + 2, at + 2 + (length & 0x7f));
  return Number((length & 0x80) === 0 ? value.toString("latin1") : digits(value));
}

/** Huffman coded digits (RFC 7541 appendix B): 0 to 2 have five bits, 3 to 9 six. */
function digits(coded: Buffer): string {
  const bits = Array.from(coded, (byte) => byte.toString(2).padStart(8, "0")).join("");
  let read = "";
  for (let at = 0; at < bits.length && read.length < 3; ) {
    const five = Number.parseInt(bits.slice(at, at + 5), 2);
    if (five <= 2) at += 5;
    const digit = five <= 2 ? five : Number.parseInt(bits.slice(at, at + 6), 2) - 0x19 + 3;
    if (five > 2) at += 6;
    read += String(digit);
  }
  return read;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  return Buffer.concat([integer(bytes.length, 7), bytes]);
}

/** An integer behind a prefix of so many bits (RFC 7541 section 5.1). */
function integer(value: number, bits: number): Buffer {
  const most = (1 << bits) - 1;
  if (value < most) return Buffer.of(value);
  const bytes = [most];
  let rest = value - most;
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.of(...bytes, rest);
}
