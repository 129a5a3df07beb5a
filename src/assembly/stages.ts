import { federationOptions } from "../config/federations.ts";
import { givenPolicy } from "../config/forward.ts";
import { locationLocalities } from "../config/location.ts";
import { ownNames } from "../config/own-names.ts";
import type { AnswerContext, GatewayStages, PartialStages } from "../gateway/stages.ts";
import type { Grants } from "../merge/grants.ts";
import type { Pins } from "../merge/pins.ts";
import type { DesignatedResolver } from "../resolve/designated-resolvers.ts";
import { notReady } from "../resolve/error-responses.ts";
import { type ResolveContext, resolve, resolveOrMiss } from "../resolve/resolve.ts";
import type { HoldSegment } from "../zone/compiler/held-block.ts";
import type { CompilerNotes } from "../zone/compiler/notes/compiler-notes.ts";
import { ZoneCompiler } from "../zone/compiler/zone-compiler.ts";
import type { Generation } from "../zone/generation/generation.ts";
import { NO_HISTORY } from "../zone/reverse/reverse-history.ts";
import type { GatewayConfig } from "./platform.ts";

/** The settings that the stages read. */
export type StageConfig = Pick<
  GatewayConfig,
  | "zones"
  | "federations"
  | "ttlSeconds"
  | "negativeTtlSeconds"
  | "outsideOrder"
  | "services"
  | "outsideZones"
  | "location"
  | "nameServerAddresses"
  | "dns"
  | "ddr"
>;

/** The parts that the stages need beside settings. */
export interface StageParts {
  /** The grants of clusters that push. Default: each speaks for all, for hosts with only one source of snapshots. */
  readonly grants?: Grants | undefined;
  /** What each cluster may export. Default: anything. */
  readonly exportLimits?: Pins["exports"];
  /** The designated resolver; read with every query about it. Default: none. */
  readonly designated?: () => DesignatedResolver | undefined;
  /** Holds compiled segments. Default: they are in memory as long as a generation has them. */
  readonly hold?: HoldSegment;
  /** The notes of a scope's compiler, by `visibilityKey`. Default: nothing is noted. */
  readonly notes?: (scope: string) => CompilerNotes;
}

const MOST_ROTATION = 0x3fffffff;

/** The pure stages with their settings applied, for the gateway to join. */
export function createStages(
  config: StageConfig,
  { grants, exportLimits, designated = () => undefined, hold, notes }: StageParts = {},
): GatewayStages<Generation> & PartialStages<Generation> {
  const { zones, ttlSeconds: ttl, negativeTtlSeconds: negativeTtl, outsideOrder, outsideZones } = config;
  const options = {
    ...{ zones, ttl, negativeTtl, ...ownNames(config) },
    federations: federationOptions(config.federations),
    localities: locationLocalities(config.location),
  };
  let rotation = 0;
  const settled = ({
    generation,
    leases,
    view,
    now,
    transport,
    stale,
  }: AnswerContext<Generation>): ResolveContext => {
    rotation = (rotation + 1) & MOST_ROTATION;
    return {
      generation,
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
    merging: {
      ...{ outsideOrder, pins: { exports: exportLimits, owners: config.services } },
      ...(grants !== undefined && { grants }),
    },
    createCompiler(scope) {
      const compiler = new ZoneCompiler(options, undefined, hold, notes?.(scope));
      return {
        resume: (source) => compiler.resume(source),
        *compile(source, change, now, history = NO_HISTORY) {
          // The serial is the time in seconds: it grows over restarts too (RFC 1982).
          const serial = Math.floor(now / 1000) % 2 ** 32;
          return yield* compiler.compile(source, change, { serial, history });
        },
      };
    },
    resolve: (query, context) => resolve(query, settled(context)),
    resolveOrMiss: (query, context) => resolveOrMiss(query, settled(context)),
    notReady: (query, context) => notReady(query, { ...context, designated: designated() }),
  };
}
