import { reverseHash } from "../segment/name-hash.ts";
import { type AddressKey, addressKey } from "./reverse-order.ts";

/** An address as it takes little memory: the 32 bits of an IPv4 address, or the eight 16-bit units of an IPv6 address as text. */
export type AddressId = number | string;

/** For `hashOfId`. */
const hashed = new Uint8Array(16);

/** The id of an address of 4 or 16 bytes. */
export function addressId(bytes: Uint8Array): AddressId {
  if (bytes.length === 4) return (bytes[0]! << 24) | (bytes[1]! << 16) | (bytes[2]! << 8) | bytes[3]!;
  let id = "";
  for (let at = 0; at < 16; at += 2) id += String.fromCharCode((bytes[at]! << 8) | bytes[at + 1]!);
  return id;
}

/** The bytes of an address. */
export function bytesOfId(id: AddressId): Uint8Array {
  const bytes = new Uint8Array(typeof id === "number" ? 4 : 16);
  writeId(id, bytes);
  return bytes;
}

/** Writes an address into the first bytes of `into`. @returns how many */
export function writeId(id: AddressId, into: Uint8Array): 4 | 16 {
  if (typeof id === "number") {
    into[0] = id >>> 24;
    into[1] = id >>> 16;
    into[2] = id >>> 8;
    into[3] = id;
    return 4;
  }
  for (let unit = 0; unit < 8; unit++) {
    into[2 * unit] = id.charCodeAt(unit) >>> 8;
    into[2 * unit + 1] = id.charCodeAt(unit);
  }
  return 16;
}

/** The key of an address. */
export function keyOfId(id: AddressId): AddressKey {
  return addressKey(bytesOfId(id));
}

/** The id of an address by its key. */
export function idOfKey(key: AddressKey): AddressId {
  if (key.length === 8) return Number.parseInt(key, 16) | 0;
  let id = "";
  for (let at = 0; at < 32; at += 4) id += String.fromCharCode(Number.parseInt(key.slice(at, at + 4), 16));
  return id;
}

/** The hash that selects the segment of an address. */
export function hashOfId(id: AddressId): number {
  return reverseHash(hashed, writeId(id, hashed));
}

/** Writes the 32-bit words of an address into `into`: one, or four. */
export function writeWords(id: AddressId, into: Uint32Array): void {
  if (typeof id === "number") into[0] = id;
  else
    for (let word = 0; word < 4; word++)
      into[word] = (id.charCodeAt(2 * word) << 16) | id.charCodeAt(2 * word + 1);
}

/** The id of the address whose words are at `at`. */
export function idOfWords(words: Uint32Array, at: number, width: 1 | 4): AddressId {
  if (width === 1) return words[at]! | 0;
  let id = "";
  for (let word = at; word < at + 4; word++)
    id += String.fromCharCode(words[word]! >>> 16, words[word]! & 0xffff);
  return id;
}
