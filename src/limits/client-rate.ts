import { type ClientNetworkSettings, ClientNetworks } from "./client-networks.ts";
import { type Rate, type TokenBucket, TokenBuckets } from "./token-buckets.ts";

/** The limit on the rate of each client. */
export interface ClientRateSettings extends ClientNetworkSettings, Omit<Rate, "perSecond"> {
  /** 0 for no limit. */
  readonly perSecond: number;
  /** The most remembered clients. */
  readonly mostClients: number;
}

/** A token bucket for each client. */
export class ClientRate {
  readonly #isOff: boolean;
  readonly #networks: ClientNetworks;
  readonly #buckets: TokenBuckets;

  /** @param now monotonic milliseconds */
  constructor(settings: ClientRateSettings, now: () => number = () => performance.now()) {
    this.#isOff = settings.perSecond === 0;
    this.#networks = new ClientNetworks(settings);
    this.#buckets = new TokenBuckets(settings, settings.mostClients, now);
  }

  /**
   * The bucket of a client; undefined for one without a limit.
   * @param address undefined if it is unknown: then there is no limit
   */
  bucketOf(address: string | undefined): TokenBucket | undefined {
    if (this.#isOff || address === undefined) return undefined;
    const network = this.#networks.of(address);
    return network === undefined ? undefined : this.#buckets.of(network);
  }

  /** Takes one token from a client's bucket. @returns 0, or the seconds until there is one */
  take(address: string | undefined): number {
    const bucket = this.bucketOf(address);
    return bucket === undefined ? 0 : this.#buckets.take(bucket);
  }

  /** Takes one token from a bucket. @returns 0, or the seconds until there is one */
  takeOf(bucket: TokenBucket): number {
    return this.#buckets.take(bucket);
  }
}
