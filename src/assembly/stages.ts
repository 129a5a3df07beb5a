import { federationOptions } from "../config/federations.ts";
import { givenPolicy } from "../config/forward.ts";
import { locationLocalities } from "../config/location.ts";
import { ownNames } from "../config/own-names.ts";
import type { NameSettings } from "../gateway/keyed-scope.ts";
import type { AnswerContext } from "../gateway/scoped-gateway.ts";
import type { Grants, Pins } from "../merge/grants.ts";
import type { DesignatedResolver } from "../resolve/designated-resolvers.ts";
import { notReady } from "../resolve/error-responses.ts";
import { type ResolveContext, resolve } from "../resolve/resolve.ts";
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
  /** The designated resolver; read with every query about it. Default: none. */
  readonly designated?: () => DesignatedResolver | undefined;
}

const MOST_ROTATION = 0x3fffffff;

/** The pure stages with their settings applied, for the gateway to join. */
export function createStages(
  config: GatewayConfig,
  { grants, exportLimits, designated = () => undefined }: StageParts = {},
): Stages {
  const { zones, ttlSeconds: ttl, negativeTtlSeconds: negativeTtl, outsideOrder, outsideZones } = config;
  let rotation = 0;
  const settled = ({ world, leases, view, now, transport, stale }: AnswerContext): ResolveContext => {
    rotation = (rotation + 1) & MOST_ROTATION;
    return {
      world,
      leases,
      view,
      now,
      rotation,
      transport,
      stale,
      outside: givenPolicy(outsideZones),
      designated: designated(),
    };
  };
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
    resolve: (query, context) => resolve(query, settled(context)),
    notReady: (query, context) => notReady(query, { ...context, designated: designated() }),
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
