import type { Locality } from "../../zone/locality.ts";
import { type ClientLocation, LOCATION_FACTS, type LocationFact } from "../client/client-location.ts";

/** Gives the clients of a location the view of a cluster, or outside the shards near them first. */
export interface LocationRule {
  /** Each listed fact must have one of its values; letters are folded. Absent: the rule matches every client. */
  readonly when?: { readonly [Fact in LocationFact]?: readonly string[] | undefined } | undefined;
  /** A cluster id; instead of `region`. */
  readonly view?: string | undefined;
  /** The region and zone in nodes' labels. */
  readonly region?: string | undefined;
  readonly zone?: string | undefined;
}

/** The view or the locality that a rule gives a client. */
export interface LocationChoice {
  readonly view?: string;
  readonly locality?: Locality;
}

/** Finds the choice for a client; its location is undefined if the host does not know it. */
export type ChooseByLocation = (location: ClientLocation | undefined) => LocationChoice | undefined;

/** The first rule that matches decides. A rule with an unknown cluster is skipped. */
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
