import { isMapped, parseAddress } from "./address.ts";
import { formatName } from "./name.ts";

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
 * Whether a folded wire name is above the reverse names of addresses: `arpa`, `in-addr.arpa` or `ip6.arpa`, or the first bytes or nibbles of an
 * address before them.
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
 * Reads the address that the first label of a folded wire name spells with dashes: `10-0-0-1`, or `2001-db8--1` for
 * IPv6 (DNS-based service discovery 1.0.1, section 2.6; IPv6 as CoreDNS does). Undefined for anything else, also for
 * IPv4-mapped addresses.
 */
export function readPodLabel(name: Uint8Array): Uint8Array | undefined {
  const label = String.fromCharCode(...name.subarray(1, 1 + name[0]!));
  const dashes = label.split("-").length - 1;
  const bytes = parseAddress(label.replaceAll("-", dashes === 3 && !label.includes("--") ? "." : ":"));
  return bytes === undefined || isMapped(bytes) ? undefined : bytes;
}
