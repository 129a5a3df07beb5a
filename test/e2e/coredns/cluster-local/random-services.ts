import fc from "fast-check";
import { distinctPorts, endpointOf, PORT_NAMES } from "../worlds/random-services.ts";
import type { Port } from "../worlds/services.ts";
import { alias, clusterIp, headless, type OwnService, type OwnSlice, ownSlice } from "./services.ts";

/** Ports that differ in name and number; a lone one may have no name, as in a Service. */
const ports = (most: number, least = 1): fc.Arbitrary<Port[]> =>
  fc.oneof(
    { weight: 6, arbitrary: distinctPorts(PORT_NAMES, least, most) },
    {
      weight: 1,
      arbitrary: fc.integer({ min: 1, max: 65535 }).map((port) => [{ name: "", port, protocol: "TCP" }]),
    },
  );

/** Slices whose addresses no other service has. */
const slices = (index: number): fc.Arbitrary<OwnSlice[]> => {
  const last = fc.integer({ min: 1, max: 12 });
  const v4 = last.map((byte) => `10.54.${index}.${byte}`);
  const v6 = last.map((group) => `fd00:54:${index}::${group}`);
  return fc.array(
    fc
      .tuple(
        ports(2, 0),
        fc.oneof(
          fc.array(endpointOf(v4, 1), { maxLength: 4 }),
          fc.array(endpointOf(v6, 1), { maxLength: 3 }),
        ),
      )
      .map(([some, endpoints]) => ownSlice(some, ...endpoints)),
    { maxLength: 3 },
  );
};

const targets = [
  "www.example.net",
  "service-0.random-a.svc.cluster.local",
  "service-1.random-b.svc.cluster.local",
  "service-2.random-a.svc.cluster.local",
  "service-3.random-b.svc.cluster.local",
];

/** Services with names of their own in two namespaces, the same ones for the same seed. */
export function randomServices(count: number, seed: number): OwnService[] {
  return Array.from({ length: count }, (_, index) => {
    const namespace = index % 2 === 0 ? "random-a" : "random-b";
    const name = `service-${index}`;
    const v4 = `10.96.3.${index + 1}`;
    const v6 = `fd00:10:96::3${(index + 1).toString(16).padStart(2, "0")}`;
    const one = fc.oneof(
      fc
        .tuple(fc.constantFrom<string[]>([v4], [v6], [v4, v6]), ports(3), slices(index))
        .map(([ips, some, backends]) => clusterIp(namespace, name, ips, some, ...backends)),
      slices(index).map((some) => headless(namespace, name, ...some)),
      fc.constantFrom(...targets).map((target) => alias(namespace, name, target)),
    );
    return fc.sample(one, { numRuns: 1, seed: seed + index })[0]!;
  });
}
