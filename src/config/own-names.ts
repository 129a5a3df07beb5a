import { hostOf, isInRange, parseAddressRanges, usableAddress } from "../dns/address.ts";
import type { ZoneOptions } from "../zone/zone-plan.ts";
import { stubZoneNames } from "./federations.ts";
import type { EdgeConfig, ServeConfig } from "./settings.ts";
import { canonical, NEAR_NETWORKS, parseListenAddress, UsageError } from "./values.ts";

const ALWAYS_SERVED = "clusterset.local";
const DNS_PORT = 53;
const NEAR = parseAddressRanges(NEAR_NETWORKS);

/** The gateway's own names in its zones: of the name server, and of the designated resolver. */
export function ownNames({
  nameServerAddresses,
  dns,
  ddr,
}: Pick<ServeConfig | EdgeConfig, "nameServerAddresses" | "dns" | "ddr">): Required<
  Pick<ZoneOptions, "nameServerAddresses" | "hosts">
> {
  return {
    nameServerAddresses: nameServerAddresses ?? (dns === undefined ? [] : publicAddresses(dns)),
    hosts: ddr?.name === undefined ? [] : [{ name: ddr.name, addresses: ddr.addresses }],
  };
}

/** The public addresses of plain DNS: of listeners on port 53 with the same answers as `/dns-query`. */
function publicAddresses({ listen }: ServeConfig["dns"]): string[] {
  const hosts = listen.flatMap(({ address, view, rule }) => {
    const { host, port } = parseListenAddress(address);
    return host !== undefined && port === DNS_PORT && view === undefined && rule === undefined ? host : [];
  });
  return [...new Set(hosts)].filter((host) => {
    const address = usableAddress(host);
    return address !== undefined && !NEAR.some((range) => isInRange(address, range));
  });
}

/**
 * If the designated resolver's name is in a zone of the gateway, the gateway answers with its addresses.
 * @throws {UsageError} if it has no addresses, if its name could be that of a service, or without a port of
 * HTTPS
 */
export function checkDesignatedName({
  ddr,
  tls,
  zones,
  federations,
}: Pick<ServeConfig, "ddr" | "tls" | "zones" | "federations">): void {
  if (ddr.name === undefined) return;
  if (tls === false && ddr.httpsPort === undefined)
    throw new UsageError(
      "ddr.httpsPort: with tls: false (--no-tls) the gateway does not know the port of the proxy that ends TLS: set it",
    );
  const name = canonical(ddr.name);
  for (const zone of [...zones.map(canonical), ...stubZoneNames({ zones: [] }, federations)]) {
    if (name !== zone && !name.endsWith(`.${zone}`)) continue;
    if (ddr.addresses.length === 0)
      throw new UsageError(
        `ddr.name: ${name} is in the zone ${zone}, which this gateway answers for: give its addresses in ddr.addresses`,
      );
    if (name === `svc.${zone}` || name.endsWith(`.svc.${zone}`))
      throw new UsageError(
        `ddr.name: ${name} is below svc.${zone}, where the names of services are: choose another name in ${zone}`,
      );
  }
}

/** The distinct zones to serve. `clusterset.local` is canonical unless it is listed after another zone. */
export function withAlwaysServed(zones: readonly string[]): string[] {
  const names = zones.map(canonical);
  return [...new Set(names.includes(ALWAYS_SERVED) ? names : [ALWAYS_SERVED, ...names])];
}

/**
 * Further names and addresses for a certificate: of `publicUrl`, DNS over TLS, designated resolvers, and
 * tokens in host names.
 */
export function namesInCertificate({
  publicUrl,
  dns,
  dot,
  ddr,
  access,
}: Pick<ServeConfig, "publicUrl" | "dns" | "dot" | "ddr" | "access">): string[] {
  const hosts = [...dns.listen, ...dot.listen].map(({ address }) => parseListenAddress(address).host ?? "");
  const addresses = hosts.filter((host) => usableAddress(host) !== undefined);
  const tokens = access.hostNames.map(canonical).flatMap((name) => [name, `*.${name}`]);
  return [
    ...new Set([
      ...(publicUrl === undefined ? [] : [canonical(hostOf(new URL(publicUrl)))]),
      ...(ddr.name === undefined ? [] : [canonical(ddr.name)]),
      ...ddr.addresses,
      ...addresses,
      ...tokens,
    ]),
  ];
}
