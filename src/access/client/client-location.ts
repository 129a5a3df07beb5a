/** What can be known of where a client is. Nothing finer than this is ever read. */
export const LOCATION_FACTS = ["country", "continent", "regionCode", "colo"] as const;

export type LocationFact = (typeof LOCATION_FACTS)[number];

/**
 * Where a client is, as a host or a proxy says: `country` in ISO 3166-1 alpha-2 (`CH`), `continent` in two letters (`EU`),
 * `regionCode` as the second part of ISO 3166-2 (`TX`), `colo` as the airport code of the data center that took the request (`ZRH`).
 */
export type ClientLocation = { readonly [Fact in LocationFact]?: string | undefined };
