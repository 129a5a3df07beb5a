import { canonical, type Ddr } from "../../../config/serve-config.ts";
import { parseAddress } from "../../../dns/address.ts";
import type { DesignatedEndpoint, DesignatedResolver } from "../../../resolve/designated-resolvers.ts";
import type { ListeningPlace } from "../listeners/listeners.ts";

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
