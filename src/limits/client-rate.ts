import { type ClientNetworkSettings, ClientNetworks } from "./client-networks.ts";
import { type Rate, TokenBuckets } from "./token-buckets.ts";

/** The limit on the rate of each client. */
export interface ClientRateSettings extends ClientNetworkSettings, Omit<Rate, "perSecond"> {
  /** 0 for no limit. */
  readonly perSecond: number;
  /** The most clients whose buckets one thread remembers. Buckets in shared memory have a number of their own. */
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
