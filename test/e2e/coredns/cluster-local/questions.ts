import { dashed, isRandom, portNamesOf, type Question, questionsAbout, reverseNameOf } from "../questions.ts";
import { ownedNames } from "./aliases.ts";
import { namespaces, services, strayAddresses } from "./fixture.ts";
import { pods } from "./pods.ts";
import type { OwnService } from "./services.ts";

/** The zone of the cluster. */
export const localZone = "cluster.local";

/**
 * Where names beside those of the ports and endpoints are tried as well: CoreDNS treats these alike at every
 * service.
 */
const triedByEveryMeans = new Set([
  "web",
  "manual",
  "half-named",
  "db",
  "host-names",
  "outside",
  "to-service",
]);

/**
 * Every name that the fixture could make, the names above it, names beside it, and all of them again in mixed
 * case. The random services are asked for fewer types.
 */
export function localQuestions(): Question[] {
  const fixed = services.filter((one) => !isRandom(one));
  const names = [
    ...zoneNames(),
    ...namespaces.flatMap((name) => [`${name}.svc.${localZone}`, `${name}.pod.${localZone}`]),
    ...fixed.flatMap((one) => namesOf(one, triedByEveryMeans.has(one.name))),
    ...podNames(),
    ...reverseNames(fixed),
    ...otherReverseNames(),
  ];
  const randomNames = services
    .filter(isRandom)
    .flatMap((one) => [...namesOf(one, false), ...reverseNames([one])]);
  return questionsAbout(names, randomNames, ["A", "AAAA", "SRV", "TXT", "PTR"]);
}

/** The name of a Service, dots and zone included. */
export function nameOf({ name, namespace }: OwnService): string {
  return `${name}.${namespace}.svc.${localZone}`;
}

function zoneNames(): string[] {
  const below = ["svc", "pod", "dns", "ns.dns", "hostmaster", "dns-version", "x.dns-version", "nothing"];
  const missing = [
    "missing.svc",
    "gone.svc",
    "web.missing.svc",
    "nothing.shop.svc",
    "gone.pod",
    "missing.pod",
  ];
  const owned = [...ownedNames.values()].flatMap((name) => {
    const labels = name.split(".");
    return labels.map((_, index) => `${labels.slice(index).join(".")}.aliases.svc`);
  });
  return [
    localZone,
    ...[...below, ...missing, ...owned].map((name) => `${name}.${localZone}`),
    // Where aliases lead to.
    "web.clusterset.svc.clusterset.local",
    "nothing.clusterset.svc.clusterset.local",
    "local",
    "example.com",
    "cluster.local.example",
  ];
}

function namesOf(service: OwnService, withOddities: boolean): string[] {
  const own = nameOf(service);
  const ports = [...service.ports, ...service.slices.flatMap((one) => one.ports)].filter(({ name }) => name);
  const hosts = service.slices.flatMap(({ endpoints }) =>
    endpoints.flatMap(({ hostname, addresses }) => [
      ...(hostname === undefined ? [] : [hostname, `x.${hostname}`]),
      ...addresses.map(dashed),
    ]),
  );
  const always = ["_nothing._tcp", "_tcp", "_udp", "nobody"];
  const oddities = ["_._tcp", "_._", "_sctp", "*", "x.nobody", "a.b.c", "_http._tcp.x", "x.y"];
  const below = [
    ...always,
    ...(withOddities ? oddities : []),
    ...ports.flatMap((port) => portNamesOf(port, withOddities)),
    ...hosts,
  ];
  return [own, ...below.map((name) => `${name}.${own}`)];
}

const podLabels = [
  "10-50-9-9",
  "0-0-0-0",
  "255-255-255-255",
  "1-2-3-400",
  "01-2-3-4",
  "1-2-3",
  "1-2-3-4-5",
  "web",
  "2001-db8--1",
  "2001-db8-0--1",
  "--1",
  "fd00-50--",
  "fd00-50--0",
  "--ffff-a32-1",
  "1--2--3",
  "-",
  "g--1",
];

function podNames(): string[] {
  const inShop = [...podLabels, ...new Set(pods.flatMap(({ addresses }) => addresses.map(dashed)))];
  const own = pods.flatMap(({ namespace, addresses }) =>
    addresses.map((address) => `${dashed(address)}.${namespace}`),
  );
  const below = [
    "x.10-50-0-1.shop",
    "x.y.10-50-0-1.shop",
    "_http._tcp.10-50-0-1.shop",
    "a.b.c.10-50-0-1.shop",
    "x.web.shop",
  ];
  const elsewhere = ["10-50-0-1.bare", "10-50-0-1.missing", "10-50-0-1.kube-system", "fd00-50--2.data"];
  return [...inShop.map((label) => `${label}.shop`), ...own, ...below, ...elsewhere].map(
    (name) => `${name}.pod.${localZone}`,
  );
}

function reverseNames(of: readonly OwnService[]): string[] {
  const addresses = of.flatMap(({ clusterIPs, slices }) => [
    ...clusterIPs,
    ...slices.flatMap(({ endpoints }) => endpoints.flatMap((one) => one.addresses)),
  ]);
  return addresses.flatMap((address) => reverseNameOf(address) ?? []);
}

function otherReverseNames(): string[] {
  const addresses = [
    ...Object.values(strayAddresses),
    "10.250.0.1",
    "fd00:ffff::1",
    "10.50.0.1",
    "fd00:50::2",
  ];
  const names = addresses.flatMap((address) => reverseNameOf(address) ?? []);
  return [...names, "10.in-addr.arpa", "96.10.in-addr.arpa", "1.1.96.10.x.in-addr.arpa", "d.f.ip6.arpa"];
}
