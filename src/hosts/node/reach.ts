import { parseListenAddress } from "../../config/listen-address.ts";
import type { ServeConfig } from "../../config/serve-config.ts";
import type { Reach } from "../../http/pages/page-parts.ts";
import type { DnsPort } from "../../http/setup/setup-facts.ts";
import type { ListeningPlace } from "./listeners/listeners.ts";

/**
 * How clients outside every cluster reach the gateway, for its pages.
 * @param certificate the self-signed one in PEM, where there is one
 */
export function reachOf(
  { outsideZones, ddr }: Pick<ServeConfig, "outsideZones" | "ddr">,
  places: readonly ListeningPlace[],
  certificate: string | undefined,
): Reach {
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
