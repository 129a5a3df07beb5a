import { type AddressRange, isInRange, parseAddressRanges } from "../dns/address.ts";
import { optionEnd, parseZoneName, type RecordPlace, RecordType, readName, readWord } from "../dns/name.ts";
import { isWithin } from "./records.ts";

/** The settings of addresses that names out of zone may not have. */
export interface PrivateAddressSettings {
  /** Further ranges. */
  readonly also: readonly AddressRange[];
  /** Ranges that any name may have. */
  readonly except: readonly AddressRange[];
  /** Domains, as text, whose names may have private addresses, and CNAME targets in the gateway's zones. */
  readonly names: readonly string[];
}

/**
 * Addresses that belong to a different host in each network: with one, a public name makes a browser connect
 * to a server in the client's own network, with an attacker's origin (DNS rebinding). Sources: RFC 1122
 * section 3.2.1.3, RFC 1918, RFC 6598, RFC 3927, RFC 919; RFC 4291 sections 2.5.2, 2.5.3 and 2.5.6, RFC 3879,
 * RFC 4193.
 */
const PRIVATE = parseAddressRanges([
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "255.255.255.255",
  "::/127",
  "fc00::/7",
  "fe80::/10",
  "fec0::/10",
]);

/**
 * IPv6 ranges with an embedded IPv4 address, and its offset: IPv4-compatible, IPv4-mapped, translated (RFC
 * 2765), NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056).
 */
const EMBEDDING = (
  [
    ["::/96", 12],
    ["::ffff:0:0/96", 12],
    ["::ffff:0:0:0/96", 12],
    ["64:ff9b::/96", 12],
    ["64:ff9b:1::/48", 12],
    ["2002::/16", 2],
  ] as const
).map(([text, start]) => ({ range: parseAddressRanges([text])[0]!, start }));

/** The addresses that a public name may not have. */
export class PrivateAddresses {
  readonly #ranges: readonly AddressRange[];
  readonly #except: readonly AddressRange[];
  readonly #names: readonly string[];

  /** @throws {NameError} if a domain is not a name */
  constructor({ also, except, names }: PrivateAddressSettings) {
    this.#ranges = [...PRIVATE, ...also];
    this.#except = except;
    this.#names = names.map((text) => String.fromCharCode(...parseZoneName(text).wire));
  }

  /** @param address 4 or 16 bytes */
  isPrivate(address: Uint8Array): boolean {
    if (isInAny(address, this.#except)) return false;
    if (isInAny(address, this.#ranges)) return true;
    const embedding = EMBEDDING.find(({ range }) => isInRange(address, range));
    return embedding !== undefined && this.isPrivate(address.subarray(embedding.start, embedding.start + 4));
  }

  /**
   * Whether a name may have private addresses, and a CNAME target in the gateway's zones.
   * @param name a key
   */
  isTrusted(name: string): boolean {
    return this.#names.some((zone) => isWithin(name, zone));
  }
}

function isInAny(address: Uint8Array, ranges: readonly AddressRange[]): boolean {
  return ranges.some((range) => isInRange(address, range));
}

/** Keys of SVCB parameters (RFC 9460 section 14.3.2), and the length of an address. */
const HINTS: ReadonlyMap<number, number> = new Map([
  [4, 4],
  [6, 16],
]);
const PARAMETER_HEADER_BYTES = 4;

/**
 * The addresses in the data of an A, AAAA, SVCB or HTTPS record; none in others. Undefined if the data is
 * malformed.
 */
export function findAddresses(
  bytes: Uint8Array,
  { type, dataStart, end }: RecordPlace,
): Uint8Array[] | undefined {
  switch (type) {
    case RecordType.A:
      return end - dataStart === 4 ? [bytes.subarray(dataStart, end)] : undefined;
    case RecordType.AAAA:
      return end - dataStart === 16 ? [bytes.subarray(dataStart, end)] : undefined;
    case RecordType.SVCB:
    case RecordType.HTTPS:
      return findHints(bytes, dataStart, end);
    default:
      return [];
  }
}

/** The addresses of `ipv4hint` and `ipv6hint` (RFC 9460 section 7.3). */
function findHints(bytes: Uint8Array, dataStart: number, end: number): Uint8Array[] | undefined {
  const hints: Uint8Array[] = [];
  let at = end - dataStart < 3 ? -1 : readName(bytes, dataStart + 2);
  if (at < 0 || at > end) return undefined;
  while (at < end) {
    // A parameter has the form of an EDNS option: key, length, value.
    const next = optionEnd(bytes, at, end);
    if (next < 0) return undefined;
    const length = HINTS.get(readWord(bytes, at));
    if (length !== undefined) {
      const value = bytes.subarray(at + PARAMETER_HEADER_BYTES, next);
      if (value.length === 0 || value.length % length !== 0) return undefined;
      for (let from = 0; from < value.length; from += length) hints.push(value.subarray(from, from + length));
    }
    at = next;
  }
  return hints;
}
