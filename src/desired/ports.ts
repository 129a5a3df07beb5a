import type { ClustersetService } from "../merge/clusterset.ts";
import { isQualifiedName } from "../snapshot/desired/qualified-name.ts";
import type { EndpointPort, ServicePort } from "../snapshot/schema.ts";

/** A port of a slice, as it is desired. */
export type SlicePort = EndpointPort & { readonly appProtocol?: string };

const PROTOCOLS: ReadonlySet<string> = new Set(["TCP", "UDP", "SCTP"]);
const PORT_NAME = /^(?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)?$/;

/** Whether an API server takes a port: snapshots may hold others. */
function isUsable({ name, protocol, port }: EndpointPort): boolean {
  return PORT_NAME.test(name) && PROTOCOLS.has(protocol) && port >= 1 && port <= 65535;
}

function withProtocol<Port extends EndpointPort>(port: Port): Port {
  const protocol = port.protocol.toUpperCase() || "TCP";
  return protocol === port.protocol ? port : { ...port, protocol };
}

/** The ports of a ServiceImport: the union, field by field. */
export function importPorts({ ports }: Pick<ClustersetService, "ports">): ServicePort[] {
  return ports.filter(isUsable).map(({ name, protocol, port, appProtocol }) => ({
    ...{ name, protocol, port },
    ...(appProtocol && isQualifiedName(appProtocol) ? { appProtocol } : {}),
  }));
}

/**
 * The names of an exporter's ports that lost: the union has the name with another number or protocol. kube-proxy goes by the name alone, so that
 * such a port in the exporter's slices would send the port of others to it.
 */
export function lostPorts(
  exported: readonly ServicePort[],
  union: readonly ServicePort[],
): ReadonlySet<string> {
  const inUnion = new Map(union.map((port) => [port.name, port]));
  const lost = exported.map(withProtocol).filter(({ name, port, protocol }) => {
    const won = inUnion.get(name);
    return won !== undefined && (won.port !== port || won.protocol !== protocol);
  });
  return new Set(lost.map(({ name }) => name));
}

/** The ports of a slice, sorted by name: usable ones, each name once, with the `appProtocol` of the union's port. */
export function slicePorts(
  ports: readonly EndpointPort[],
  union: readonly ServicePort[],
  lost: ReadonlySet<string>,
): SlicePort[] {
  const byName = new Map<string, SlicePort>();
  for (const given of ports) {
    const port = withProtocol(given);
    if (lost.has(port.name) || byName.has(port.name) || !isUsable(port)) continue;
    const { name, protocol, port: number } = port;
    const appProtocol = union.find((one) => one.name === name)?.appProtocol;
    const isNamed = appProtocol !== undefined && isQualifiedName(appProtocol);
    byName.set(name, { name, protocol, port: number, ...(isNamed ? { appProtocol } : {}) });
  }
  return [...byName.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}
