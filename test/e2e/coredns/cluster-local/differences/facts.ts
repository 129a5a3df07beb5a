import type { Pair } from "../../comparison/comparison.ts";
import type { ObservedRecord } from "../../comparison/observed.ts";
import { isOdd, isUnnamed, portLabels } from "../../differences/service-facts.ts";
import { dashed } from "../../questions.ts";
import { isReady, type Port, type SliceEndpoint } from "../../worlds/services.ts";
import type { LocalPlace } from "../place.ts";
import { localZone } from "../questions.ts";
import type { OwnService, OwnSlice } from "../services.ts";

export type LocalPair = Pair<LocalPlace>;

/** An endpoint's address with what it is called and the ports that it listens on. */
export interface OwnEndpoint {
  address: string;
  host: string;
  ports: Port[];
}

/** Whether a Service is headless. */
export function isHeadless(service: OwnService | undefined): boolean {
  return service?.kind === "headless";
}

/** Whether a slice holds addresses; the others hold host names. */
export function hasAddresses({ addressType }: OwnSlice): boolean {
  return addressType !== "FQDN";
}

/** The ports that SRV records come from: those of a headless Service's slices, else the Service's. */
export function portsOf(service: OwnService | undefined): Port[] {
  if (!isHeadless(service)) return service?.ports ?? [];
  return service!.slices.filter(hasAddresses).flatMap(({ ports }) => ports);
}

/** Whether a port can have an SRV record at a name of its own. */
export function isServable(port: Port): boolean {
  return !isUnnamed(port) && !isOdd(port) && port.name!.length < 63;
}

/** Whether a name is `_<port>._<protocol>` below a Service, with something behind both underscores. */
export function isPortName({ place }: LocalPair): boolean {
  return (
    place.left.length === 2 && place.service !== undefined && place.left.every((label) => /^_./.test(label))
  );
}

/** The ports of the Service that a name `_<port>._<protocol>` means. */
export function portsMeant({ place }: LocalPair): Port[] {
  return portsOf(place.service).filter((port) => portLabels(port) === place.left.join("."));
}

/**
 * Whether CoreDNS finds a port of the Service at a name of two labels: an underscore is taken off each if
 * there is one, and what is empty then means every port or every protocol.
 */
export function isPortToCoreDns({ place }: LocalPair): boolean {
  const { service, left } = place;
  const [port, protocol] = left.map((label) => label.replace(/^_/, ""));
  const slices = service?.slices.filter(({ endpoints }) => endpoints.some(isReady)) ?? [];
  const ports = isHeadless(service)
    ? slices.flatMap((slice) => (slice.ports.length === 0 ? [{ name: "", protocol: "" }] : slice.ports))
    : (service?.ports ?? []);
  if (service?.kind === "external name") return left.length === 2 && !port && !protocol;
  return (
    left.length === 2 &&
    ports.some(
      (one) =>
        (!port || (one.name ?? "") === port) &&
        (!protocol || (one.protocol ?? "tcp").toLowerCase() === protocol),
    )
  );
}

/** The addresses of a Service's endpoints, of those that are ready by default. */
export function endpointsOf(
  service: OwnService | undefined,
  isMeant: (endpoint: SliceEndpoint) => boolean = isReady,
): OwnEndpoint[] {
  return (service?.slices.filter(hasAddresses) ?? []).flatMap(({ ports, endpoints }) =>
    endpoints
      .filter(isMeant)
      .flatMap(({ addresses, hostname }) =>
        addresses.map((address) => ({ address, host: hostname ?? dashed(address), ports })),
      ),
  );
}

/** Whether a name is `<hostname>` of a ready endpoint of the Service, host names among them. */
export function isEndpointName({ place }: LocalPair): boolean {
  const { service, left } = place;
  const hosts = service?.slices.flatMap(({ endpoints }) =>
    endpoints
      .filter(isReady)
      .flatMap(({ addresses, hostname }) => addresses.map((one) => hostname ?? dashed(one))),
  );
  return left.length === 1 && !!hosts?.includes(left[0]!);
}

/** The type of the record that holds an address. */
export function typeOf(address: string): "A" | "AAAA" {
  return address.includes(":") ? "AAAA" : "A";
}

/** The Service's own name, in lower case. */
export function serviceNameOf({ place }: LocalPair): string {
  return `${place.labels.slice(place.left.length).join(".")}.${localZone}`;
}

/** The addresses that stand beside SRV records, each at its endpoint's name. */
export function endpointRecords(pair: LocalPair, endpoints: readonly OwnEndpoint[]): ObservedRecord[] {
  return endpoints.map(({ address, host }) => ({
    owner: `${host}.${serviceNameOf(pair)}`,
    ttl: 5,
    type: typeOf(address),
    data: address,
  }));
}
