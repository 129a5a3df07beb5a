import { formatName } from "./name.ts";

const V4 = /^(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})$/;

/**
 * Reads a textual IP address into its 4 or 16 bytes; undefined for any other text.
 * Strict on purpose: no leading zeros, no zone index, IPv6 by RFC 4291 section 2.2.
 */
export function parseAddress(text: string): Uint8Array | undefined {
  return text.includes(":") ? parseV6(text) : parseV4(text);
}

function parseV4(text: string): Uint8Array | undefined {
  const match = V4.exec(text);
  if (match === null) return undefined;
  const bytes = new Uint8Array(4);
  for (let index = 0; index < 4; index++) {
    const value = Number(match[index + 1]);
    if (value > 255) return undefined;
    bytes[index] = value;
  }
  return bytes;
}

function parseV6(text: string): Uint8Array | undefined {
  if (text.length > 45) return undefined;
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0] ?? "", halves.length === 1);
  if (head === undefined) return undefined;
  if (halves.length === 1) return head.length === 16 ? Uint8Array.from(head) : undefined;
  const tail = parseGroups(halves[1] ?? "", true);
  if (tail === undefined || head.length + tail.length > 14) return undefined;
  const bytes = new Uint8Array(16);
  bytes.set(head, 0);
  bytes.set(tail, 16 - tail.length);
  return bytes;
}

function parseGroups(text: string, mayEndInV4: boolean): number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [index, group] of groups.entries()) {
    if (mayEndInV4 && index === groups.length - 1 && group.includes(".")) {
      const v4 = parseV4(group);
      if (v4 === undefined) return undefined;
      bytes.push(...v4);
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(group)) return undefined;
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    }
  }
  return bytes.length <= 16 ? bytes : undefined;
}

/**
 * The bytes of an address that an A or AAAA record can hold. Undefined for text that is not an address, for
 * the unspecified address, and for IPv4-mapped IPv6 (RFC 4291 section 2.5.5.2).
 */
export function usableAddress(text: string): Uint8Array | undefined {
  const bytes = parseAddress(text);
  if (bytes === undefined || bytes.every((byte) => byte === 0)) return undefined;
  return isMapped(bytes) ? undefined : bytes;
}

/** Whether an address is an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2). */
export function isMapped(bytes: Uint8Array): boolean {
  return (
    bytes.length === 16 &&
    bytes[10] === 0xff &&
    bytes[11] === 0xff &&
    bytes.subarray(0, 10).every((byte) => byte === 0)
  );
}

/** The host of a URL, an IPv6 address without its brackets. */
export function hostOf({ hostname }: { readonly hostname: string }): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** Whether the host of a URL, as `URL` writes it, is this machine. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}

/** Writes 4 or 16 bytes as text; IPv6 by RFC 5952. */
export function formatAddress(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join(".");
  const groups: number[] = [];
  for (let index = 0; index < 16; index += 2) groups.push((bytes[index]! << 8) | bytes[index + 1]!);
  let bestStart = -1;
  let bestLength = 1;
  for (let start = 0; start < 8; start++) {
    let end = start;
    while (end < 8 && groups[end] === 0) end++;
    if (end - start > bestLength) {
      bestStart = start;
      bestLength = end - start;
    }
    if (end > start) start = end;
  }
  const hex = groups.map((group) => group.toString(16));
  if (bestStart === -1) return hex.join(":");
  return `${hex.slice(0, bestStart).join(":")}::${hex.slice(bestStart + bestLength).join(":")}`;
}

/** IP addresses with a common prefix (RFC 4632). */
export interface AddressRange {
  readonly bytes: Uint8Array;
  readonly prefixBits: number;
}

const MAPPED = /^::ffff:(?=\d+\.)/i;

/**
 * Reads `10.0.0.0/8`, `fd00::/8` or a single address; undefined for anything else, also if a bit after the
 * prefix is set.
 */
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

/**
 * The bytes of a socket's address. IPv4 in IPv6 (`::ffff:127.0.0.1`) becomes IPv4; an interface (`%eth0`) is
 * ignored.
 */
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

// The wire forms of in-addr.arpa and ip6.arpa (RFC 1035 section 3.5, RFC 3596 section 2.5), in lower case.
const IN_ADDR_ARPA = Uint8Array.from([7, 105, 110, 45, 97, 100, 100, 114, 4, 97, 114, 112, 97, 0]);
const IP6_ARPA = Uint8Array.from([3, 105, 112, 54, 4, 97, 114, 112, 97, 0]);
const ARPA = IP6_ARPA.subarray(4);
const ABOVE_REVERSE_NAMES =
  /^(?:(?:(?:(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])\.){0,3}in-addr|(?:[0-9a-f]\.){0,31}ip6)\.)?arpa\.$/;
const IP6_NAME_BYTES = 32 * 2 + IP6_ARPA.length;
const ZERO = 0x30;

/**
 * Reads the address of a reverse name, a folded wire name, into `into` (16 bytes).
 * Returns the address's length, 4 or 16, or 0 if the name is not a complete, canonical reverse name.
 */
export function readReverseName(name: Uint8Array, length: number, into: Uint8Array): 0 | 4 | 16 {
  if (length === IP6_NAME_BYTES && endsWith(name, length, IP6_ARPA)) return readNibbles(name, into);
  if (length > IN_ADDR_ARPA.length && endsWith(name, length, IN_ADDR_ARPA))
    return readInAddrArpa(name, length - IN_ADDR_ARPA.length, into);
  return 0;
}

function endsWith(name: Uint8Array, length: number, suffix: Uint8Array): boolean {
  const start = length - suffix.length;
  for (let index = 0; index < suffix.length; index++) if (name[start + index] !== suffix[index]) return false;
  return true;
}

function readNibbles(name: Uint8Array, into: Uint8Array): 0 | 16 {
  for (let index = 0; index < 32; index++) {
    if (name[index * 2] !== 1) return 0;
    const character = name[index * 2 + 1]!;
    let nibble = character - ZERO;
    if (nibble < 0 || nibble > 9) {
      nibble = character - 0x61 + 10;
      if (nibble < 10 || nibble > 15) return 0;
    }
    const byte = 15 - (index >> 1);
    into[byte] = index % 2 === 0 ? nibble : into[byte]! | (nibble << 4);
  }
  return 16;
}

function readInAddrArpa(name: Uint8Array, end: number, into: Uint8Array): 0 | 4 {
  let position = 0;
  for (let byte = 3; byte >= 0; byte--) {
    if (position >= end) return 0;
    const digits = name[position]!;
    if (digits < 1 || digits > 3) return 0;
    if (digits > 1 && name[position + 1] === ZERO) return 0;
    let value = 0;
    for (let index = 1; index <= digits; index++) {
      const digit = name[position + index]! - ZERO;
      if (digit < 0 || digit > 9) return 0;
      value = value * 10 + digit;
    }
    if (value > 255) return 0;
    into[byte] = value;
    position += digits + 1;
  }
  return position === end ? 4 : 0;
}

/**
 * Whether a folded wire name is above the reverse names of addresses: `arpa`, `in-addr.arpa` or `ip6.arpa`,
 * or the first bytes or nibbles of an address before them.
 */
export function isAboveReverseNames(name: Uint8Array, length: number): boolean {
  return endsWith(name, length, ARPA) && ABOVE_REVERSE_NAMES.test(formatName(name));
}

/** The reverse name of an address of 4 or 16 bytes, in text with the trailing dot. */
export function formatReverseName(address: Uint8Array): string {
  if (address.length === 4) return `${[...address].reverse().join(".")}.in-addr.arpa.`;
  const nibbles: string[] = [];
  for (const byte of address) nibbles.push((byte >> 4).toString(16), (byte & 15).toString(16));
  return `${nibbles.reverse().join(".")}.ip6.arpa.`;
}

/**
 * Reads the address that the first label of a folded wire name spells with dashes: `10-0-0-1`, or
 * `2001-db8--1` for IPv6 (DNS-based service discovery 1.0.1, section 2.6; IPv6 as CoreDNS does). Undefined
 * for anything else, also for IPv4-mapped addresses.
 */
export function readPodLabel(name: Uint8Array): Uint8Array | undefined {
  const label = String.fromCharCode(...name.subarray(1, 1 + name[0]!));
  const dashes = label.split("-").length - 1;
  const bytes = parseAddress(label.replaceAll("-", dashes === 3 && !label.includes("--") ? "." : ":"));
  return bytes === undefined || isMapped(bytes) ? undefined : bytes;
}
