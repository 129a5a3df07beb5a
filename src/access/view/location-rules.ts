import type { Locality } from "../../zone/locality.ts";
import { type ClientLocation, LOCATION_FACTS, type LocationFact } from "../client/client-location.ts";

/** What is done for clients somewhere: they see what a cluster sees, or outside they get the shards near them first. */
export interface LocationRule {
  /** One value of each fact that is listed has to fit; letters are folded. Without it the rule fits everybody. */
  readonly when?: { readonly [Fact in LocationFact]?: readonly string[] | undefined } | undefined;
  /** A cluster id; instead of `region`. */
  readonly view?: string | undefined;
  /** As nodes' labels have it, and `zone` within it. */
  readonly region?: string | undefined;
  readonly zone?: string | undefined;
}

/** What the rules say for a client: neither where no rule fits. */
export interface LocationChoice {
  readonly view?: string;
  readonly locality?: Locality;
}

/** Chooses for a client; undefined is a client of whom nothing is known. */
export type ChooseByLocation = (location: ClientLocation | undefined) => LocationChoice | undefined;

/** The first rule that fits chooses. One whose cluster is not known to the gateway is passed over. */
export function createLocationRules(
  rules: readonly LocationRule[],
  hasCluster: (clusterId: string) => boolean,
): ChooseByLocation {
  const prepared = rules.map(({ when = {}, view, region, zone }) => ({
    tests: LOCATION_FACTS.flatMap((fact) => {
      const values = when[fact];
      return values === undefined ? [] : [{ fact, values: new Set(values.map(fold)) }];
    }),
    choice: {
      ...(view !== undefined && { view }),
      ...(view === undefined && region !== undefined && { locality: { region, zone } }),
    } satisfies LocationChoice,
  }));
  return (location) =>
    prepared.find(
      ({ tests, choice }) =>
        tests.every(({ fact, values }) => {
          const value = location?.[fact];
          return value !== undefined && values.has(fold(value));
        }) &&
        (choice.view === undefined || hasCluster(choice.view)),
    )?.choice;
}

function fold(text: string): string {
  return text.toUpperCase();
}
