import { LRUCache } from "lru-cache";
import { type AddressRange, isInRange, readSocketAddress } from "../dns/address.ts";

/** Decides which addresses are one client, and which have no limit. */
export interface ClientNetworkSettings {
  /** Addresses without a limit, such as those of proxies, which have many clients. */
  readonly exempt: readonly AddressRange[];
  /** Addresses with the same prefix of this length are one client. */
  readonly ipv4PrefixBits: number;
  readonly ipv6PrefixBits: number;
}

/** The most remembered addresses; remembering saves parsing one for every request. */
const MOST_ADDRESSES = 10_000;
const EXEMPT = "";

/** Maps an address to its client. */
export class ClientNetworks {
  readonly #settings: ClientNetworkSettings;
  readonly #known = new LRUCache<string, string>({ max: MOST_ADDRESSES });

  constructor(settings: ClientNetworkSettings) {
    this.#settings = settings;
  }

  /**
   * The key of an address's client.
   * @param address as a socket's text; any other text is a client of its own
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

  #read(text: string): string {
    const address = readSocketAddress(text);
    if (address === undefined) return text === "" ? "unknown" : text;
    const { exempt, ipv4PrefixBits, ipv6PrefixBits } = this.#settings;
    if (exempt.some((range) => isInRange(address, range))) return EXEMPT;
    return prefixOf(address, address.length === 4 ? ipv4PrefixBits : ipv6PrefixBits);
  }
}

function prefixOf(address: Uint8Array, bits: number): string {
  const whole = bits >> 3;
  const prefix = Array.from(address.subarray(0, whole));
  if ((bits & 7) !== 0) prefix.push(address[whole]! & (0xff << (8 - (bits & 7))));
  // Networks of both families, and with prefixes of all lengths, have distinct keys.
  return `${address.length}/${prefix.join(".")}`;
}
