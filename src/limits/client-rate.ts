import { type ClientNetworkSettings, ClientNetworks } from "./client-networks.ts";
import { type Rate, type TokenBucket, TokenBuckets } from "./token-buckets.ts";

/** How much each client may ask for. */
export interface ClientRateSettings extends ClientNetworkSettings, Omit<Rate, "perSecond"> {
  /** 0 for any number. */
  readonly perSecond: number;
  /** Clients that are remembered. */
  readonly mostClients: number;
}

/** A token bucket for each client. */
export class ClientRate {
  readonly #isOff: boolean;
  readonly #networks: ClientNetworks;
  readonly #buckets: TokenBuckets;

  /** @param now milliseconds that never go back */
  constructor(settings: ClientRateSettings, now: () => number = () => performance.now()) {
    this.#isOff = settings.perSecond === 0;
    this.#networks = new ClientNetworks(settings);
    this.#buckets = new TokenBuckets(settings, settings.mostClients, now);
  }

  /**
   * The bucket of a client; undefined for one without a limit.
   * @param address undefined where it is not known: then there is nobody to tell apart
   */
  bucketOf(address: string | undefined): TokenBucket | undefined {
    if (this.#isOff || address === undefined) return undefined;
    const network = this.#networks.of(address);
    return network === undefined ? undefined : this.#buckets.of(network);
  }

  /** Takes one token of a client's bucket. @returns 0, or after how many seconds there will be one */
  take(address: string | undefined): number {
    const bucket = this.bucketOf(address);
    return bucket === undefined ? 0 : this.#buckets.take(bucket);
  }

  /** Takes one token of a bucket. @returns 0, or after how many seconds there will be one */
  takeOf(bucket: TokenBucket): number {
    return this.#buckets.take(bucket);
  }
}
