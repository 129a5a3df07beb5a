import { federationOptions } from "../config/federations.ts";
import { givenPolicy } from "../config/forward.ts";
import { locationLocalities } from "../config/location.ts";
import { ownNames } from "../config/own-names.ts";
import type { NameSettings } from "../gateway/keyed-scope.ts";
import type { Grants, Pins } from "../merge/grants.ts";
import type { Designation } from "../resolve/designated-resolvers.ts";
import { createResolver } from "../resolve/resolve.ts";
import type { GatewayConfig, Stages } from "./platform.ts";

/** The parts that the stages need beside settings. */
interface StageParts {
  /**
   * The grants of clusters that push. Default: each speaks for all, for hosts with only one source of
   * snapshots.
   */
  readonly grants?: Grants | undefined;
  /** What each cluster may export. Default: anything. */
  readonly exportLimits?: Pins["exports"];
  /** Default: there is no designated resolver. */
  readonly designation?: Designation | undefined;
}

/** The pure stages with their settings applied, for the gateway to join. */
export function createStages(
  config: GatewayConfig,
  { grants, exportLimits, designation }: StageParts = {},
): Stages {
  const { zones, ttlSeconds: ttl, negativeTtlSeconds: negativeTtl, outsideOrder, outsideZones } = config;
  return {
    names: {
      zones: {
        zones,
        ttl,
        negativeTtl,
        ...ownNames(config),
        federations: federationOptions(config.federations),
        localities: locationLocalities(config.location),
      },
      merging: {
        outsideOrder,
        pins: { exports: exportLimits, owners: config.services },
        ...(grants !== undefined && { grants }),
      },
    },
    ...createResolver({ outside: givenPolicy(outsideZones), designation }),
  };
}

/**
 * A text of all that names depend on beside what clusters push: the program, its settings, and what clusters
 * may do.
 */
export function settingsText(names: NameSettings): string {
  const plain = (_: string, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...value] : value;
  return JSON.stringify([VERSION, names], plain);
}

/** The version of this package, as in package.json: no host needs a file for it. */
export const VERSION = "0.1.0";
