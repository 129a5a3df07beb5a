import {
  dashed,
  isRandom,
  localZone,
  portNamesOf,
  type Question,
  questionsAbout,
  reverseNameOf,
  zoneNames,
} from "../questions.ts";
import { namespaces, pods, strayAddresses } from "./fixture.ts";
import type { OwnService } from "./services.ts";
import { ownedNames, services } from "./world.ts";

/** Where names beside those of ports and endpoints are tried: CoreDNS treats these alike at every service. */
const triedByEveryMeans = /^(?:web|manual|half-named|db|host-names|outside|to-service)$/;

/** Every name that the fixture could make, the names above it, and names beside it. */
export function localQuestions(): Question[] {
  const fixed = services.filter((one) => !isRandom(one));
  const names = [
    ...zoneNames(localZone, "gone.pod", "missing.pod", ...ownedNames),
    // Where aliases lead to.
    "web.clusterset.svc.clusterset.local",
    "nothing.clusterset.svc.clusterset.local",
    ...namespaces.flatMap((name) => [`${name}.svc.${localZone}`, `${name}.pod.${localZone}`]),
    ...fixed.flatMap((one) => namesOf(one, triedByEveryMeans.test(one.name))),
    ...podNames(),
    ...reverseNames(fixed),
    ...otherReverseNames(),
  ];
  const randomNames = services
    .filter(isRandom)
    .flatMap((one) => [...namesOf(one, false), ...reverseNames([one])]);
  return questionsAbout(names, randomNames, ["A", "AAAA", "SRV", "TXT", "PTR"]);
}

function namesOf(service: OwnService, withOddities: boolean): string[] {
  const own = `${service.name}.${service.namespace}.svc.${localZone}`;
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
  const addresses = [...strayAddresses, "10.250.0.1", "fd00:ffff::1", "10.50.0.1", "fd00:50::2"];
  const names = addresses.flatMap((address) => reverseNameOf(address) ?? []);
  return [...names, "10.in-addr.arpa", "96.10.in-addr.arpa", "1.1.96.10.x.in-addr.arpa", "d.f.ip6.arpa"];
}
