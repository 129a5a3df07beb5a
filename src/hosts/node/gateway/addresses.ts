import type { AccessRule, AccessRules } from "../../../access/rule.ts";
import type { Ddr } from "../../../config/listeners.ts";
import type { ServeConfig } from "../../../config/settings.ts";
import { canonical, parseListenAddress } from "../../../config/values.ts";
import { parseAddress } from "../../../dns/address.ts";
import type { GatewayAddresses } from "../../../http/pages/directory.ts";
import type { DnsPort } from "../../../http/setup/facts.ts";
import { visibilityKey } from "../../../merge/visibility.ts";
import type { DesignatedEndpoint, DesignatedResolver } from "../../../resolve/designated-resolvers.ts";
import type { ListeningPlace } from "../listen.ts";
import type { TlsSource } from "../tls.ts";

/**
 * The addresses of a gateway for its pages and for designated resolvers (RFC 9462). Ports are known once it
 * listens.
 */
export function createGatewayAddresses(
  config: Pick<ServeConfig, "outsideZones" | "ddr">,
  rules: AccessRules,
  tls: TlsSource | undefined,
) {
  let places: readonly ListeningPlace[] = [];
  const designation: { resolver: DesignatedResolver | undefined } = { resolver: undefined };
  return {
    /** @param httpsPort the port on which the gateway listens for HTTPS */
    listens(httpsPort: number, all: readonly ListeningPlace[]): void {
      places = all;
      // A listener with a rule answers from another visibility, so it is not shown to other clients.
      const open = all.filter(({ rule }) => rule === undefined);
      designation.resolver = designatedResolver(config.ddr, open, httpsPort);
    },
    designation,
    /** How the clients of a rule reach the gateway: listeners that answer them the same. */
    of: ({ visibility }: AccessRule): GatewayAddresses => {
      const same = places.filter(({ rule: name }) => {
        const rule = name === undefined ? rules.public : rules.of(name);
        return rule !== undefined && visibilityKey(rule.visibility) === visibilityKey(visibility);
      });
      return gatewayAddresses(config, same, tls?.selfSignedFile === undefined ? undefined : tls.tls.cert);
    },
  };
}

/**
 * How clients outside every cluster reach the gateway, for its pages.
 * @param certificate the self-signed certificate in PEM; undefined if there is none
 */
export function gatewayAddresses(
  { outsideZones, ddr }: Pick<ServeConfig, "outsideZones" | "ddr">,
  places: readonly ListeningPlace[],
  certificate: string | undefined,
): GatewayAddresses {
  return {
    outside: outsideZones,
    certificate,
    addresses: ddr.addresses,
    dns: portOf(places, "dns"),
    dot: portOf(places, "dot"),
  };
}

function portOf(places: readonly ListeningPlace[], kind: ListeningPlace["kind"]): DnsPort | undefined {
  const place = places.find((one) => one.kind === kind && one.view === undefined);
  if (place === undefined) return undefined;
  const { host } = parseListenAddress(place.address);
  const isEvery = host === undefined || host === "0.0.0.0" || host === "::";
  return { address: isEvery ? undefined : host === "localhost" ? "127.0.0.1" : host, port: place.port };
}

/**
 * The encrypted resolver that clients can discover (RFC 9462); undefined without a name.
 * @param listeningPort the port on which the gateway listens for HTTPS
 */
export function designatedResolver(
  { name, addresses, httpsPort, dotPort }: Ddr,
  places: readonly ListeningPlace[],
  listeningPort: number,
): DesignatedResolver | undefined {
  if (name === undefined) return undefined;
  const dot = places.filter(({ kind }) => kind === "dot");
  const outside = dotPort ?? dot.find(({ view }) => view === undefined)?.port;
  const endpoints: DesignatedEndpoint[] = [{ protocol: "https", port: httpsPort ?? listeningPort }];
  if (outside !== undefined) endpoints.push({ protocol: "dot", port: outside, view: undefined });
  for (const { view, port } of dot) if (view !== undefined) endpoints.push({ protocol: "dot", port, view });
  return {
    name: canonical(name),
    addresses: addresses.map((address) => parseAddress(address)!),
    endpoints,
  };
}
