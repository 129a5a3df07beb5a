import { LRUCache } from "lru-cache";
import { type AddressRange, isInRange, readSocketAddress } from "../dns/address.ts";

/** The limit on the rate of each client. */
export interface ClientRateSettings extends ClientNetworkSettings, Omit<Rate, "perSecond"> {
  /** 0 for no limit. */
  readonly perSecond: number;
  /**
   * The most clients whose buckets one thread remembers. Buckets in shared memory have a number of their own.
   */
  readonly mostClients: number;
}

/** Token buckets by client. */
export interface ClientBuckets {
  /** Takes one token. @returns 0, or the seconds until there is one */
  take(client: string): number;
  /** How often a client's bucket was empty. */
  refusals(client: string): number;
}

/** The rates of clients that a process limits. */
export type RateName = "requests" | "connections" | "datagrams" | "forwarded";

/** A token bucket for each client. */
export class ClientRate {
  readonly #isOff: boolean;
  readonly #networks: ClientNetworks;
  readonly #buckets: ClientBuckets;

  /**
   * @param now monotonic milliseconds
   * @param create makes the buckets of this rate. Default: they are in the memory of this thread
   */
  constructor(
    settings: ClientRateSettings,
    now: () => number = () => performance.now(),
    create: (rate: Rate) => ClientBuckets = (rate) => rememberedBuckets(rate, settings.mostClients, now),
  ) {
    this.#isOff = settings.perSecond === 0;
    this.#networks = new ClientNetworks(settings);
    this.#buckets = create(settings);
  }

  /**
   * Takes one token from a client's bucket.
   * @param address undefined if it is unknown: then there is no limit
   * @returns 0, or the seconds until there is one
   */
  take(address: string | undefined): number {
    const client = this.#clientOf(address);
    return client === undefined ? 0 : this.#buckets.take(client);
  }

  /** How often a client's bucket was empty; 0 for a client without a limit. */
  refusals(address: string): number {
    const client = this.#clientOf(address);
    return client === undefined ? 0 : this.#buckets.refusals(client);
  }

  #clientOf(address: string | undefined): string | undefined {
    return this.#isOff || address === undefined ? undefined : this.#networks.of(address);
  }
}

function rememberedBuckets(rate: Rate, most: number, now: () => number): ClientBuckets {
  const buckets = new TokenBuckets(rate, most, now);
  return {
    take: (client) => buckets.take(buckets.of(client)),
    refusals: (client) => buckets.of(client).refused,
  };
}

/** The limits of a bucket. */
export interface Rate {
  /** Tokens added per second; above 0. */
  readonly perSecond: number;
  /** The most tokens in it; at least 1. */
  readonly burst: number;
}

/** The state of one bucket. */
export interface TokenBucket {
  tokens: number;
  filledAt: number;
  /** The number of times that it was empty. */
  refused: number;
}

/**
 * A token bucket for each key, up to a number, since clients choose keys. The least recently used bucket is
 * forgotten first, and is then full again.
 */
export class TokenBuckets {
  readonly #rate: Rate;
  readonly #now: () => number;
  readonly #buckets: LRUCache<string, TokenBucket>;

  /**
   * @param most the most remembered buckets
   * @param now monotonic milliseconds
   */
  constructor(rate: Rate, most: number, now: () => number) {
    this.#rate = rate;
    this.#now = now;
    this.#buckets = new LRUCache({ max: most });
  }

  /** The bucket of a key. */
  of(key: string): TokenBucket {
    const known = this.#buckets.get(key);
    if (known !== undefined) return known;
    const bucket = { tokens: this.#rate.burst, filledAt: this.#now(), refused: 0 };
    this.#buckets.set(key, bucket);
    return bucket;
  }

  /**
   * Takes tokens.
   * @param count at most the size of a bucket
   * @returns 0, or the seconds until there are enough
   */
  take(bucket: TokenBucket, count = 1): number {
    const { perSecond, burst } = this.#rate;
    const now = this.#now();
    const tokens = Math.min(burst, bucket.tokens + ((now - bucket.filledAt) / 1000) * perSecond);
    bucket.filledAt = now;
    if (tokens >= count || count === 0) {
      bucket.tokens = tokens - count;
      return 0;
    }
    bucket.tokens = tokens;
    bucket.refused++;
    return Math.ceil((count - tokens) / perSecond);
  }

  /**
   * Takes tokens that there may not be: the bucket owes them, and nothing can be taken until they are filled
   * in.
   */
  owe(bucket: TokenBucket, count: number): void {
    this.take(bucket, 0);
    bucket.tokens -= count;
  }
}

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
