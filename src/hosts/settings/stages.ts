import type * as z from "zod";
import { givenPolicy, type OutsideZones } from "../../config/forward.ts";
import { type Location, locationLocalities } from "../../config/location.ts";
import type { GatewayStages } from "../../gateway/stages.ts";
import type { AddressSource } from "../../merge/addresses.ts";
import type { Grants } from "../../merge/grants.ts";
import { createMerger } from "../../merge/merge.ts";
import type { DesignatedResolver } from "../../resolve/designated-resolvers.ts";
import { notReady } from "../../resolve/faults.ts";
import { resolve } from "../../resolve/resolve.ts";
import { compileZoneImage } from "../../zone/compile.ts";
import type { ZoneImage } from "../../zone/image.ts";
import type { FederationOptions, HostOptions } from "../../zone/options.ts";

/** Settings of the pure stages. TTLs in seconds. */
export interface StageSettings {
  readonly zones: readonly string[];
  readonly federations: readonly FederationOptions[];
  readonly ttlSeconds: number;
  readonly negativeTtlSeconds: number;
  readonly outsideOrder: readonly AddressSource[];
  readonly outsideZones: OutsideZones;
  /** For whom clusters that push speak. Default: each for all, where there is only one source of snapshots. */
  readonly grants?: Grants;
  /** The encrypted resolver that clients are told of; asked for with every query about it. Default: none. */
  readonly designated?: () => DesignatedResolver | undefined;
  /** Addresses of the name server of every zone. Default: none. */
  readonly nameServerAddresses?: readonly string[] | undefined;
  /** Hosts in the zones beside the services. Default: none. */
  readonly hosts?: readonly HostOptions[];
  /** Its places have an order of shards in federation zones. Default: none. */
  readonly location?: z.infer<typeof Location>;
}

const MOST_ROTATION = 0x3fffffff;

/** The pure stages with their settings applied, for the gateway to join. */
export function createStages(settings: StageSettings): GatewayStages<ZoneImage> {
  const { zones, federations, ttlSeconds, negativeTtlSeconds, outsideOrder, outsideZones, location, grants } =
    settings;
  const { designated = () => undefined, nameServerAddresses = [], hosts = [] } = settings;
  const localities = location === undefined ? [] : locationLocalities(location);
  let rotation = 0;
  return {
    createMerger: () => createMerger({ outsideOrder, ...(grants !== undefined && { grants }) }),
    // The serial is the time in seconds: it grows over restarts too (RFC 1982).
    compile: (clusterset, now, history) => {
      const options = {
        ...{ zones, federations, localities, nameServerAddresses, hosts },
        ttl: ttlSeconds,
        negativeTtl: negativeTtlSeconds,
        serial: Math.floor(now / 1000) % 2 ** 32,
      };
      return compileZoneImage(clusterset, options, history);
    },
    resolve: (query, { image, leaseExpiry, view, now, transport, stale }) => {
      rotation = (rotation + 1) & MOST_ROTATION;
      return resolve(query, {
        image,
        leaseExpiry,
        view,
        now,
        rotation,
        transport,
        stale,
        outside: givenPolicy(outsideZones),
        designated: designated(),
      });
    },
    notReady: (query, context) => notReady(query, { ...context, designated: designated() }),
  };
}
