import { publicScope } from "../../config/access.ts";
import { FEDERATION_ZONE, type Federation, federationOptions } from "../../config/federations.ts";
import {
  type EdgeForward,
  forwardsAnywhere,
  givenPolicy,
  type OutsideSettings,
  type OutsideZones,
  upstreamName,
} from "../../config/forward.ts";
import { parseAddressRange } from "../../dns/address-range.ts";
import { Forwarder, type ForwarderDependencies } from "../../forward/forwarder.ts";
import { LocalZones } from "../../forward/locally-served.ts";
import { parseNameserver } from "../../forward/nameserver.ts";
import { Outside } from "../../forward/outside.ts";
import { PrivateAddresses } from "../../forward/scrub/private-addresses.ts";
import { padded, type Upstream } from "../../forward/upstream.ts";
import type { PathPolicies } from "../../http/doh/endpoints.ts";
import { createFetchUpstream } from "../../http/doh/fetch-upstream.ts";

/** What a host brings along. */
export interface OutsideParts
  extends Pick<ForwarderDependencies, "onUpstreamChange" | "coalesce" | "background"> {
  readonly upstreams: readonly Upstream[];
  /** Zones that stub zones are below, in text. Default: the one that the specification names. */
  readonly stubZones?: readonly string[];
  /** Policies of listeners other than HTTP. */
  readonly listeners?: readonly OutsideZones[];
}

/** How names outside the zones are answered, for `createApp`. */
export interface OutsideAnswering {
  /** Undefined where the gateway's own answer is all there is. */
  readonly outside: Outside | undefined;
  readonly policies: PathPolicies;
}

/** Puts together how names outside the zones are answered. */
export function createOutside(
  settings: OutsideSettings & {
    readonly zones: readonly string[];
    readonly federations: readonly Federation[];
    readonly access: Parameters<typeof publicScope>[0];
  },
  { upstreams, stubZones = [FEDERATION_ZONE], listeners = [], ...host }: OutsideParts,
): OutsideAnswering {
  const { outsideZones, paths, forward, zones, federations, access } = settings;
  const policies = {
    default: outsideZones,
    byPath: new Map(paths.map((path) => [path.path, path.outsideZones])),
  };
  const forwards = forwardsAnywhere(settings, listeners);
  const given = givenPolicy(outsideZones);
  const others = [...policies.byPath.values(), ...listeners].filter((policy) => policy !== given);
  if (!forwards && others.length === 0) return { outside: undefined, policies };
  const { cache, clients, locallyServed } = forward;
  const { also, except, names } = forward.privateAddresses;
  const served = federationOptions(federations).flatMap(({ zone, domain }) => [zone, domain]);
  const own = [...zones, ...stubZones, ...served].filter((zone) => zone !== undefined);
  const localZones = new LocalZones({ own, ...locallyServed });
  const forwarder = forwards
    ? new Forwarder({
        ...host,
        upstreams,
        scrubbing: {
          isOurs: (name) => localZones.find(name) !== undefined,
          privateAddresses: new PrivateAddresses({
            ...{ names, also: also.map(readRange), except: except.map(readRange) },
          }),
          trustedUpstreams: new Set(
            forward.upstreams.filter(({ privateAddresses }) => privateAddresses).map(upstreamName),
          ),
        },
        settings: {
          limits: forward,
          cache: { ...cache, audiences: access.rules.length + (publicScope(access) === undefined ? 0 : 1) },
          clients: { ...clients, exempt: clients.exempt.map(readRange) },
        },
      })
    : undefined;
  return {
    outside: new Outside({ given, localZones, forwarder, clients: clients.allowed?.map(readRange) }),
    policies,
  };
}

/** The upstreams of a host that has `fetch` and nothing else. */
export function fetchUpstreams({ upstreams }: EdgeForward): Upstream[] {
  return upstreams.flatMap((upstream) => {
    const place = parseNameserver(upstream.server);
    return place?.kind === "https" ? padded(createFetchUpstream(upstreamName(upstream), place.url)) : [];
  });
}

function readRange(text: string) {
  return parseAddressRange(text)!;
}
