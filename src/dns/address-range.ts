import { parseAddress } from "./address.ts";

/** IP addresses with a common prefix (RFC 4632). */
export interface AddressRange {
  readonly bytes: Uint8Array;
  readonly prefixBits: number;
}

const MAPPED = /^::ffff:(?=\d+\.)/i;

/** Reads `10.0.0.0/8`, `fd00::/8` or a single address; undefined for anything else, also if a bit after the prefix is set. */
export function parseAddressRange(text: string): AddressRange | undefined {
  const match = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text);
  const address = match === null ? undefined : parseAddress(match[1]!);
  if (address === undefined) return undefined;
  const bits = address.length * 8;
  const prefixBits = match![2] === undefined ? bits : Number(match![2]);
  if (prefixBits > bits) return undefined;
  for (let bit = prefixBits; bit < bits; bit++) if (bitAt(address, bit) !== 0) return undefined;
  return { bytes: address, prefixBits };
}

/** @throws {RangeError} naming the text that is not a range */
export function parseAddressRanges(texts: readonly string[]): AddressRange[] {
  return texts.map((text) => {
    const range = parseAddressRange(text);
    if (range !== undefined) return range;
    throw new RangeError(
      `${JSON.stringify(text)} is not a range of addresses: write 10.0.0.0/8, fd00::/8 or 127.0.0.1`,
    );
  });
}

/** The bytes of a socket's address. IPv4 in IPv6 (`::ffff:127.0.0.1`) becomes IPv4; an interface (`%eth0`) is ignored. */
export function readSocketAddress(text: string): Uint8Array | undefined {
  return parseAddress(text.replace(MAPPED, "").replace(/%.*$/, ""));
}

export function isInRange(address: Uint8Array, { bytes, prefixBits }: AddressRange): boolean {
  if (address.length !== bytes.length) return false;
  const whole = prefixBits >> 3;
  for (let index = 0; index < whole; index++) if (address[index] !== bytes[index]) return false;
  for (let bit = whole * 8; bit < prefixBits; bit++)
    if (bitAt(address, bit) !== bitAt(bytes, bit)) return false;
  return true;
}

function bitAt(bytes: Uint8Array, bit: number): number {
  return (bytes[bit >> 3]! >> (7 - (bit & 7))) & 1;
}
