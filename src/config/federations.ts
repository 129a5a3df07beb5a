import * as z from "zod";
import { DEFAULT_UPSTREAM_TIMEOUTS } from "../forward/upstream-group.ts";
import { FederationName } from "../http/route-table.ts";
import { SOURCE_CLUSTER_OPTION } from "../resolve/query.ts";
import { ClusterId } from "../snapshot/schema.ts";
import type { FederationOptions } from "../zone/zone-plan.ts";
import { FileName } from "./hosts.ts";
import { AddressRangeText, canonical, count, UsageError, ZoneName } from "./values.ts";

/** The specification's zone of a federation for clients in its clusters. */
const FEDERATION_ZONE = "federation";
/** The codes for local and experimental use (RFC 6891 section 9). */
const LAST_LOCAL_OPTION = 65534;

/** A federation whose answers come from pushed snapshots. */
export const Federation = z.strictObject({
  name: FederationName,
  /** For clients in the clusters; false for none. */
  zone: z.union([ZoneName, z.literal(false)]).default(FEDERATION_ZONE),
  /** The registered domain, for clients outside. */
  domain: ZoneName.optional(),
});

export type Federation = z.infer<typeof Federation>;

/** How the source cluster of a query is determined, beside path and credential. */
export const SourceCluster = z.strictObject({
  /** The EDNS(0) option code. */
  option: count(SOURCE_CLUSTER_OPTION, LAST_LOCAL_OPTION).default(SOURCE_CLUSTER_OPTION),
  /** The cluster that the gateway runs in: the source cluster of forwarded queries without another one. */
  self: ClusterId.optional(),
  /** Clients that may use the option without a credential. */
  trusted: z
    .array(z.strictObject({ clusterId: ClusterId, addresses: z.array(AddressRangeText).min(1).max(1000) }))
    .max(10_000)
    .default([]),
});

const StubUpstream = z.strictObject({
  /** Scheme, host and port of the name servers that these settings are for. */
  origin: z
    .url({ protocol: /^https$/ })
    .refine(
      (text) => URL.canParse(text) && new URL(text).origin === text.replace(/\/$/, "").toLowerCase(),
      "must be scheme, host and port, such as https://dns.example.org:8443",
    ),
  caFile: FileName,
  tokenFile: FileName,
});

/** Stub zones: their parent zones, and the connections to their name servers. */
export const Stub = z
  .strictObject({
    /** Further parent zones, beside the zones and domains of `federations`. */
    zones: z.array(ZoneName).max(100).default([FEDERATION_ZONE]),
    federations: count(1, 10_000).default(100),
    queriesInFlight: count(1, 100_000).default(1000),
    serverMilliseconds: count(1, 60_000).default(DEFAULT_UPSTREAM_TIMEOUTS.serverMilliseconds),
    totalMilliseconds: count(1, 60_000).default(DEFAULT_UPSTREAM_TIMEOUTS.totalMilliseconds),
    upstreams: z.array(StubUpstream).max(1000).default([]),
  })
  .refine(
    ({ serverMilliseconds, totalMilliseconds }) => serverMilliseconds <= totalMilliseconds,
    "must have serverMilliseconds <= totalMilliseconds",
  );

/** The federations in the form of the zone stage. */
export function federationOptions(federations: readonly Federation[]): FederationOptions[] {
  return federations.map(({ name, zone, domain }) => ({
    name,
    ...(zone !== false && { zone }),
    ...(domain !== undefined && { domain }),
  }));
}

/** The distinct zones of federations: of those served here, and the parent zones of stub zones. */
export function stubZoneNames(
  stub: Pick<z.infer<typeof Stub>, "zones"> | undefined,
  federations: readonly Federation[],
): string[] {
  const { zones } = stub ?? { zones: [FEDERATION_ZONE] };
  const served = federationOptions(federations).flatMap(({ zone, domain }) => [zone, domain]);
  return [...new Set([...zones, ...served].filter((zone) => zone !== undefined).map(canonical))];
}

/** @throws {UsageError} if two kinds of zones, or two federations, have the same name */
export function checkFederations(federations: readonly Federation[], zones: readonly string[]): void {
  const kinds = new Map(zones.map((zone) => [canonical(zone), "a zone of the clusterset"]));
  const claim = (text: string | undefined, kind: string) => {
    if (text === undefined) return;
    const name = canonical(text);
    const taken = kinds.get(name) ?? kind;
    if (taken !== kind) throw new UsageError(`${name} cannot be both ${taken} and ${kind}: choose another`);
    kinds.set(name, kind);
  };
  const names = new Set<string>();
  for (const { name, zone, domain } of federationOptions(federations)) {
    if (names.has(name)) throw new UsageError(`the federation ${name} is configured twice`);
    names.add(name);
    claim(zone, "the zone of a federation for its clusters");
    claim(domain, "the registered domain of a federation");
  }
}
