import { publicScope } from "../config/access.ts";
import { stubZoneNames } from "../config/federations.ts";
import { givenPolicy, outsidePolicies, upstreamName } from "../config/forward.ts";
import { parseAddressRanges } from "../dns/address.ts";
import { Forwarder } from "../forward/forwarder.ts";
import { LocalZones, parseNameserver } from "../forward/local.ts";
import { Outside } from "../forward/outside.ts";
import { PrivateAddresses } from "../forward/private-addresses.ts";
import { padded, type Upstream } from "../forward/upstream.ts";
import { createFetchUpstream } from "../http/doh/fetch-upstream.ts";
import type { PathPolicies } from "../http/route-table.ts";
import { logUpstreams } from "./log.ts";
import type { GatewayConfig, Platform } from "./platform.ts";

/** The answers to names out of zone, for `createApp`. */
export interface OutOfZone {
  /** Undefined if the gateway's own answers suffice. */
  readonly outside: Outside | undefined;
  readonly policies: PathPolicies;
}

/** Puts the parts together that answer names out of zone. */
export function createOutOfZone(
  config: GatewayConfig,
  platform: Pick<Platform, "upstreams" | "log" | "coalesce" | "background" | "shared">,
): OutOfZone {
  const { log, coalesce, background, shared } = platform;
  const { outsideZones, paths, forward, zones, federations, access, stub } = config;
  const policies = {
    default: outsideZones,
    byPath: new Map(paths.map((path) => [path.path, path.outsideZones])),
  };
  const given = givenPolicy(outsideZones);
  const all = outsidePolicies(config).map((place) => place.outsideZones ?? given);
  if (all.every((policy) => policy === given)) return { outside: undefined, policies };
  const { cache, clients, locallyServed } = forward;
  const { also, except, names } = forward.privateAddresses;
  const own = [...zones, ...stubZoneNames(stub, federations)];
  const localZones = new LocalZones({ own, ...locallyServed });
  const forwarder = all.includes("forward")
    ? new Forwarder({
        upstreams: platform.upstreams,
        onUpstreamChange: logUpstreams(log),
        onError: (err) => log("error", "query-failed", "a forwarded query failed", { err }),
        ...(coalesce !== undefined && { coalesce }),
        ...(background !== undefined && { background }),
        ...(shared && {
          shared: {
            buckets: (rate) => shared.buckets("forwarded", rate),
            queries: shared.count("forwarded"),
          },
        }),
        scrubbing: {
          isOurs: (name) => localZones.find(name) !== undefined,
          privateAddresses: new PrivateAddresses({
            names,
            also: parseAddressRanges(also),
            except: parseAddressRanges(except),
          }),
          trustedUpstreams: new Set(
            forward.upstreams.filter(({ privateAddresses }) => privateAddresses).map(upstreamName),
          ),
        },
        settings: {
          limits: forward,
          cache: { ...cache, rules: access.rules.length + (publicScope(access) === undefined ? 0 : 1) },
          clients: { ...clients, exempt: parseAddressRanges(clients.exempt) },
        },
      })
    : undefined;
  return {
    outside: new Outside({
      given,
      localZones,
      forwarder,
      clients: clients.allowed && parseAddressRanges(clients.allowed),
    }),
    policies,
  };
}

/** The upstreams of a host that only has `fetch`. */
export function fetchUpstreams({ upstreams }: GatewayConfig["forward"]): Upstream[] {
  return upstreams.flatMap((upstream) => {
    const place = parseNameserver(upstream.server);
    return place?.kind === "https" ? padded(createFetchUpstream(upstreamName(upstream), place.url)) : [];
  });
}
