import { LRUCache } from "lru-cache";
import { type AddressRange, isInRange, readSocketAddress } from "../dns/address-range.ts";

/** Which addresses are one client, and which are never limited. */
export interface ClientNetworkSettings {
  /** Addresses without a limit, such as a proxy's, which stands for many clients. */
  readonly exempt: readonly AddressRange[];
  /** Addresses that have so many bits in common are one client. */
  readonly ipv4PrefixBits: number;
  readonly ipv6PrefixBits: number;
}

/** Addresses that are remembered with their network, so that not every request has to read one. */
const MOST_ADDRESSES = 10_000;
const EXEMPT = "";

/** Tells which client an address belongs to. */
export class ClientNetworks {
  readonly #settings: ClientNetworkSettings;
  readonly #known = new LRUCache<string, string>({ max: MOST_ADDRESSES });

  constructor(settings: ClientNetworkSettings) {
    this.#settings = settings;
  }

  /**
   * A key that all addresses of one client have.
   * @param address in text, as a socket has it; what is no address is a client of its own
   * @returns undefined for an address without a limit
   */
  of(address: string): string | undefined {
    let key = this.#known.get(address);
    if (key === undefined) {
      key = this.#read(address);
      this.#known.set(address, key);
    }
    return key === EXEMPT ? undefined : key;
  }

  #read(address: string): string {
    const octets = readSocketAddress(address);
    if (octets === undefined) return address === "" ? "unknown" : address;
    const { exempt, ipv4PrefixBits, ipv6PrefixBits } = this.#settings;
    if (exempt.some((range) => isInRange(octets, range))) return EXEMPT;
    return prefixOf(octets, octets.length === 4 ? ipv4PrefixBits : ipv6PrefixBits);
  }
}

function prefixOf(octets: Uint8Array, bits: number): string {
  const whole = bits >> 3;
  const prefix = Array.from(octets.subarray(0, whole));
  if ((bits & 7) !== 0) prefix.push(octets[whole]! & (0xff << (8 - (bits & 7))));
  // Networks of both families, and with prefixes of all lengths, stay apart.
  return `${octets.length}/${prefix.join(".")}`;
}
