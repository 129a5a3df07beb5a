import { formatReverseName, usableAddress } from "../../../src/dns/address.ts";
import type { Fixture } from "./fixture.ts";
import type { ImportedService, Port } from "./worlds/services.ts";

/** A question; the name is sent unchanged. */
export interface Question {
  name: string;
  type: string;
}

export const zone = "clusterset.local";
export const localZone = "cluster.local";

const everyType = ["A", "AAAA", "SRV", "TXT", "HTTPS", "MX", "SOA", "NS", "CNAME", "ANY", "PTR"];
const mixedCaseTypes = ["A", "SRV", "TXT", "SOA", "NS"];
/** Where names beside those of the ports are tried as well: CoreDNS treats these alike at every service. */
const triedByEveryMeans = /^(?:web|half-named|odd-ports|db|unlabelled|empty-label|host-names)$/;

/** Every name that a fixture could make, the names above it, and names beside it. */
export function questionsFor(fixture: Fixture): Question[] {
  const fixed = fixture.services.filter((one) => !isRandom(one));
  const names = [
    ...zoneNames(zone, "10-0-0-1.shop.pod", "x.missing.svc"),
    ...fixture.namespaces.map((name) => `${name}.svc.${zone}`),
    ...fixed.flatMap((one) => namesOf(one, triedByEveryMeans.test(one.name))),
    ...reverseNames(fixed),
  ];
  const randomNames = fixture.services.filter(isRandom).flatMap((one) => namesOf(one, false));
  return questionsAbout(names, randomNames, ["A", "AAAA", "SRV", "TXT"]);
}

export function isRandom({ namespace }: { readonly namespace: string }): boolean {
  return namespace.startsWith("random-");
}

/** Names with every type, those of random services with fewer types, and all of them again in mixed case. */
export function questionsAbout(
  names: readonly string[],
  randomNames: readonly string[],
  randomTypes: readonly string[],
): Question[] {
  return [
    ...questions(names, everyType),
    ...questions(names.map(mixCase), mixedCaseTypes),
    ...questions(randomNames, randomTypes),
    ...questions(randomNames.map(mixCase), ["A", "SRV"]),
  ];
}

/** Letters in upper and lower case by turns, as resolvers that use "0x20" encoding ask. */
export function mixCase(name: string): string {
  return [...name].map((letter, index) => (index % 2 === 0 ? letter.toUpperCase() : letter)).join("");
}

function questions(names: Iterable<string>, types: readonly string[]): Question[] {
  // A name with a longer label cannot be queried (RFC 1035 section 2.3.4).
  const askable = [...new Set(names)].filter((name) => name.split(".").every((label) => label.length <= 63));
  return askable.flatMap((name) => types.map((type) => ({ name, type })));
}

/** Names in and around a zone, with or without names of services. @param more further ones below the zone */
export function zoneNames(zone: string, ...more: string[]): string[] {
  const below = ["svc", "pod", "dns", "ns.dns", "hostmaster", "dns-version", "x.dns-version", "nothing"];
  const missing = ["missing.svc", "gone.svc", "web.missing.svc", "nothing.shop.svc", "shop.pod"];
  const inZone = [...below, ...missing, ...more].map((name) => `${name}.${zone}`);
  return [zone, ...inZone, "local", "example.com", `${zone}.example`];
}

function namesOf(service: ImportedService, withOddities: boolean): string[] {
  const own = `${service.name}.${service.namespace}.svc.${zone}`;
  const declared = typeof service.spec === "object" ? (service.spec.ports ?? []) : [];
  const ports = [...declared, ...service.slices.flatMap((one) => one.ports)].filter(({ name }) => name);
  const portNames = ports.flatMap((port) => portNamesOf(port, withOddities));
  const hosts = service.slices.flatMap(({ source, endpoints }) =>
    endpoints.flatMap(({ addresses, hostname }) =>
      (hostname === undefined ? addresses.map(dashed) : [hostname]).flatMap((host) =>
        hostNamesOf(host, source),
      ),
    ),
  );
  const always = ["_nothing._tcp", "_tcp", "_udp", "nobody.cluster-a", "cluster-a"];
  const oddities = ["_._tcp", "_._", "_sctp", "*", "nobody", "a.b.c", "_http._tcp.x.cluster-a"];
  return [
    own,
    ...[...always, ...(withOddities ? oddities : []), ...portNames, ...hosts].map((name) => `${name}.${own}`),
  ];
}

/** The names of a port, right and wrong ones; also those that CoreDNS takes for one. */
export function portNamesOf({ name, protocol }: Port, withOddities: boolean): string[] {
  const label = protocol?.toLowerCase() || "tcp";
  const other = label === "udp" ? "tcp" : "udp";
  const lax = [`${name}._${label}`, `_${name}.${label}`, `${name}.${label}`, `_${name}._`, `_${name}`];
  return [`_${name}._${label}`, `_${name}._${other}`, ...(withOddities ? lax : [])];
}

function hostNamesOf(host: string, source: string | undefined): string[] {
  if (!source) return [host];
  const ancestors = source.split(".").map((_, index, labels) => labels.slice(index).join("."));
  return [`${host}.${source}`, `${host}.cluster-z`, host, ...ancestors];
}

/** An address as a label, as CoreDNS and we write it; the API server holds addresses in canonical form. */
export function dashed(address: string): string {
  const label = address.replaceAll(/[.:]/g, "-");
  return label.endsWith("-") ? `${label}0` : label;
}

function reverseNames(services: ImportedService[]): string[] {
  const addresses = services.flatMap(({ spec, slices }) => [
    ...(typeof spec === "object" ? (spec.ips ?? []) : []),
    ...slices.flatMap(({ endpoints }) => endpoints.flatMap((one) => one.addresses)),
  ]);
  const names = [...addresses, "10.250.0.1", "fd00:ffff::1"].flatMap(
    (address) => reverseNameOf(address) ?? [],
  );
  return [...names, "10.in-addr.arpa", "0.0.200.10.x.in-addr.arpa", "d.f.ip6.arpa"];
}

/** The reverse name of an address, or undefined for other text. */
export function reverseNameOf(address: string): string | undefined {
  const bytes = usableAddress(address);
  return bytes && formatReverseName(bytes).replace(/\.$/, "");
}
