import type { Pair } from "../comparison/comparison.ts";
import { asSet, type ObservedRecord } from "../comparison/observed.ts";
import type { NamePlace } from "../place.ts";
import { dashed, zone } from "../questions.ts";
import { isReady } from "../worlds/services.ts";
import { answersOf, ttl } from "./difference.ts";
import { portsMeant, portsOf } from "./service-facts.ts";

/**
 * The addresses of the targets of SRV records, by what CoreDNS answers when it is asked for the targets
 * themselves.
 */
export function additionalsFor(
  { all }: Pair<NamePlace>,
  records: readonly ObservedRecord[],
): ObservedRecord[] {
  const targets = new Set(records.map(({ data }) => data.split(" ")[2]!));
  return asSet(
    [...targets].flatMap((target) =>
      ["A", "AAAA"].flatMap((type) =>
        answersOf(all, "coredns", target, type, target).filter((record) => record.type === type),
      ),
    ),
  );
}

/**
 * The addresses that CoreDNS adds to the SRV records of a headless service: those of the endpoints with the
 * ports.
 */
export function additionalsByPort(pair: Pair): ObservedRecord[] {
  const { service, left, labels } = pair.place;
  const own = `${labels.slice(left.length).join(".")}.${zone}`;
  const meant = new Set(left.length === 0 ? portsOf(service) : portsMeant(pair));
  const slices = service?.slices.filter(({ ports }) => ports.some((port) => meant.has(port))) ?? [];
  return asSet(
    slices.flatMap(({ source, endpoints, addressType }) =>
      endpoints.filter(isReady).flatMap(({ hostname, addresses }) =>
        addresses.map((address) => ({
          owner: `${hostname ?? dashed(address)}.${source}.${own}`.toLowerCase(),
          ttl,
          type: addressType === "IPv4" ? "A" : "AAAA",
          data: address,
        })),
      ),
    ),
  );
}
