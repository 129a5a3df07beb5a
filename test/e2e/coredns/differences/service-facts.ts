import type { Pair } from "../comparison/comparison.ts";
import { dashed } from "../questions.ts";
import { type ImportedService, type ImportSpec, isReady, type Port } from "../worlds/services.ts";

/** The spec of a service's ServiceImport; undefined if that has none. */
export function specOf(service: ImportedService | undefined): ImportSpec | undefined {
  return typeof service?.spec === "object" ? service.spec : undefined;
}

/** Whether a service is headless; everything else is ClusterSetIP, to CoreDNS and to us. */
export function isHeadless(service: ImportedService | undefined): boolean {
  return specOf(service)?.type === "Headless";
}

/** Whether a service is there and not headless. */
export function isClusterSetIp(service: ImportedService | undefined): boolean {
  return service !== undefined && !isHeadless(service);
}

/**
 * The ports that SRV records come from: those of a headless service's usable slices, else the
 * ServiceImport's.
 */
export function portsOf(service: ImportedService | undefined): Port[] {
  if (!isHeadless(service)) return specOf(service)?.ports ?? [];
  const slices = service?.slices.filter(
    ({ source, addressType }) => source !== undefined && addressType !== "FQDN",
  );
  return slices?.flatMap(({ ports }) => ports) ?? [];
}

/** Whether a port has no name. */
export function isUnnamed({ name }: Port): boolean {
  return !name;
}

/** Whether a port has a name and cannot have an SRV record: its number or its name is out of the question. */
export function isOdd({ name, port }: Port): boolean {
  return !!name && (port === undefined || port < 1 || port > 65535 || !/^[a-z0-9-]+$/i.test(name));
}

/** The two labels of a port's own name; no protocol means TCP. */
export function portLabels({ name, protocol }: Port): string {
  return `_${name}._${protocol?.toLowerCase() || "tcp"}`;
}

/** Whether a name is `_<port>._<protocol>` below a service, with something behind both underscores. */
export function isPortName({ place }: Pair): boolean {
  return place.left.length === 2 && place.left.every((label) => /^_./.test(label));
}

/**
 * Whether a name has two labels below a service of which one starts with an underscore: CoreDNS's idea of a
 * port.
 */
export function isPortNameToCoreDns({ place }: Pair): boolean {
  return place.left.length === 2 && place.left.some((label) => label.startsWith("_"));
}

/** The ports of the service that a name `_<port>._<protocol>` means; no protocol means TCP. */
export function portsMeant({ place }: Pair): Port[] {
  const [port, protocol] = place.left.map((label) => label.slice(1));
  return portsOf(place.service).filter(
    (one) => one.name?.toLowerCase() === port && (one.protocol?.toLowerCase() || "tcp") === protocol,
  );
}

/**
 * Whether CoreDNS finds a port of the service at a name: one underscore is taken off each label, and what is
 * empty then means every port or every protocol.
 */
export function isPortToCoreDns({ place }: Pair): boolean {
  const { service, left } = place;
  const [port, protocol] = left.map((label) => label.replace(/^_/, ""));
  const ports = isHeadless(service)
    ? service?.slices.flatMap((slice) => slice.ports)
    : specOf(service)?.ports;
  return (ports ?? []).some(
    (one) =>
      (!port || one.name?.toLowerCase() === port) &&
      (!protocol || (one.protocol?.toLowerCase() ?? (isHeadless(service) ? "tcp" : "")) === protocol),
  );
}

/** Whether a name is `<hostname>.<clusterid>` of a ready endpoint of the service. */
export function isEndpointName({ place }: Pair): boolean {
  const name = place.left.join(".");
  return (place.service?.slices ?? []).some(({ source, endpoints }) =>
    endpoints
      .filter(isReady)
      .flatMap(({ hostname, addresses }) => (hostname === undefined ? addresses.map(dashed) : [hostname]))
      .some((host) => `${host}.${source}`.toLowerCase() === name),
  );
}
