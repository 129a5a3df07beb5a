/** The facts about a client's location. Nothing finer is read. */
export const LOCATION_FACTS = ["country", "continent", "regionCode", "colo"] as const;

export type LocationFact = (typeof LOCATION_FACTS)[number];

/**
 * A client's location, from the host or a proxy: `country` in ISO 3166-1 alpha-2 (`CH`), `continent` in two letters (`EU`),
 * `regionCode` as the second part of ISO 3166-2 (`TX`), `colo` as the airport code of the data center that took the request (`ZRH`).
 */
export type ClientLocation = { readonly [Fact in LocationFact]?: string | undefined };
